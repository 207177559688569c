#!/usr/bin/env bats
# venturi trace diff: two traces side by side. steps_first.json and steps_second.json are three
# steps of 490 and 510 us; the matrix product takes 100.5 us in the first and 130.5 in the second,
# which also has one kernel more.

bats_require_minimum_version 1.5.0
load helpers

setup() {
	make_temp
	FIRST=tests/data/traces/steps_first.json
	SECOND=tests/data/traces/steps_second.json
}

teardown() {
	remove_temp
}

@test "a trace is no slower than itself" {
	venturi trace diff "$FIRST" "$FIRST" --fail-over 0% --json "$TEMP/d.json"
	python3 - "$TEMP/d.json" <<-'EOF'
		import json, sys
		d = json.load(open(sys.argv[1]))
		assert d["schema"] == "venturi.trace-diff/1"
		assert d["failed"] is False and d["rows_new"] == d["rows_gone"] == 0
		assert all(r["delta_us"] == 0 for r in d["rows"]) and d["rows"]
	EOF
}

@test "what changed is told by kernel and by operator, per step" {
	venturi trace diff "$FIRST" "$SECOND" --json "$TEMP/d.json" --quiet
	python3 - "$TEMP/d.json" <<-'EOF'
		import json, sys
		d = json.load(open(sys.argv[1]))
		assert d["per_step"] is True
		assert d["first"]["steps"] == d["second"]["steps"] == 3
		m = {m["name"]: m for m in d["measures"]}
		assert m["step_time"]["us"] == [490, 510]
		assert abs(m["step_time"]["change_ratio"] - 20 / 490) < 1e-8
		assert abs(m["device_busy"]["us"][0] - (100.5 + 12.125 + 2.5)) < 1e-9
		assert abs(m["device_busy"]["us"][1] - (130.5 + 12.125 + 2.5 + 1.001 / 3)) < 1e-4
		assert d["rows"][0]["name"] == "void gemm<128; 64>(float const*)"
		assert d["rows"][0]["delta_us"] == 30 and d["rows"][0]["calls"] == [3, 3]
		assert d["rows"][0]["total_us"] == [301.5, 391.5]
		new = [r for r in d["rows"] if r["state"] == "new"]
		assert [r["name"] for r in new] == ['void "new"\\k(int)'] and d["rows_new"] == 1
		ops = {(r["name"], r["shape"]) for r in d["rows"] if r["kind"] == "cpu_op"}
		assert ("aten::linear", "[[32,64],[256,64],[]]") in ops
	EOF
}

@test "the gate fails above its limit only" {
	run -1 venturi trace diff "$FIRST" "$SECOND" --fail-over 5%
	[[ "$output" == *"Slower: device busy grew by 26.3 %, more than the 5.0 % allowed."* ]]
	[[ "$output" == *"Within the limit: time of a step (median) changed by +4.1 %"* ]]
	run -0 venturi trace diff "$FIRST" "$SECOND" --fail-over 0.3
	run -0 venturi trace diff "$SECOND" "$FIRST" --fail-over 0
}

@test "kernels can be compared by their base" {
	venturi trace diff "$FIRST" "$SECOND" --group base --json - --quiet >"$TEMP/d.json"
	python3 - "$TEMP/d.json" <<-'EOF'
		import json, sys
		names = {r["name"] for r in json.load(open(sys.argv[1]))["rows"] if r["kind"] == "kernel"}
		assert {"gemm", "add"} <= names, names
	EOF
}

@test "a wrong call says what is wrong" {
	run -2 venturi trace diff "$FIRST"
	[[ "$output" == *"two traces are compared, 1 were given"* ]]
	run -2 venturi trace diff "$FIRST" "$SECOND" --fail-over much
	[[ "$output" == *"not 'much'"* ]]
	run -2 venturi trace diff "$FIRST" "$SECOND" --fail-over -5%
	run -2 venturi trace diff tests/data/traces "$SECOND"
	run -3 venturi trace diff "$FIRST" README.md
}

@test "a gate that has nothing to hold on to is an invalid measurement" {
	echo '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]}' \
		>"$TEMP/host.json"
	run -5 venturi trace diff "$TEMP/host.json" "$TEMP/host.json" --fail-over 5%
	run -0 venturi trace diff "$TEMP/host.json" "$TEMP/host.json"
}
