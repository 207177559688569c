#!/usr/bin/env python3
"""Traces that have exactly one fault, or none where one is looked for.

    trace_faults.py NAME >TRACE

Eight steps of 1 ms (see `steps`) on one device, in the dialect of Kineto; microseconds throughout.
"""

import json
import sys

GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"


class Trace:
    def __init__(self):
        self.events = []
        self.n = 0

    def add(self, cat, name, ts, dur, pid, tid, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                            "args": args})

    def op(self, name, ts, dur, **args):
        self.add("cpu_op", name, ts, dur, 1, 1, **args)

    def call(self, name, ts, dur):
        self.add("cuda_runtime", name, ts, dur, 1, 1, correlation=0)

    def launch(self, call, at, cat, name, ts, dur, stream=7, **args):
        self.n += 1
        self.add("cuda_runtime", call, at, 5, 1, 1, correlation=self.n)
        self.add(cat, name, ts, dur, 0, stream, device=0, stream=stream, correlation=self.n, **args)

    def kernel(self, at, ts, dur, name=GEMM):
        self.launch("cudaLaunchKernel", at, "kernel", name, ts, dur, grid=[1000, 1, 1], block=[256, 1, 1])

    def copy(self, at, ts, dur, size, kind):
        self.launch("cudaMemcpyAsync", at, "gpu_memcpy", f"Memcpy {kind}", ts, dur, bytes=size)

    def memory(self, ts, size, allocated, reserved):
        self.events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1,
                            "ts": ts, "args": {"Bytes": size, "Device Type": 1, "Device Id": 0,
                                               "Total Allocated": allocated, "Total Reserved": reserved}})


def steps(body, lengths=(1000,) * 8):
    t, at = Trace(), 1000
    for i, length in enumerate(lengths):
        t.add("user_annotation", f"ProfilerStep#{i}", at, length, 1, 1)
        body(t, i, at)
        at += length
    return t


def ten_kernels(t, at):
    for k in range(10):
        t.kernel(at + 6 * k, at + 70 + 50 * k, 50)


def host_between_steps(t, _, at):
    """The host does something else for 430 of every 1000 us."""
    ten_kernels(t, at)


def result_between_steps(t, _, at):
    """As before, but in the pause a result is copied: whatever the host does is part of that."""
    ten_kernels(t, at)
    t.copy(at + 700, at + 710, 110, 8000000, "DtoH (Device -> Pinned)")


def input_between_steps(t, _, at):
    """As before, but the device waits for the input that the step begins with."""
    t.copy(at, at + 5, 40, 8000000, "HtoD (Pinned -> Device)")
    ten_kernels(t, at + 8)


def token_between_steps(t, _, at):
    """The four bytes of a token are no copy to wait for."""
    ten_kernels(t, at)
    t.copy(at + 65, at + 571, 2, 4, "DtoH (Device -> Pageable)")


def new_shapes(t, i, at):
    """Steps take 6 ms when their shape is new, and 1 ms when it is not."""
    size, length = SHAPES[i], LENGTHS[i]
    t.op("aten::mm", at + 10, length - 960, **{"Input Dims": [[size, 64], [64, 64]]})
    t.kernel(at + length - 940, at + length - 930, 920)


SHAPES = [1, 2, 1, 2, 3, 3, 1, 4, 4, 1, 2, 3, 5, 5, 1, 6, 6, 1, 2, 3, 4, 7, 7, 1]
LENGTHS = [6000 if s not in SHAPES[:i] else 1000 for i, s in enumerate(SHAPES)]


def reserve(grows):
    def body(t, i, at):
        reserved = (1000 + (100 * i if grows else 0)) << 20
        t.kernel(at, at + 20, 940)
        t.memory(at + 5, 100 << 20, 300 << 20, reserved)
        t.memory(at + 950, -(100 << 20), 200 << 20, reserved)
    return body


def device_memory_calls(t, _, at):
    t.kernel(at, at + 20, 400)
    t.call("cudaMalloc", at + 450, 200)
    t.call("cudaFree", at + 660, 200)
    t.kernel(at + 870, at + 885, 110)


def operator_on_host(t, _, at):
    """aten::unique runs on the host, from 250 to 650, between two copies."""
    t.op("aten::mm", at, 20)
    t.kernel(at + 5, at + 15, 200)
    t.op("aten::to", at + 25, 225)
    t.copy(at + 30, at + 216, 30, 400000, "DtoH (Device -> Pageable)")
    t.call("cudaStreamSynchronize", at + 40, 208)
    t.op("aten::unique", at + 255, 400)
    t.op("aten::to", at + 680, 60)
    t.copy(at + 685, at + 700, 30, 400000, "HtoD (Pageable -> Device)")
    t.op("aten::mm", at + 745, 20)
    t.kernel(at + 750, at + 760, 235)


def unknown_names(t, _, at):
    t.kernel(at, at + 20, 500, name="k_1")
    t.kernel(at + 10, at + 520, 470, name="k_2")


def no_time(t, i, at):
    """Kernels that took no time, and copies that did."""
    t.copy(at, at + 20, 100, 400000, "HtoD (Pinned -> Device)")
    for k in range(3):
        t.kernel(at + 10 + k, at + 200 + k, 0, name=f"k_{i}_{k}")


TRACES = {
    "host_between_steps": lambda: steps(host_between_steps),
    "result_between_steps": lambda: steps(result_between_steps),
    "input_between_steps": lambda: steps(input_between_steps),
    "token_between_steps": lambda: steps(token_between_steps),
    "new_shapes": lambda: steps(new_shapes, LENGTHS),
    "growing_reserve": lambda: steps(reserve(True)),
    "steady_reserve": lambda: steps(reserve(False)),
    "device_memory_calls": lambda: steps(device_memory_calls),
    "operator_on_host": lambda: steps(operator_on_host),
    "unknown_names": lambda: steps(unknown_names),
    "no_time": lambda: steps(no_time),
}

if __name__ == "__main__":
    events = TRACES[sys.argv[1]]().events
    device = {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108, "computeMajor": 8, "computeMinor": 0}
    json.dump({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events}, sys.stdout)
