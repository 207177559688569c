#!/usr/bin/env bats
# What venturi trace writes for other tools: --export (Chrome JSON) and --folded (flame graphs).

bats_require_minimum_version 1.5.0
load helpers

setup() {
	make_temp
	TRACE=tests/data/traces/steps_second.json
	SHARED=../shared/data/traces
}

teardown() {
	remove_temp
}

# same FIRST SECOND [PREFIX...]: two accounts say the same, but for what is of the file itself (its
# size, what was dropped) and what speaks of the recording. Sums are of whole ns.
same() {
	python3 - "$@" <<-'EOF'
		import json, sys
		a, b = (json.load(open(p)) for p in sys.argv[1:3])
		of_the_file = {"files", "overhead", "profiler_honesty"}
		def compare(a, b, where):
		    if isinstance(a, dict):
		        assert a.keys() == b.keys(), (where, a.keys() ^ b.keys())
		        for k in a:
		            if k not in of_the_file:
		                compare(a[k], b[k], f"{where}/{k}")
		    elif isinstance(a, list):
		        assert len(a) == len(b), (where, len(a), len(b))
		        for i, (x, y) in enumerate(zip(a, b)):
		            if not (isinstance(x, dict) and x.get("id") in of_the_file):
		                compare(x, y, f"{where}[{i}]")
		    elif isinstance(a, str) and isinstance(b, str):
		        # shapes are JSON as its writer spaced it
		        assert "".join(a.split()) == "".join(b.split()), (where, a, b)
		    else:
		        assert a == b, (where, a, b)
		compare(a, b, "")
	EOF
}

@test "an export is JSON, and read again it gives the same numbers" {
	venturi trace "$TRACE" --json "$TEMP/a.json" --export "$TEMP/x.json" --top all --quiet
	python3 - "$TEMP/x.json" <<-'EOF'
		import json, sys
		t = json.load(open(sys.argv[1]))
		events = t["traceEvents"]
		spans = [e for e in events if e["ph"] == "X"]
		assert min(e["ts"] for e in spans) == 1.0
		kernels = [e for e in spans if e["cat"] == "kernel"]
		assert len(kernels) == 7 and any(k["name"] == 'void "new"\\k(int)' for k in kernels)
		assert abs(sum(k["dur"] for k in kernels) - (3 * (130.5 + 12.125) + 1.001)) < 1e-9
		begins = {e["id"]: e for e in events if e["ph"] == "s"}
		ends = [e for e in events if e["ph"] == "f"]
		assert len(ends) == 9 and all(e["id"] in begins for e in ends)
		assert t["deviceProperties"][0]["numSms"] == 132
	EOF
	venturi trace "$TEMP/x.json" --json "$TEMP/b.json" --top all --quiet
	same "$TEMP/a.json" "$TEMP/b.json"
}

@test "a step is exported as it is counted" {
	venturi trace "$TRACE" --step 1 --json "$TEMP/a.json" --export "$TEMP/x.json" --top all --quiet
	venturi trace "$TEMP/x.json" --json "$TEMP/b.json" --top all --quiet
	same "$TEMP/a.json" "$TEMP/b.json"
	[ "$(grep -c '"cat":"kernel"' "$TEMP/x.json")" -eq 2 ]
}

@test "real traces of several formats survive the way out and back" {
	[ -d "$SHARED" ] || skip "no shared traces here"
	for file in kineto/h100_bert_small_infer.json.gz kineto/mi300_bert_small_infer.json.gz \
		kineto/a100_event_sync_multi_stream.json.gz kineto/v100_resnet50_2021_memory.json.gz; do
		venturi trace "$SHARED/$file" --json "$TEMP/a.json" --export "$TEMP/x.json" --top all \
			--quiet
		venturi trace "$TEMP/x.json" --json "$TEMP/b.json" --top all --quiet
		same "$TEMP/a.json" "$TEMP/b.json" || {
			echo "$file"
			return 1
		}
	done
}

@test "folded stacks add up to the time of the host and of the device" {
	venturi trace "$TRACE" --folded "$TEMP/f" --json "$TEMP/a.json" --quiet
	python3 - "$TEMP/f" <<-'EOF'
		import sys
		host = device = 0
		for line in open(sys.argv[1]):
		    stack, ns = line.rstrip("\n").rsplit(" ", 1)
		    frames = stack.split(";")
		    if frames[0] == "host":
		        host += int(ns)
		    else:
		        assert frames[0] == "device 0", line
		        device += int(ns)
		assert host == 3 * 510_000, host
		assert device == 3 * (130_500 + 12_125 + 2_500) + 1_001, device
	EOF
	grep -q '^device 0;ProfilerStep#5;aten::linear;aten::addmm;cudaLaunchKernel;void gemm<128: 64>' \
		"$TEMP/f"
	grep -q '^device 0;(not linked);void "new"' "$TEMP/f"
}

@test "an export to standard output is all that stands there" {
	venturi trace "$TRACE" --export - | python3 -c 'import json, sys; json.load(sys.stdin)'
	venturi trace "$TRACE" --folded - | grep -vc ' [0-9]*$' | grep -qx 0
}

@test "what cannot be exported or written says so, and leaves no file" {
	run -2 venturi trace "$TRACE" tests/data/traces/steps_first.json --export "$TEMP/x.json"
	[[ "$output" == *"one trace can be exported at a time, 2 were read"* ]]
	[ ! -e "$TEMP/x.json" ]
	run -4 venturi trace "$TRACE" --export "$TEMP/no/x.json"
	run -4 venturi trace "$TRACE" --folded /dev/full
	[[ "$output" == *"cannot write '/dev/full'"* ]]
}
