#!/usr/bin/env python3
"""An encoder of BERT's shape in PyTorch that waits for work, as ort_encoder.cjs does.

torch_encoder.py bf16|f32 THREADS; a line "BATCHxLENGTH SECONDS" is answered by a line of JSON.
"""

import json
import sys
import time

import torch
from torch import nn

DIM, LAYERS, HEADS, FFN, VOCAB, POSITIONS = 768, 12, 12, 3072, 30522, 512


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, FFN), nn.Linear(FFN, DIM)
        self.norm1, self.norm2 = nn.LayerNorm(DIM, eps=1e-12), nn.LayerNorm(DIM, eps=1e-12)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        scores = torch.softmax(q @ k.transpose(-1, -2) / (DIM // HEADS) ** 0.5, -1)
        x = self.norm1(x + self.out((scores @ v).transpose(1, 2).reshape(batch, length, DIM)))
        return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCAB, DIM), nn.Embedding(POSITIONS, DIM)
        self.norm = nn.LayerNorm(DIM, eps=1e-12)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))

    def forward(self, ids):
        return self.layers(self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1]))))


def timed(model, batch, length, seconds):
    ids = torch.randint(1000, 20000, (batch, length))
    model(ids)
    times, before, end = [], time.process_time(), time.monotonic() + seconds
    while time.monotonic() < end or len(times) < 3:
        start = time.perf_counter()
        model(ids)
        times.append(1e3 * (time.perf_counter() - start))
    return {"times_ms": times, "cpu_ms": 1e3 * (time.process_time() - before)}


def main():
    torch.set_num_threads(int(sys.argv[2]))
    torch.manual_seed(1)
    model = Encoder().eval()
    print("ready", flush=True)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=sys.argv[1] == "bf16"):
        for line in sys.stdin:
            shape, seconds = line.split()
            batch, length = map(int, shape.split("x"))
            print(json.dumps(timed(model, batch, length, float(seconds))), flush=True)


if __name__ == "__main__":
    main()
