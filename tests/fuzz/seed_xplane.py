#!/usr/bin/env python3
"""Writes the files that fuzzing of XPlane starts from: seed_xplane.py FOLDER."""
import gzip
import os
import struct
import sys


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def part(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def real(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def stat(name, value):
    return number(1, name) + value


def event(meta, offset, dur, *stats):
    return (number(1, meta) + number(2, offset) + (number(3, dur) if dur is not None else b"")
            + b"".join(part(4, s) for s in stats))


def line(name, timestamp, *events):
    return number(1, 16) + part(2, name) + number(3, timestamp) + b"".join(part(4, e) for e in events)


def entry(field, key, name, *stats):
    meta = number(1, key) + part(2, name) + b"".join(part(5, s) for s in stats)
    return part(field, number(1, key) + part(2, meta))


def plane(name, lines, events, stats, own=b""):
    return part(1, number(1, 1) + part(2, name) + b"".join(part(3, x) for x in lines)
                + b"".join(entry(4, *e) for e in events) + b"".join(entry(5, *s) for s in stats) + own)


KERNEL = "regs:32 static_shared:8 dynamic_shared:16 grid:4,2,1 block:128,1,1 occ_pct:50"
COPY = "kind_src:pageable kind_dst:device size:64 dest:0 async:1"
STATS = [(1, "kernel_details"), (2, "memcpy_details"), (3, "correlation_id"), (4, KERNEL),
         (5, "core_count"), (6, "peak_hbm_bw_gigabytes_per_second"), (7, "hlo_category"),
         (8, "copy-done"), (9, "flops"), (10, "addr"), (11, "allocation_bytes"), (12, "allocator_name")]
GPU = plane(
    "/device:GPU:0",
    [line("Stream #16(Kernel)", 1000, event(1, 2000, 5000, stat(1, number(7, 4)), stat(3, number(4, 9))),
          event(2, 9000, 1000, stat(2, part(5, COPY)))),
     line("XLA Modules", 1000, event(3, 0, 20000))],
    [(1, "gemm"), (2, "MemcpyH2D"), (3, "jit_f")], STATS,
    part(6, stat(5, number(4, 108))))
TPU = plane(
    "/device:TPU:1",
    [line("XLA Ops", 0, event(1, 100000, 50000), event(2, 110000, 10000), event(3, 120000, 30000)),
     line("Steps", 0, event(4, 100000, 60000))],
    [(1, "%while"), (2, "%fusion", stat(9, number(3, 1 << 40))),
     (3, "%copy-done = f32[8]{0:S(5)} copy-done(...", stat(7, number(7, 8))), (4, "0")], STATS,
    part(6, stat(6, real(2, 1638.5))))
HOST = plane(
    "/host:CPU",
    [line("python", 0, event(1, 100000, 50000, stat(3, number(4, 9))), event(2, 0, 60000000),
          event(3, 500, None, stat(10, number(3, 4096)), stat(11, number(4, 512)),
                stat(12, part(5, "GPU_0_bfc"))),
          event(4, 900, None, stat(10, number(3, 4096)), stat(12, part(5, "GPU_0_bfc"))))],
    [(1, "cudaLaunchKernel"), (2, "$main.py:3 run"), (3, "MemoryAllocation"), (4, "MemoryDeallocation")],
    STATS)

WHOLE = GPU + TPU + HOST + part(4, "host")
FILES = {
    "whole": WHOLE,
    "packed.gz": gzip.compress(WHOLE, mtime=0),
    "packed_cut.gz": gzip.compress(WHOLE, mtime=0)[:-200],
    "cut_in_line": WHOLE[:60],
    "cut_in_names": WHOLE[:300],
    "cut_in_length": WHOLE[:2],
    "names_first": plane("/device:GPU:0", [], [(1, "k")], []) + GPU,
    "no_names": part(1, part(2, "/device:GPU:0") + part(3, line("Stream #1(Kernel)", 0, event(1, 5, 6)))),
    "no_plane_name": part(1, part(3, line("Stream #1(Kernel)", 0, event(1, 5, 6)))),
    "unknown_fields": part(1, part(2, "/device:GPU:0") + number(99, 3) + real(98, 2.5) + part(97, "x")),
    "groups": part(1, part(2, "/device:GPU:0") + b"\x1b\x1c") + GPU,
    "field_zero": part(1, part(2, "/device:GPU:0") + b"\x00\x01") + GPU,
    "endless_varint": part(1, part(2, "/device:GPU:0") + b"\x18" + b"\xff" * 12) + GPU,
    "huge_length": b"\x0a" + varint(1 << 62) + GPU,
    "times": plane("/device:GPU:0",
                   [line("Stream #1(Kernel)", (1 << 63) - 1, event(1, 1, 1)),
                    line("Stream #2(Kernel)", -1, event(1, -(1 << 63), 1), event(1, (1 << 63) - 1, 1),
                         event(1, 0, -1), event(1, 0, (1 << 63) - 1), event(1, 0, 604800 * 10**15),
                         event(1, -(1 << 61), 5), event(1, 1 << 61, 5))], [(1, "k")], []),
    "many_at_once": plane("/device:TPU:0", [line("XLA Ops", 0, number(1, 1) + number(5, 100))], [(1, "k")], []),
    "wrong_types": plane("/device:GPU:x:7", [line("Stream #", 0, event(1, 5, 6, stat(3, part(5, "x")),
                         stat(1, number(4, 5)), stat(2, real(2, float("nan")))))], [(1, "k")], STATS),
    "stat_without_name": plane("/host:CPU", [line("t", 0, event(1, 5, 6, stat(77, number(7, 78))))],
                               [(1, "k")], []),
    "two_of_an_id": plane("/host:CPU", [line("t", 0, event(1, 5, 6))], [(1, "a"), (1, "b")], STATS + STATS),
    "text": b"\n\nsome text\n",
}

for name, data in FILES.items():
    with open(os.path.join(sys.argv[1], name), "wb") as f:
        f.write(data)
