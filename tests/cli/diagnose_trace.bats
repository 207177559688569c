#!/usr/bin/env bats
# venturi diagnose --trace: what a profiler saw speaks for or against causes that a load cannot see.

bats_require_minimum_version 1.5.0

load helpers
load serve_helpers

setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
	start_serve --simulate tests/data/simulate/roomy.json
}

teardown() {
	stop_serve
	remove_temp
}

# diagnose OPTION...: a short diagnosis of the running service into $TEMP/d.json.
diagnose() {
	venturi diagnose "$SERVE_URL/v1/completions" --json "$TEMP/d.json" -q --no-stream --output-tokens 1 -c 2 \
		--budget 5s "$@"
}

# cause ID FILTER: a jq filter that must hold of one cause.
cause() {
	jq -e --arg id "$1" ".causes[] | select(.id == \$id) | $2" "$TEMP/d.json" >/dev/null || {
		jq --arg id "$1" '.causes[] | select(.id == $id)' "$TEMP/d.json"
		return 1
	}
}

# Ten steps of 1 ms: a kernel for 500 us, then a copy to pageable memory for 300 us, then nothing.
write_trace() {
	python3 - >"$TEMP/copies.json" <<-'PY'
		import json
		events = []
		def add(cat, name, ts, dur, pid, tid, **args):
		    events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})
		for i in range(10):
		    at = 1000 + 1000 * i
		    add("user_annotation", f"ProfilerStep#{i}", at, 1000, 1, 1)
		    add("cuda_runtime", "cudaLaunchKernel", at, 10, 1, 1, correlation=2 * i + 1)
		    add("cuda_runtime", "cudaMemcpyAsync", at + 20, 10, 1, 1, correlation=2 * i + 2)
		    add("kernel", "ampere_sgemm_128x64_tn", at + 20, 500, 0, 7, correlation=2 * i + 1, device=0, stream=7)
		    add("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", at + 520, 300, 0, 7, correlation=2 * i + 2, device=0,
		        stream=7, bytes=1000000)
		print(json.dumps({"schemaVersion": 1, "traceEvents": events}))
	PY
}

@test "exposed copies in a trace make a cause probable, with Amdahl's limit" {
	write_trace
	diagnose --trace "$TEMP/copies.json"
	cause per_step_copies '.state == "probable"'
	cause per_step_copies '.facts[0] | .name == "exposed_copy_ratio" and .threshold == 0.1
		and (.source | contains("copies.json"))'
	# 300 of every 1000 us: 3000 us in a span of 9820 us from the first kernel to the last copy,
	# or in the 10 ms of the steps.
	cause per_step_copies '.facts[0].value | . > 0.299 and . < 0.307'
	cause per_step_copies '.predicted | .rule == "G10" and .low == 1 and .high > 1.42 and .high < 1.45'
	cause pageable_copy '.state == "probable"'
}

@test "what a trace shows to take no time is excluded, what it cannot tell stays open" {
	write_trace
	diagnose --trace "$TEMP/copies.json"
	cause tp_comm_bound '.state == "excluded" and .predicted == null'
	cause kernel_choice_bad '.state == "not_examined" and (.needs | startswith("The trace cannot tell"))'
	cause denormal_stall '.state == "not_examined"'
}

@test "without a trace these causes are not examined, and a trace that cannot be read stops at once" {
	diagnose
	cause per_step_copies '.state == "not_examined" and .facts == []'
	run -3 venturi diagnose "$SERVE_URL/v1/completions" -q --trace "$TEMP/none.json"
	[[ "$output" == *"cannot open '$TEMP/none.json'"* ]]
	echo 'no trace' >"$TEMP/text"
	run -3 venturi diagnose "$SERVE_URL/v1/completions" -q --trace "$TEMP/text"
	[[ "$output" == *"'$TEMP/text'"* ]]
}
