#!/usr/bin/env bats
# venturi diagnose --trace on traces with exactly one fault: the right cause, and none that looks like it.

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

# diagnose NAME: a short diagnosis with that trace.
diagnose() {
	python3 tests/cli/trace_faults.py "$1" >"$TEMP/$1.json"
	rm -f "$VENTURI_LEDGER"
	venturi diagnose "$SERVE_URL/v1/completions" --json "$TEMP/d.json" -q --no-stream --output-tokens 1 -c 2 \
		--budget 1s --trace "$TEMP/$1.json"
}

# probable ID...: of the causes that a trace speaks of exactly these are probable.
probable() {
	jq -r '.causes[] | select(.state == "probable" and any(.facts[]; .source | contains("trace"))) | .id' \
		"$TEMP/d.json" | sort >"$TEMP/probable"
	printf '%s\n' "$@" | sort | diff - "$TEMP/probable"
}

# cause ID FILTER: a jq filter that must hold of one cause.
cause() {
	jq -e --arg id "$1" ".causes[] | select(.id == \$id) | $2" "$TEMP/d.json" >/dev/null || {
		jq --arg id "$1" '.causes[] | select(.id == $id)' "$TEMP/d.json"
		return 1
	}
}

@test "what the host does between steps, what it copies then, and what it prepares are three causes" {
	diagnose host_between_steps
	probable host_step_serial
	# 7 gaps of 500 us (570 to 1070) in 7500 us from the first kernel to the last
	cause host_step_serial '.facts[0] | .name == "host_step_gap_ratio" and (.value - 3500 / 7500 | fabs) < 1e-6'
	diagnose token_between_steps
	probable host_step_serial
	diagnose result_between_steps
	probable per_step_copies
	cause host_step_serial '.state == "not_examined" and (.needs | contains("only an experiment can tell"))'
	diagnose input_between_steps
	probable sync_preprocess
	cause sync_preprocess '.facts[0] | .name == "input_gap_ratio" and .threshold == 0.1'
}

@test "steps that compile are not steps that schedule" {
	diagnose new_shapes
	probable dynamic_shape_recompile
	cause dynamic_shape_recompile '.facts[0] | .name == "first_of_shape_over_repeats" and .value == 6'
	# 20 of 53 ms after the first step go into shapes 2, 3, 4 and 5 that come again: 1 / (1 - 0.38) and more
	cause dynamic_shape_recompile '.predicted.high > 1.5'
}

@test "memory in reserve is a fault only when it grows; allocating in each step is one" {
	diagnose growing_reserve
	probable gpu_mem_fragmentation
	cause gpu_mem_fragmentation '.facts[0] | .name == "growing_unused_ratio" and (.value - (1 - 300 / 1700) | fabs) < 1e-6'
	diagnose steady_reserve
	[ "$(jq '[.causes[] | select(.id == "gpu_mem_fragmentation" and .state == "probable")] | length' "$TEMP/d.json")" -eq 0 ]
	diagnose device_memory_calls
	probable gpu_mem_fragmentation
	cause gpu_mem_fragmentation '.facts[0] | .name == "steady_allocation_ratio" and (.value - 0.4 | fabs) < 1e-6'
}

@test "an operator of PyTorch that runs on the host between copies is a fallback" {
	diagnose operator_on_host
	cause op_cpu_fallback '.state == "probable"'
	# from 246 to 700, and 60 us of copies, of each step; 7980 us from the first kernel to the last
	cause op_cpu_fallback '.facts[0] | .name == "cpu_fallback_ratio" and (.value - 8 * 514 / 7980 | fabs) < 1e-6'
	cause host_step_serial '.state != "probable"'
	cause launch_bound '.state != "probable"'
	venturi trace "$TEMP/operator_on_host.json" --json - -q | jq -e '.findings[] | select(.id == "cpu_fallback")
		| .tables[] | select(.name == "operators") | .rows == [["aten::unique", 8, 3200000]]'
}

@test "what names do not tell excludes nothing" {
	diagnose unknown_names
	for id in layout_copies unfused_graph precision_fallback quant_no_gain tp_comm_bound; do
		cause "$id" '.state == "not_examined"'
	done
	cause per_step_copies '.state == "excluded"'
}

@test "kernels that took no time stand in no list that they would break" {
	python3 tests/cli/trace_faults.py no_time >"$TEMP/t.json"
	venturi trace "$TEMP/t.json" --json "$TEMP/t.out" -q --top all
	jq -e '[.operators[] | select(.kind == "kernel")] | length == 24 and all(.calls == 1 and .total_us == 0)' "$TEMP/t.out"
}
