#!/usr/bin/env python3
"""Holds `venturi trace` against answers that an independent program worked out.

    trace_answers.py TRACE ANSWERS

Every number of the answers is looked up in the program's JSON and has to be the same: counts as they
are, times to the nanosecond, shares to the last digit that the answers print. What differs is
printed, a line each; the exit code is 1 then. What the numbers mean: SOURCES.md beside the traces.
"""

import json
import os
import subprocess
import sys
from decimal import Decimal


# The reference cuts the longest names of XPlane to so many characters.
NAME_CUT = 400


class Check:
    def __init__(self):
        self.n = 0
        self.wrong = []

    def same(self, what, got, want):
        self.n += 1
        if got != want:
            self.wrong.append(f"{what}: {got}, the answer is {want}")

    def us(self, what, got, want):
        """Times: Decimals of microseconds with three digits behind the point."""
        self.same(what, None if got is None else got.quantize(Decimal("0.001")) if isinstance(got, Decimal) else got,
                  None if want is None else Decimal(want).quantize(Decimal("0.001")))

    def ratio(self, what, got, want):
        """Shares: as many digits as the answers have, which is six, the last of them rounded."""
        self.n += 1
        if got is None or abs(Decimal(got) - Decimal(want)) > Decimal("0.00000051"):
            self.wrong.append(f"{what}: {got}, the answer is {want}")


def by(rows, key):
    return {row[key]: row for row in rows}


def ordered(rows, time):
    """As the answers sort their lists: longest first, then by name."""
    return sorted(rows, key=lambda r: (-r[time], r["name"].encode()))


def top(check, what, rows, want, time="total_us", share="ratio"):
    """A list of the longest: the same names in the same order with the same numbers."""
    rows = ordered(rows, time)[:len(want)]
    check.same(f"{what}, names", [r["name"][:len(w["name"]) if len(w["name"]) == NAME_CUT else None]
                                  for r, w in zip(rows, want)], [w["name"] for w in want])
    for got, w in zip(rows, want):
        name = f"{what}, '{w['name'][:40]}'"
        check.same(f"{name}, calls", got["calls"], w["count"])
        if "total_us" in w:
            check.us(f"{name}, total", got["total_us"], w["total_us"])
        if "self_us" in w:
            check.us(f"{name}, self", got["self_us"], w["self_us"])
        check.ratio(f"{name}, share", got[share], w["share"])


def of_kind(run, kind):
    return [o for o in run["operators"] if o["kind"] == kind]


def files(check, run, want):
    f = run["files"][0]
    if "uncompressed_bytes" in want:
        check.same("bytes", f["bytes"], want["uncompressed_bytes"])
    if "events_total" in want:
        check.same("events", f["events"], want["events_total"])
    if "events_by_ph" in want:
        check.same("events by phase", f["events_by_phase"], want["events_by_ph"])
    if "x_events_by_cat" in want:
        # The reference calls spans without a category "None".
        check.same("spans by category", f["spans_by_category"],
                   {"" if k == "None" else k: n for k, n in want["x_events_by_cat"].items()})
    if "anomalies" in want:
        check.same("zero durations", f["zero_duration"], want["anomalies"].get("gpu_op_zero_dur", 0))
    if "span_us" in want:
        check.us("span", f["span_us"], want["span_us"])


def gaps(check, name, got, want):
    """Host gaps are refined by us into those that wait for the device or allocate."""
    sums = got["by_cause"]
    refined = {"host": ("host", "sync", "allocation"), "queued": ("queued",), "unknown": ("unknown",)}
    check.same(f"{name}, gaps", got["n"], want["count"])
    check.us(f"{name}, longest gap", got["longest_us"], want["longest_us"] if want["count"] else None)
    for cause, ours in refined.items():
        check.same(f"{name}, {cause} gaps", sum(sums[c]["n"] for c in ours if c in sums), want[cause]["count"])
        check.us(f"{name}, time of {cause} gaps", sum((sums[c]["total_us"] for c in ours if c in sums), Decimal(0)),
                 want[cause]["total_us"])


def devices(check, run, want):
    got = {str(d["id"]): d for d in run["devices"]}
    check.same("devices", sorted(got), sorted(want))
    for name in sorted(set(got) & set(want)):
        d, w = got[name], want[name]
        what = f"device {name}"
        check.same(f"{what}, operations", d["operations"], w["gpu_ops"])
        for ours, theirs in ("busy_us", "busy_us"), ("kernel_busy_us", "kernel_busy_us"), ("span_us", "span_us"):
            if theirs in w:
                check.us(f"{what}, {ours}", d[ours], w[theirs])
        if "streams" in w:
            check.same(f"{what}, streams", d["streams"], w["streams"])
        check.ratio(f"{what}, idle", d["idle_ratio"], w["idle_share"])
        if "gaps" in w:
            gaps(check, what, d["gaps"], w["gaps"])


def kernels(check, run, want):
    total = run["totals"].get("kernel", {"calls": 0, "names": 0, "total_us": Decimal(0)})
    check.same("kernels", total["calls"], want["count"])
    check.same("kernel names", total["names"], want["distinct_names"])
    check.us("kernel time", total["total_us"], want["total_us"])
    if want["count"]:
        check.ratio("mean kernel", total["total_us"] / total["calls"], want["mean_us"])
        check.ratio("top 5 of kernels", run["top5_ratio"], want["top5_share"])
    top(check, "kernels", of_kind(run, "kernel"), want["top10"])


def copies(check, run, want):
    got = by(run["copies"], "kind")
    check.same("kinds of copies", sorted(got), sorted(want))
    for kind in sorted(set(got) & set(want)):
        c, w = got[kind], want[kind]
        check.same(f"{kind}, calls", c["calls"], w["count"])
        check.us(f"{kind}, time", c["total_us"], w["time_us"])
        check.same(f"{kind}, bytes", c["bytes"], w["bytes"])
        if "under_64KiB" in w:
            check.same(f"{kind}, under 64 KiB", c["under_64kib"], w["under_64KiB"])


def memsets(check, run, want):
    check.same("memsets", run["memsets"]["calls"], want["count"])
    check.us("memset time", run["memsets"]["total_us"], want["time_us"])
    check.same("memset bytes", run["memsets"]["bytes"], want["bytes"])


def links(check, run, want):
    for name in "linked", "unlinked", "negative_launch_to_start":
        check.same(name, run["links"][name], want[name])
    for name in "median_launch_to_start_us", "median_queue_delay_us":
        check.us(name, run["links"][name], want[name])
    check.same("most of one launch", run["links"]["max_per_launch"], want["max_gpu_ops_per_correlation"])


def fill(check, run, want):
    check.same("kernels with a grid", run["fill"]["kernels_with_grid"], want["kernels_with_grid"])
    check.same("small grids", run["fill"]["small_grid"], want["blocks_below_sm_count"])
    check.us("time of small grids", run["fill"]["small_grid_us"], want["time_us"])


def cpu_ops(check, run, want):
    total = run["totals"].get("cpu_op", {"calls": 0, "names": 0, "self_us": Decimal(0), "tracks": 0})
    check.same("operators", total["calls"], want["count"])
    check.same("operator names", total["names"], want["distinct_names"])
    check.us("self time of operators", total["self_us"], want["self_total_us"])
    check.same("threads of operators", total["tracks"], want["threads"])
    top(check, "operators", of_kind(run, "cpu_op"), want["top10_self"], time="self_us")


def steps(check, run, want):
    if not want["count"]:
        # The reference takes the steps of 2021, which are operators there, for operators.
        if "Operator" in run["files"][0]["spans_by_category"]:
            return
        check.same("no profiler steps", run["steps"]["source"] == "profiler_step", False)
        return
    check.same("source of steps", run["steps"]["source"], "profiler_step")
    check.same("steps", run["steps"]["n"], want["count"])
    for i, (got, w) in enumerate(zip(run["steps"]["durations_us"], want["durations_us"])):
        check.us(f"step {i}", got, w)


def shapes(check, run, want):
    got = by(of_kind(run, "cpu_op"), "name")
    for w in want:
        check.same(f"shapes of {w['name']}", got.get(w["name"], {}).get("shapes"), w["variants"])
    # None beside them has more.
    if want:
        names = {w["name"] for w in want}
        least = min(w["variants"] for w in want)
        check.same("operators with more shapes", [o["name"] for o in got.values()
                                                  if o["name"] not in names and o.get("shapes", 0) > least], [])


def memory(check, run, want):
    got = {str(m["device_type"]): m for m in run["memory"]}
    check.same("kinds of memory", sorted(got), sorted(want))
    for kind in sorted(set(got) & set(want)):
        for ours, theirs in (("allocations", "allocs"), ("allocated_bytes", "alloc_bytes"), ("frees", "frees"),
                             ("freed_bytes", "free_bytes"), ("peak_allocated_bytes", "peak_total_allocated")):
            check.same(f"memory {kind}, {ours}", got[kind][ours], want[kind][theirs])


def rows(check, run, want):
    got = run["files"][0]["rows_by_table"]
    check.same("rows", {k: got.get(k, 0) for k in want}, want)


def planes(check, run, want):
    """XPlane: the busiest lines of each plane."""
    got = {}
    for t in run["tracks"]:
        got.setdefault(t["process"], []).append(t)
    for plane in want:
        lines = got.get(plane["name"], [])
        check.same(f"{plane['name']}, events", sum(t["events"] for t in lines), plane["events"])
        for w in plane["lines"]:
            what = f"{plane['name']}, {w['name']}"
            fits = [t for t in lines if (t["label"] or t["thread"]) == w["name"] and t["events"] == w["events"]
                    and ("busy_us" not in w or t["busy_us"] == Decimal(w["busy_us"]))]
            check.same(f"{what}, there with its events and busy time", bool(fits), True)
            if fits and "span_us" in w:
                check.us(f"{what}, span", fits[0]["span_us"], w["span_us"])
                top(check, what, fits[0]["top"], w["top5"])


def nodes(check, run, want):
    """ONNX Runtime."""
    nodes_total = run["totals"].get("cpu_op", {"calls": 0, "names": 0})
    check.same("nodes", nodes_total["calls"], want["events"])
    check.us("time of nodes", nodes_total["total_us"], want["total_us"])
    check.same("different nodes", nodes_total["names"], want["distinct_nodes"])
    runs = run["facts"].get("node_ratio_of_runs")
    check.ratio("nodes of model_run", runs, want["share_of_model_run"])


def model_runs(check, run, want):
    check.same("model runs", run["facts"].get("model_runs"), want["count"])
    for ours, theirs in (("model_run_total_ns", "total_us"), ("model_run_median_ns", "median_us"),
                         ("model_run_first_ns", "first_us")):
        check.same(theirs, run["facts"].get(ours), Decimal(want[theirs]) * 1000)


def session(check, run, want):
    events = by(of_kind(run, "annotation"), "name")
    for name, us in want.items():
        check.us(name, events[name]["total_us"] if name in events else None, us)


def launches(check, run, want):
    """Nsight Compute: every metric of every launch."""
    check.same("profiled launches", len(run.get("launches", [])), want["launches"])
    for got, w in zip(run.get("launches", []), want["kernels"]):
        check.same("kernel", got["kernel"], w["name"])
        check.same("grid", "(%d, %d, %d)" % tuple(got["grid"]), w["grid"])
        check.same("block", "(%d, %d, %d)" % tuple(got["block"]), w["block"])
        found = {(f"{m['section']} | {m['name']}" if m["section"] else m["name"]): m for m in got["metrics"]}
        for name, (value, unit) in w["metrics"].items():
            # Metrics that were asked for one by one stand under their own name.
            m = found.get(name) or next((m for m in got["metrics"] if m["name"] == name), None)
            check.same(name, m and (m["text"] if isinstance(value, str) else m["value"]),
                       value if isinstance(value, str) else Decimal(value))
            check.same(f"{name}, unit", m and m["unit"], unit)
    check.same("rules", sum(len(k["rules"]) for k in run.get("launches", [])), want["rule_rows"])


def api(check, run, want):
    top(check, "calls of the runtime", of_kind(run, "runtime"), want)


PARTS = {
    "devices": devices, "kernels": kernels, "memcpy": copies, "memset": memsets, "links": links, "underfilled": fill,
    "cpu_ops": cpu_ops, "profiler_steps": steps, "shape_variants_top5": shapes, "memory_events": memory,
    "rows": rows, "buffer_records": rows, "planes": planes, "nodes": nodes, "model_runs": model_runs,
    "session_us": session, "runtime_api_top10": api,
    "memcpy_direction_changes": lambda c, run, want: c.same(
        "direction changes", sum(d["copy_direction_changes"] for d in run["devices"]), want),
    "kernels_linked": lambda c, run, want: c.same(
        "linked kernels", run["links"]["linked_kernels"], want),
    "kernels_by_short_name_top10": lambda c, run, want: top(
        c, "short names", run["groupings"]["short_name"], want),
    "nvtx_ranges": lambda c, run, want: c.same("NVTX ranges", run["totals"]["annotation"]["calls"], want),
    "nvtx_top5": lambda c, run, want: top(c, "NVTX ranges", of_kind(run, "annotation"), want),
    "top10_by_op_name": lambda c, run, want: top(c, "types of nodes", run["groupings"]["op_type"], want),
    "top10_by_node": lambda c, run, want: top(c, "nodes", of_kind(run, "cpu_op"), want, time="self_us"),
    "providers": lambda c, run, want: top(c, "providers", run["groupings"]["provider"], want),
    "device_names": lambda c, run, want: c.same(
        "names of devices", {d["name"] for d in run["devices"] if d["name"]} <= set(want), True),
    "nodes_with_more_than_one_shape": lambda c, run, want: c.same(
        "nodes with more than one shape", sum(o.get("shapes", 0) > 1 for o in of_kind(run, "cpu_op")), want),
    "max_shape_variants": lambda c, run, want: c.same(
        "most shapes of a node", max(o.get("shapes", 0) for o in of_kind(run, "cpu_op")), want),
}
# Of the file itself (see files), of the reference's own making, or told by "launches".
OTHER = {"file", "file_bytes", "file_sha256", "uncompressed_bytes", "format", "events_total", "events_by_ph",
         "x_events_by_cat", "anomalies", "span_us", "product_version", "schema_version", "columns", "agents",
         "preamble_lines", "page", "launches", "rule_rows", "top10"}


def facts_of(run):
    return {f["name"]: f["value"] for finding in run["findings"] for f in finding["facts"]}


def main():
    path, answers = sys.argv[1:]
    with open(answers, encoding="utf-8") as f:
        want = json.load(f, parse_float=Decimal)
    out = subprocess.run([os.environ.get("VENTURI", "venturi"), "trace", path, "--json", "-", "--top", "all", "-q"],
                         stdout=subprocess.PIPE, check=True).stdout
    run = json.loads(out, parse_float=Decimal)
    run["facts"] = facts_of(run)
    check = Check()
    files(check, run, want)
    if want["format"] == "ncu-csv":
        launches(check, run, want)
    elif want["format"] == "rocprofv3-csv" and "rows" in want:
        check.same("rows", sum(run["files"][0]["rows_by_table"].values()), want.pop("rows"))
        kind = "runtime" if "hip_runtime" in path else "memcpy" if "memory_copy" in path else "kernel"
        top(check, "rows", of_kind(run, kind), want.get("top10", []))
    for name, part in PARTS.items():
        if name in want and not (name == "kernels" and want["format"] == "ncu-csv"):
            part(check, run, want[name])
    unknown = set(want) - set(PARTS) - OTHER
    check.same("numbers that nobody looks at", sorted(unknown), [])
    print(f"{os.path.basename(path)}: {check.n} numbers, {len(check.wrong)} wrong")
    print("\n".join(check.wrong[:20]))
    sys.exit(bool(check.wrong))


if __name__ == "__main__":
    main()
