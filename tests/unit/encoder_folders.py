#!/usr/bin/env python3
"""
encoder_folders.py - small encoders of every family with random weights, as folders of Hugging Face,
each with reference.json: token ids in, embeddings and logits out.

    python3 tests/unit/encoder_folders.py FOLDER

The forward passes are numpy in float64, from the papers and the modules of Hugging Face transformers
(Devlin 2019, Liu 2019, Sanh 2019, Clark 2020), and share nothing with the engine. Weights are rounded
to the type in which they are stored before they are used, so that the storage is part of the test.
"""
import json
import math
import os
import struct
import sys

import numpy as np

VOCAB, DIM, LAYERS, HEADS, FFN, ROWS = 64, 32, 2, 4, 48, 40
SPREAD = 0.25  # large enough that a wrong sign, order or activation shows in every value
LENGTHS = [5, 1, 17, 30]

erf = np.vectorize(math.erf)
ACTIVATIONS = {
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "gelu_new": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
}

BERT_NAMES = {
    "words": "embeddings.word_embeddings", "positions": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings", "norm": "embeddings.LayerNorm",
    "q": "encoder.layer.{}.attention.self.query", "k": "encoder.layer.{}.attention.self.key",
    "v": "encoder.layer.{}.attention.self.value", "o": "encoder.layer.{}.attention.output.dense",
    "norm1": "encoder.layer.{}.attention.output.LayerNorm",
    "up": "encoder.layer.{}.intermediate.dense", "down": "encoder.layer.{}.output.dense",
    "norm2": "encoder.layer.{}.output.LayerNorm",
}
DISTIL_NAMES = {
    "words": "embeddings.word_embeddings", "positions": "embeddings.position_embeddings",
    "types": None, "norm": "embeddings.LayerNorm",
    "q": "transformer.layer.{}.attention.q_lin", "k": "transformer.layer.{}.attention.k_lin",
    "v": "transformer.layer.{}.attention.v_lin", "o": "transformer.layer.{}.attention.out_lin",
    "norm1": "transformer.layer.{}.sa_layer_norm",
    "up": "transformer.layer.{}.ffn.lin1", "down": "transformer.layer.{}.ffn.lin2",
    "norm2": "transformer.layer.{}.output_layer_norm",
}

# One row a folder. head: the layer after the first token's state, its activation, the last layer.
CASES = [
    dict(name="bert", type="bert", prefix="bert.", act="gelu", eps=1e-12, types=2, offset=0,
         head=("bert.pooler.dense", "tanh", "classifier"), labels=3, store="F32"),
    dict(name="bert_old_names", type="bert", prefix="", act="gelu_new", eps=1e-5, types=2, offset=0,
         head=None, labels=0, store="F16", old_norms=True, cls=True, normalize=False, cut=20),
    dict(name="roberta", type="roberta", prefix="roberta.", act="gelu", eps=1e-5, types=1, offset=2,
         head=("classifier.dense", "tanh", "classifier.out_proj"), labels=1, store="BF16"),
    dict(name="xlm_roberta", type="xlm-roberta", prefix="", act="gelu", eps=1e-5, types=1, offset=2,
         head=None, labels=0, store="F32", shards=2, cls=True, normalize=True),
    dict(name="camembert", type="camembert", prefix="roberta.", act="relu", eps=1e-5, types=1,
         offset=6, pad=5, head=None, labels=0, store="F32"),
    dict(name="distilbert", type="distilbert", prefix="distilbert.", act="gelu", eps=1e-12, types=0,
         offset=0, head=("pre_classifier", "relu", "classifier"), labels=2, store="F64"),
    dict(name="electra", type="electra", prefix="electra.", act="silu", eps=1e-12, types=2, offset=0,
         head=("classifier.dense", "gelu", "classifier.out_proj"), labels=4, store="F32"),
]


def rounded(x, store):
    """x in float64 as it is after storage, and its bytes."""
    if store == "F64":
        return x, x.astype("<f8").tobytes()
    if store == "F16":
        half = x.astype("<f2")
        return half.astype(np.float64), half.tobytes()
    single = x.astype("<f4")
    if store == "BF16":
        bits = single.view("<u4") + 0x8000  # to nearest, ties away: any rounding will do
        high = (bits >> 16).astype("<u2")
        return (high.astype("<u4") << 16).view("<f4").astype(np.float64), high.tobytes()
    return single.astype(np.float64), single.tobytes()


class Weights:
    def __init__(self, case, rng):
        self.case, self.rng, self.tensors, self.values = case, rng, {}, {}

    def add(self, name, *shape, mean=0.0):
        x = mean + SPREAD * self.rng.standard_normal(shape)
        self.values[name], data = rounded(x, self.case["store"])
        stored = name
        if self.case.get("old_norms"):
            stored = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta")
        self.tensors[stored] = (shape, data)

    def linear(self, name, n_out, n_in):
        self.add(name + ".weight", n_out, n_in)
        self.add(name + ".bias", n_out)

    def norm(self, name):
        self.add(name + ".weight", DIM, mean=1.0)
        self.add(name + ".bias", DIM)


def make_weights(case, names, rng):
    w, prefix = Weights(case, rng), case["prefix"]
    w.add(prefix + names["words"] + ".weight", VOCAB, DIM)
    w.add(prefix + names["positions"] + ".weight", ROWS, DIM)
    if names["types"]:
        w.add(prefix + names["types"] + ".weight", case["types"], DIM)
    w.norm(prefix + names["norm"])
    for i in range(LAYERS):
        for part in "qkvo":
            w.linear(prefix + names[part].format(i), DIM, DIM)
        w.linear(prefix + names["up"].format(i), FFN, DIM)
        w.linear(prefix + names["down"].format(i), DIM, FFN)
        w.norm(prefix + names["norm1"].format(i))
        w.norm(prefix + names["norm2"].format(i))
    if case["head"]:
        w.linear(case["head"][0], DIM, DIM)
        w.linear(case["head"][2], case["labels"], DIM)
    return w


def linear(v, name, x):
    return x @ v[name + ".weight"].T + v[name + ".bias"]


def norm(v, name, x, eps):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean)**2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * v[name + ".weight"] + v[name + ".bias"]


def attention(v, names, i, x):
    n, size = len(x), DIM // HEADS
    q, k, val = (linear(v, names[p].format(i), x).reshape(n, HEADS, size).transpose(1, 0, 2)
                 for p in "qkv")
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(size)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (e / e.sum(axis=-1, keepdims=True)) @ val
    return linear(v, names["o"].format(i), mixed.transpose(1, 0, 2).reshape(n, DIM))


def forward(case, v, names, ids, types):
    act, eps = ACTIVATIONS[case["act"]], case["eps"]
    x = v[names["words"] + ".weight"][ids]
    x = x + v[names["positions"] + ".weight"][case["offset"] + np.arange(len(ids))]
    if names["types"]:
        x = x + v[names["types"] + ".weight"][types]
    x = norm(v, names["norm"], x, eps)
    for i in range(LAYERS):
        x = norm(v, names["norm1"].format(i), x + attention(v, names, i, x), eps)
        inner = act(linear(v, names["up"].format(i), x))
        x = norm(v, names["norm2"].format(i), x + linear(v, names["down"].format(i), inner), eps)
    return x


def answers(case, w, names, ids, types):
    with_prefix = {k: n and case["prefix"] + n for k, n in names.items()}
    x = forward(case, w.values, with_prefix, ids, types)
    embedding = x[0] if case.get("cls") else x.mean(axis=0)
    if case.get("normalize", True):
        embedding = embedding / np.linalg.norm(embedding)
    logits = []
    if case["head"]:
        dense, act, last = case["head"]
        logits = linear(w.values, last, ACTIVATIONS[act](linear(w.values, dense, x[0]))).tolist()
    return {"ids": ids.tolist(), "types": types.tolist(), "embedding": embedding.tolist(),
            "logits": logits}


def config(case):
    c = {"model_type": case["type"], "vocab_size": VOCAB, "max_position_embeddings": ROWS}
    if case["type"] == "distilbert":
        c.update(dim=DIM, n_layers=LAYERS, n_heads=HEADS, hidden_dim=FFN, activation=case["act"])
    else:
        c.update(hidden_size=DIM, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                 intermediate_size=FFN, hidden_act=case["act"], layer_norm_eps=case["eps"],
                 type_vocab_size=case["types"], pad_token_id=case.get("pad", case["offset"] and 1))
    family = {"bert": "Bert", "roberta": "Roberta", "xlm-roberta": "XLMRoberta",
              "camembert": "Camembert", "distilbert": "DistilBert", "electra": "Electra"}[case["type"]]
    c["architectures"] = [family + ("ForSequenceClassification" if case["head"] else "Model")]
    if case["head"]:
        c["id2label"] = {str(i): "class %d" % i for i in range(case["labels"])}
    return c


def write_safetensors(path, store, tensors):
    header, at, data = {}, 0, b""
    for name, (shape, raw) in sorted(tensors.items()):
        header[name] = {"dtype": store, "shape": list(shape), "data_offsets": [at, at + len(raw)]}
        at, data = at + len(raw), data + raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def write_json(folder, name, value):
    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    with open(os.path.join(folder, name), "w") as f:
        json.dump(value, f)


def write_weights(folder, case, tensors):
    n, names = case.get("shards", 1), sorted(tensors)
    if n == 1:
        write_safetensors(folder + "/model.safetensors", case["store"], tensors)
        return
    files = {name: "model-%05d-of-%05d.safetensors" % (i % n + 1, n) for i, name in enumerate(names)}
    for file in set(files.values()):
        write_safetensors(os.path.join(folder, file), case["store"],
                          {k: v for k, v in tensors.items() if files[k] == file})
    write_json(folder, "model.safetensors.index.json", {"metadata": {}, "weight_map": files})


def write_modules(folder, case):
    """What sentence-transformers says of pooling and length, where a case has something to say."""
    if "normalize" not in case:
        return
    kinds = ["Transformer", "Pooling"] + ["Normalize"] * case["normalize"]
    write_json(folder, "modules.json", [
        {"idx": i, "name": str(i), "path": "%d_%s" % (i, kind) if i else "",
         "type": "sentence_transformers.models." + kind} for i, kind in enumerate(kinds)])
    write_json(folder, "1_Pooling/config.json", {
        "word_embedding_dimension": DIM, "pooling_mode_cls_token": case["cls"],
        "pooling_mode_mean_tokens": not case["cls"], "pooling_mode_max_tokens": False})
    if "cut" in case:
        write_json(folder, "sentence_bert_config.json", {"max_seq_length": case["cut"]})


def write_vocab(folder):
    with open(folder + "/vocab.txt", "w") as f:
        f.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] +
                          ["w%d" % i for i in range(VOCAB - 5)]) + "\n")


def main():
    for number, case in enumerate(CASES):
        rng = np.random.default_rng(1000 + number)
        names = DISTIL_NAMES if case["type"] == "distilbert" else BERT_NAMES
        folder = os.path.join(sys.argv[1], case["name"])
        os.makedirs(folder)
        w = make_weights(case, names, rng)
        rows = []
        for n in LENGTHS:
            types = np.arange(n) * 2 // max(n, 2) * (case["types"] > 1)
            rows.append(answers(case, w, names, rng.integers(6, VOCAB, n), types))
        write_weights(folder, case, w.tensors)
        write_json(folder, "config.json", config(case))
        write_modules(folder, case)
        write_vocab(folder)
        write_json(folder, "reference.json", {
            "cases": rows, "max_tokens": case.get("cut", ROWS - case["offset"]),
            "n_params": sum(math.prod(shape) for shape, _ in w.tensors.values())})


main()
