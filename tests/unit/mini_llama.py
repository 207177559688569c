"""
mini_llama.py - the expected logits of test_model.c, in plain Python and double precision.

    python3 tests/unit/mini_llama.py

Shares nothing with the engine. Weights as make_weight of gguf_make.h has them.
"""
import math

VOCAB, EPS = 259, 1e-5
TOKENS = [1, 104, 35, 200, 77, 258]
SHAPES = [  # dim, layers, heads, kv heads, ffn, turning values of a head, RoPE base, separate output
    (8, 1, 2, 1, 12, 4, 10000.0, False),
    (12, 2, 3, 3, 7, 2, 500.0, True),
    (16, 2, 4, 2, 10, 4, 100.0, True),
]


def weights(k, n_in, n_out):
    def one(i):
        x = (i * 2654435761 + k * 40503 + 12345) & 0xFFFFFFFF
        x ^= x >> 15
        x = x * 2246822519 & 0xFFFFFFFF
        x ^= x >> 13
        return (x % 15 - 7) / 8
    return [[one(o * n_in + i) for i in range(n_in)] for o in range(n_out)]


def times(w, x):
    return [sum(a * b for a, b in zip(row, x)) for row in w]


def norm(x, g):
    r = math.sqrt(sum(a * a for a in x) / len(x) + EPS)
    return [a / r * b for a, b in zip(x, g)]


def turn(x, position, head_dim, n_rot, base):
    x = list(x)
    for start in range(0, len(x), head_dim):
        for j in range(0, n_rot, 2):
            z = complex(x[start + j], x[start + j + 1])
            z *= complex(math.cos(t := position * base ** (-j / n_rot)), math.sin(t))
            x[start + j], x[start + j + 1] = z.real, z.imag
    return x


def logits(dim, layers, heads, kv_heads, ffn, n_rot, base, separate):
    hd, numbers = dim // heads, iter(range(10 ** 6))
    kv = hd * kv_heads

    def w(n_in, n_out):
        return weights(next(numbers), n_in, n_out)

    embed, last_norm = w(dim, VOCAB), w(dim, 1)[0]
    output = w(dim, VOCAB) if separate else embed
    xs = [embed[t] for t in TOKENS]
    for _ in range(layers):
        g, q, k, v, o = w(dim, 1)[0], w(dim, dim), w(dim, kv), w(dim, kv), w(dim, dim)
        g2, gate, up, down = w(dim, 1)[0], w(dim, ffn), w(dim, ffn), w(ffn, dim)
        hs = [norm(x, g) for x in xs]
        qs = [turn(times(q, h), i, hd, n_rot, base) for i, h in enumerate(hs)]
        ks = [turn(times(k, h), i, hd, n_rot, base) for i, h in enumerate(hs)]
        vs = [times(v, h) for h in hs]
        for i in range(len(xs)):
            y = []
            for head in range(heads):
                a, b = head * hd, head * kv_heads // heads * hd
                e = [math.exp(sum(qs[i][a + d] * ks[j][b + d] for d in range(hd)) / math.sqrt(hd))
                     for j in range(i + 1)]
                y += [sum(e[j] * vs[j][b + d] for j in range(i + 1)) / sum(e) for d in range(hd)]
            xs[i] = [a + b for a, b in zip(xs[i], times(o, y))]
        for i, x in enumerate(xs):
            h = norm(x, g2)
            z = [a / (1 + math.exp(-a)) * b for a, b in zip(times(gate, h), times(up, h))]
            xs[i] = [a + b for a, b in zip(x, times(down, z))]
    return times(output, norm(xs[-1], last_norm))


for shape in SHAPES:
    out = logits(*shape)
    print("{ " + ", ".join(f"{x:.6f}" for x in out[:6] + out[-2:]) + " },")
