#!/usr/bin/env bats
# venturi trace against answers that an independent program worked out for real traces.

load helpers

ANSWERS="../shared/data/traces/answers"

setup() {
	[ -d "$ANSWERS" ] || skip "the shared traces are not beside the checkout"
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
}

teardown() {
	remove_temp
}

# holds FOLDER: every trace of a folder of the shared data that has answers.
holds() {
	wrong=0
	for trace in "$ANSWERS/../$1"/*; do
		answers="$ANSWERS/$(basename "$trace").answers.json"
		[ -f "$answers" ] || continue
		python3 tests/cli/trace_answers.py "$trace" "$answers" || wrong=1
	done
	[ "$wrong" -eq 0 ]
}

@test "traces of PyTorch's profiler, of 2021 to 2026, NVIDIA and AMD" {
	holds kineto
}

@test "traces of PyTorch without Kineto" {
	holds torch
}

@test "profiles of ONNX Runtime" {
	holds ort
}

@test "generic traces of Chrome's format" {
	holds chrome
}

@test "databases of Nsight Systems, old and new schemas" {
	holds nsys
}

@test "rocprofv3's JSON and CSV" {
	holds rocprof
}

@test "XPlane, of a GPU and a TPU" {
	holds xplane
}

@test "Nsight Compute's tables" {
	holds ncu
}
