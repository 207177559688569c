#!/usr/bin/env python3
"""Writes an encoder of BERT's shape with random weights as ONNX, for ONNX Runtime to be measured on.

encoder_onnx.py OUT.onnx [--int8] [--fused] [--layers 12 --dim 768 --heads 12 --ffn 3072 --vocab 30522 --positions 512]

--int8   matrix products on weights of 8 bits and activations quantised as they come, with the operators that
         ONNX Runtime's quantize_dynamic puts there
--fused  with ONNX Runtime's own operators (Attention, SkipLayerNormalization, BiasGelu ...), as its offline
         optimizer for transformers leaves a model; else in plain ONNX, which its session fuses as far as it can

Inputs: input_ids and attention_mask, int64 [batch, length]. Output: last_hidden_state [batch, length, dim].
"""

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"


class Graph:
    """Nodes and weights as they are put together."""

    def __init__(self, shape, int8, fused):
        self.shape, self.int8, self.fused = shape, int8, fused
        self.nodes, self.weights, self.n = [], {}, 0
        self.random = np.random.default_rng(1)
        self.quantised = {}

    def value(self, name, array):
        self.weights[name] = array
        return name

    def normal(self, name, *dims):
        return self.value(name, (self.random.standard_normal(dims, np.float32) * np.float32(0.02)))

    def op(self, kind, inputs, n_out=1, domain="", **attributes):
        self.n += 1
        outs = [f"{kind}_{self.n}_{i}" for i in range(n_out)]
        self.nodes.append(helper.make_node(kind, inputs, outs, f"{kind}_{self.n}", domain=domain, **attributes))
        return outs[0] if n_out == 1 else outs

    def eight_bits(self, name):
        """Weights symmetric over the whole matrix: scale and zero point beside them."""
        w = self.weights.pop(name)
        scale = np.float32(np.abs(w).max() / 127)
        return (self.value(name + "_q", np.clip(np.rint(w / scale), -127, 127).astype(np.int8)),
                self.value(name + "_s", np.array(scale)), self.value(name + "_z", np.zeros((), np.int8)))

    def product(self, x, name, n_in, n_out):
        """x times a weight, without its bias."""
        w = self.normal(name, n_in, n_out)
        if not self.int8:
            return self.op("MatMul", [x, w])
        q, scale, zero = self.eight_bits(w)
        if x not in self.quantised:
            self.quantised[x] = self.op("DynamicQuantizeLinear", [x], 3)
        xq, xs, xz = self.quantised[x]
        if self.fused:
            return self.op("MatMulIntegerToFloat", [xq, q, xs, scale, xz, zero], domain=MICROSOFT)
        whole = self.op("Cast", [self.op("MatMulInteger", [xq, q, xz, zero])], to=TensorProto.FLOAT)
        return self.op("Mul", [whole, self.op("Mul", [xs, scale])])

    def linear(self, x, name, n_in, n_out):
        return self.op("Add", [self.product(x, name, n_in, n_out), self.normal(name + "_b", n_out)])

    def norm(self, x, residual, name):
        dim = self.shape.dim
        gamma, beta = self.value(name + "_g", np.ones(dim, np.float32)), self.normal(name + "_b", dim)
        if self.fused:
            return self.op("SkipLayerNormalization", [x, residual, gamma, beta], domain=MICROSOFT, epsilon=1e-12)
        return self.op("LayerNormalization", [self.op("Add", [x, residual]), gamma, beta], epsilon=1e-12)

    def gelu(self, x, name, n_in, n_out):
        product = self.product(x, name, n_in, n_out)
        bias = self.normal(name + "_b", n_out)
        if self.fused:
            return self.op("BiasGelu", [product, bias], domain=MICROSOFT)
        x = self.op("Add", [product, bias])
        half, one = (self.value(f"{name}_{v}", np.float32(v)) for v in (0.5, 1.0))
        root = self.value(f"{name}_root", np.float32(np.sqrt(2)))
        erf = self.op("Add", [self.op("Erf", [self.op("Div", [x, root])]), one])
        return self.op("Mul", [self.op("Mul", [x, erf]), half])

    def heads(self, x, order):
        s = self.shape
        shape = self.value(f"heads_{self.n}", np.array([0, 0, s.heads, s.dim // s.heads], np.int64))
        return self.op("Transpose", [self.op("Reshape", [x, shape])], perm=order)

    def attention_fused(self, x, name):
        s = self.shape
        w, b = self.normal(name + "_qkv", s.dim, 3 * s.dim), self.normal(name + "_qkv_b", 3 * s.dim)
        if not self.int8:
            return self.op("Attention", [x, w, b, "mask_1d"], domain=MICROSOFT, num_heads=s.heads)
        q, scale, zero = self.eight_bits(w)
        xq, xs, xz = self.op("DynamicQuantizeLinear", [x], 3)
        return self.op("QAttention", [xq, q, b, xs, scale, "mask_1d", xz, zero], domain=MICROSOFT, num_heads=s.heads)

    def attention(self, x, name):
        s = self.shape
        q = self.heads(self.linear(x, name + "_q", s.dim, s.dim), [0, 2, 1, 3])
        k = self.heads(self.linear(x, name + "_k", s.dim, s.dim), [0, 2, 3, 1])
        v = self.heads(self.linear(x, name + "_v", s.dim, s.dim), [0, 2, 1, 3])
        root = self.value(name + "_root", np.float32(np.sqrt(s.dim // s.heads)))
        scores = self.op("Add", [self.op("Div", [self.op("MatMul", [q, k]), root]), "mask_4d"])
        context = self.op("Transpose", [self.op("MatMul", [self.op("Softmax", [scores], axis=-1), v])], perm=[0, 2, 1, 3])
        return self.op("Reshape", [context, self.value(name + "_flat", np.array([0, 0, s.dim], np.int64))])

    def mask(self):
        if self.fused:
            self.nodes.append(helper.make_node("Cast", ["attention_mask"], ["mask_32"], "mask", to=TensorProto.INT32))
            axes = self.value("mask_axis", np.array([1], np.int64))
            self.nodes.append(helper.make_node("ReduceSum", ["mask_32", axes], ["mask_1d"], "lengths", keepdims=0))
            return
        axes = self.value("mask_axes", np.array([1, 2], np.int64))
        wide = self.op("Unsqueeze", [self.op("Cast", ["attention_mask"], to=TensorProto.FLOAT), axes])
        one, far = self.value("mask_one", np.float32(1)), self.value("mask_far", np.float32(-10000))
        self.nodes.append(helper.make_node("Mul", [self.op("Sub", [one, wide]), far], ["mask_4d"], "mask_4d"))

    def embed(self):
        s = self.shape
        words = self.op("Gather", [self.normal("words", s.vocab, s.dim), "input_ids"])
        length = self.op("Gather", [self.op("Shape", ["input_ids"]), self.value("axis_1", np.array([1], np.int64))])
        places = self.op("Slice", [self.normal("places", s.positions, s.dim), self.value("from_0", np.array([0], np.int64)),
                                   length, self.value("along_0", np.array([0], np.int64))])
        kind = self.normal("types", s.dim)
        x = self.op("Add", [self.op("Add", [words, places]), kind])
        gamma, beta = self.value("embed_g", np.ones(s.dim, np.float32)), self.normal("embed_b", s.dim)
        return self.op("LayerNormalization", [x, gamma, beta], epsilon=1e-12)

    def build(self):
        s = self.shape
        self.mask()
        x = self.embed()
        for i in range(s.layers):
            name = f"layer{i}"
            context = (self.attention_fused if self.fused else self.attention)(x, name)
            x = self.norm(self.linear(context, name + "_o", s.dim, s.dim), x, name + "_norm1")
            up = self.gelu(x, name + "_up", s.dim, s.ffn)
            x = self.norm(self.linear(up, name + "_down", s.ffn, s.dim), x, name + "_norm2")
        self.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"], "out"))
        ids = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "length"]) for n in ("input_ids", "attention_mask")]
        out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", s.dim])
        weights = [numpy_helper.from_array(a, n) for n, a in self.weights.items()]
        graph = helper.make_graph(self.nodes, "encoder", ids, [out], weights)
        return helper.make_model(graph, ir_version=8,
                                 opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--fused", action="store_true")
    for name, value in (("layers", 12), ("dim", 768), ("heads", 12), ("ffn", 3072), ("vocab", 30522), ("positions", 512)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    onnx.save(Graph(options, options.int8, options.fused).build(), options.out)


if __name__ == "__main__":
    main()
