#!/usr/bin/env bats
# Faults of what stands around an encoder, beside a good service; and that none is without a test.

bats_require_minimum_version 1.5.0

load helpers
load fault_helpers

setup() {
	make_temp
}

teardown() {
	stop_faulty
	remove_temp
}

@test "fault tokenize-inline: texts cost more than token ids" {
	encoders tokenize-inline=1000
	costs_times 3 60 --input-tokens 200
}

# The CPU time that was asked for is spent: 60 requests of 5 ms each.
check_burnt() {
	costs_times 2 60 --input-tokens 32
	holds "$COST_BAD - $COST_GOOD > 240"
	holds "$(figure BAD .latency_ms.p50) > 4.5"
}

@test "fault prepare: time goes before the queue" {
	encoders prepare=5ms
	check_burnt
}

@test "fault prepare-serial: time goes before the computation" {
	encoders prepare-serial=5ms
	check_burnt
}

@test "fault collect: time goes after the computation" {
	encoders collect=5ms
	check_burnt
}

# padding NAME: tokens of padding so far.
padding() {
	ask "$1" /metrics | awk '/^venturi_serve_lane_padding_tokens_total/ { n += $2 } END { print n + 0 }'
}

@test "fault pad-to: short texts are computed as long ones" {
	encoders pad-to=512
	costs_times 3 60 --input-tokens 16
	[ "$(padding BAD)" -gt 20000 ]
	[ "$(padding GOOD)" = 0 ]
}

switches() {
	awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n }' /proc/"$1"/task/*/status
}

@test "fault global-lock: threads wait for one another, and all use one CPU" {
	THREADS=3 encoders global-lock --synthetic minilm --http-threads 2
	local from to cpu
	from=$(date +%s%N)
	cpu=$(cost BAD 60 -c 8 --input-tokens 100)
	to=$(date +%s%N)
	# what the kernel does for connections is outside of the lock
	echo "$cpu ms of CPU in $(((to - from) / 1000000)) ms"
	holds "$cpu < 1.3 * ($to - $from) / 1e6"
	local bad good
	bad=$(switches "$PID_BAD")
	cost BAD 60 -c 8 --input-tokens 100 >/dev/null
	bad=$(($(switches "$PID_BAD") - bad))
	good=$(switches "$PID_GOOD")
	cost GOOD 60 -c 8 --input-tokens 100 >/dev/null
	good=$(($(switches "$PID_GOOD") - good))
	echo "good $good switches, bad $bad"
	holds "$bad > 1.5 * $good"
}

@test "fault reload-idle: memory goes when nobody asks, and the next one waits for it" {
	encoders reload-idle=300ms
	cost GOOD 20 --input-tokens 32 >/dev/null
	cost BAD 20 --input-tokens 32 >/dev/null
	wait_for 10 eval '[ $(($(rss_kib "$PID_GOOD") - $(rss_kib "$PID_BAD"))) -gt 8000 ]'
	run_load BAD --api openai-embeddings -c 1 -n 30 --input-tokens 32
	holds "$(figure BAD .latency_ms.max) > 10 * $(figure BAD .latency_ms.p50)"
}

@test "fault oversubscribe: many threads that never sleep" {
	THREADS= encoders oversubscribe=8
	local n
	n=$(find "/proc/$PID_BAD/task" -mindepth 1 -maxdepth 1 | wc -l)
	[ "$n" -ge $(($(nproc) * 8)) ]
	local good bad
	cost BAD 5 --input-tokens 32 >/dev/null
	good=$(cpu_ms "$PID_GOOD")
	bad=$(cpu_ms "$PID_BAD")
	sleep 1
	[ $(($(cpu_ms "$PID_BAD") - bad)) -ge 300 ]
	[ $(($(cpu_ms "$PID_GOOD") - good)) -lt 150 ]
}

@test "four threads pinned to one CPU run only there" {
	local cpu
	cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	faulty BAD "" --synthetic bert-tiny --threads 4 --pin "$cpu"
	wait_ready BAD
	ask BAD /v1/embeddings '{"input": "a"}' >/dev/null
	[ "$(cat /proc/"$PID_BAD"/task/*/status | grep -c "^Cpus_allowed_list:[[:space:]]$cpu\$")" -ge 4 ]
	run "$VENTURI_BUILD/venturi-serve" --synthetic bert-tiny --pin 8191
	[ "$status" = 2 ]
	run "$VENTURI_BUILD/venturi-serve" --synthetic bert-tiny --numa 63
	[[ "$status" = 2 || "$output" == *hwloc* ]]
}

@test "fault unbalanced: only a gateway takes it" {
	run "$VENTURI_BUILD/venturi-serve" --synthetic bert-tiny --fault unbalanced
	[ "$status" = 2 ]
	[[ "$output" == *"'unbalanced' has no effect"* ]]
}

@test "every fault of the table has a test" {
	local name missing=0
	cat tests/cli/faults*.bats >"$TEMP/tests"
	while read -r name; do
		grep -q "^@test \"fault $name[ :]" "$TEMP/tests" || { echo "no test of $name"; missing=1; }
	done < <(fault_names)
	[ $missing = 0 ]
}

@test "the page about faults has a row for each, with its value and its cause, and no other" {
	venturi-serve --list-faults | awk '/^[a-z]/ { print $1 ($2 ? " " $2 : "") }' | sort >"$TEMP/code"
	sed -n 's/^| `\([^`]*\)` | \(`\([a-z_]*\)`\|–\) |.*/\1 \3/p' docs/faults.md | sed 's/\\|/|/g; s/ $//' | sort >"$TEMP/page"
	diff "$TEMP/code" "$TEMP/page"
}
