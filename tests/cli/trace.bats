#!/usr/bin/env bats
# venturi trace as a user meets it: files and folders, what is wrong with them, options, both
# languages. The figures themselves: trace_answers.bats.

bats_require_minimum_version 1.5.0

load helpers

setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
	TRACE="$TEMP/steps.json"
	write_steps > "$TRACE"
}

teardown() {
	remove_temp
}

# Four steps of 100 us, each with one call of 5 us that launches a kernel of 20 us 10 us after it
# began, and one operator around the call. The device is busy for 80 us of 320.
write_steps() {
	local i t
	printf '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Device X", "numSms": 8}],\n'
	printf '"traceEvents": [\n'
	for i in 0 1 2 3; do
		t=$((1000 + i * 100))
		printf '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 1, "tid": 1, "ts": %d, "dur": 99},\n' $i $t
		printf '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": %d, "dur": 12, "args": {"External id": %d, "Input Dims": [[%d, 4], [4, 4]]}},\n' $((t + 8)) $i $((i % 2 + 1))
		printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": %d, "dur": 5, "args": {"correlation": %d}},\n' $((t + 10)) $((i + 1))
		printf '{"ph": "X", "cat": "kernel", "name": "void my_gemm<%d>(float*)", "pid": 0, "tid": 7, "ts": %d, "dur": 20, "args": {"device": 0, "stream": 7, "correlation": %d, "grid": [4, 1, 1], "block": [128, 1, 1]}},\n' $((i % 2)) $((t + 20)) $((i + 1))
	done
	printf '{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]}\n'
}

# figures OPTION...: the JSON of the trace.
figures() {
	venturi trace "$TRACE" --json - "$@"
}

# holds FILTER: fails, and shows the JSON, unless jq says true.
holds() {
	jq -e "$1" <<< "$output" > /dev/null || {
		printf 'not so: %s\nin:\n%s\n' "$1" "$(jq -c . <<< "$output")"
		return 1
	}
}

@test "busy and idle time, totals and shares are those of the file" {
	run -0 figures
	holds '.schema == "venturi.trace/1" and .files[0].events == 17 and .files[0].span_us == 399'
	holds '.devices[0] | .name == "Device X" and .busy_us == 80 and .span_us == 320 and .idle_ratio == 0.75'
	holds '.devices[0].gaps | .n == 3 and .longest_us == 80 and .by_cause.host.total_us == 240'
	holds '[.operators[] | select(.kind == "kernel") | .total_us] == [40, 40]'
	holds '[.operators[] | select(.kind == "cpu_op") | .name, .calls, .self_us, .shapes] == ["aten::mm", 4, 48, 2]'
	holds '.steps | .n == 4 and .durations_us == [99, 99, 99, 99]'
	holds '.links | .linked == 4 and .median_launch_to_start_us == 10 and .median_queue_delay_us == 5'
	holds '.fill | .kernels_with_grid == 4 and .underfilled == 4'
}

@test "--by counts by class, shape, stream and step; --top and --kind choose rows" {
	run -0 figures --by class --kind kernel
	holds '[.operators[] | .name, .calls] == ["gemm", 4]'
	run -0 figures --by shape --kind cpu_op
	holds '[.operators[].key] == ["[[1,4],[4,4]]", "[[2,4],[4,4]]"]'
	run -0 figures --by stream --kind kernel
	holds '.operators[0].key == "device 0 stream 7" and (.tracks | length) == 2'
	run -0 figures --by step --kind kernel
	holds '[.operators[].key] | sort == ["0", "1", "2", "3"]'
	run -0 figures --top 1 --kind kernel
	holds '(.operators | length) == 1 and .operators_all == 2'
}

@test "a window takes what starts inside it, a step what was launched in it" {
	run -0 figures --from 100us --to 300us
	holds '.devices[0] | .kernels == 2 and .busy_us == 40'
	run -0 figures --step 3
	holds '.devices[0].kernels == 1 and .totals.runtime.calls == 1 and .steps.n == 1'
	run -2 venturi trace "$TRACE" --step 4
	[[ "$output" == *"there is no step 4 in '$TRACE'"* ]]
}

@test "the screen answers first, in at most 100 columns, in English and in Chinese" {
	run -0 venturi trace "$TRACE"
	[[ "${lines[0]}" == "The device was idle for 75 %"* ]]
	[[ "$output" == *"device 0"*"Device X"* ]]
	[[ "$output" == *"my_gemm<0>"* ]]
	[[ "$output" == *"steps.json: kineto"* ]]
	[ "$(wc -L <<< "$output")" -le 100 ]
	run -0 venturi trace --lang zh "$TRACE"
	[[ "$output" == *"核函数"* ]]
	[ "$(wc -L <<< "$output")" -le 100 ]
}

@test "gzip, several files and folders are read; what is no trace is passed over in a folder" {
	mkdir -p "$TEMP/ranks/deep"
	gzip -c "$TRACE" > "$TEMP/ranks/rank0.json.gz"
	cp "$TRACE" "$TEMP/ranks/deep/rank1.json"
	echo "not a trace" > "$TEMP/ranks/notes.txt"
	run -0 venturi trace "$TEMP/ranks" --json -
	holds '[.files[].events] == [17, 17] and (.devices | length) == 2 and .totals.kernel.calls == 8'
	run -0 --separate-stderr venturi trace "$TRACE" "$TEMP/ranks/notes.txt" --json -
	[[ "$stderr" == *"warning: left out: '$TEMP/ranks/notes.txt'"* ]]
	holds '.files[1].error != null and .files[1].events == null'
}

@test "what this program wrote of a trace is not taken for one in the same folder" {
	mkdir "$TEMP/run"
	cp "$TRACE" "$TEMP/run"
	figures >"$TEMP/run/before.json"
	venturi trace "$TEMP/run" --json - -q | jq -e '.files | length == 1 and .[0].events == 17'
}

@test "what cannot be read is named, with exit 3; a wrong command line with exit 2" {
	: > "$TEMP/empty"
	mkdir "$TEMP/nothing"
	head -c 2000 /dev/zero > "$TEMP/zeros"
	for name in empty nothing zeros absent; do
		run -3 venturi trace "$TEMP/$name"
		[[ "$output" == *"error: "*"'$TEMP/$name'"* ]]
	done
	run -2 venturi trace
	[[ "$output" == *"no trace given"*"hint:"* ]]
	run -2 venturi trace -
	[[ "$output" == *"from a file, not from a pipe"*"hint:"* ]]
	for wrong in "--top 0" "--top some" "--by colour" "--step -1" "--from 2s --to 1s" "--step 1 --from 0"; do
		# shellcheck disable=SC2086
		run -2 venturi trace "$TRACE" $wrong
	done
}

@test "measured peaks need each other" {
	run -2 venturi trace "$TRACE" --peak-flops 100
	[[ "$output" == *"need each other"* ]]
	run -2 venturi trace "$TRACE" --peak-flops 0 --peak-bandwidth 1
	run -0 venturi trace "$TRACE" --peak-flops 100 --peak-bandwidth 1000
}

@test "of an unknown writer the categories are told, of an empty window that it is empty" {
	printf '[{"ph": "X", "cat": "net,io", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]\n' > "$TEMP/other.json"
	run -0 venturi trace "$TEMP/other.json"
	[[ "${lines[1]}" == *"categories of its spans: net,io (1)."* ]]
	run -0 venturi trace "$TRACE" --from 10s
	[[ "$output" == *"Nothing of the trace starts there."* ]]
	printf '{"traceEvents": []}\n' > "$TEMP/none.json"
	run -0 venturi trace "$TEMP/none.json"
	[ "${lines[0]}" = "The trace holds no events." ]
}

@test "an indented file has the shapes of one that is not" {
	jq --indent 2 . "$TRACE" > "$TEMP/indented.json"
	run -0 figures --by shape --kind cpu_op
	local plain
	plain=$(jq -c '[.operators[] | .name, .key, .calls, .self_us], .findings' <<< "$output")
	run -0 venturi trace "$TEMP/indented.json" --json - --by shape --kind cpu_op
	[ "$(jq -c '[.operators[] | .name, .key, .calls, .self_us], .findings' <<< "$output")" = "$plain" ]
}

@test "a cut file gives what it holds and says that it is cut" {
	head -c 1900 "$TRACE" > "$TEMP/cut.json"
	run -0 venturi trace "$TEMP/cut.json"
	[[ "$output" == *"the file ends in the middle"* ]]
	run -0 venturi trace "$TEMP/cut.json" --json -
	holds '.files[0].truncated and .devices[0].kernels > 0 and .devices[0].kernels < 4'
}

@test "-q prints nothing; --json to a file leaves the screen" {
	run -0 venturi trace "$TRACE" -q
	[ -z "$output" ]
	run -0 venturi trace "$TRACE" --json "$TEMP/out.json"
	[[ "$output" == *"Device X"* ]]
	jq -e .schema "$TEMP/out.json"
}

@test "Ctrl-C while a huge file is read ends at once, with a word" {
	printf '{"schemaVersion": 1, "traceEvents": [' > "$TEMP/huge.json"
	truncate -s 16G "$TEMP/huge.json"
	# A background job of a script ignores SIGINT; what Python starts does not.
	run -0 python3 - "$TEMP/huge.json" <<-'END'
		import signal, subprocess, sys, time
		signal.signal(signal.SIGINT, signal.default_int_handler)
		p = subprocess.Popen(["venturi", "trace", sys.argv[1]], stderr=subprocess.PIPE)
		time.sleep(0.5)
		p.send_signal(signal.SIGINT)
		_, said = p.communicate(timeout=5)
		assert p.returncode == -signal.SIGINT, p.returncode
		assert b"interrupted" in said, said
	END
}
