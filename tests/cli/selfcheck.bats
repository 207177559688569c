#!/usr/bin/env bats
# Is the client the limit? A client that was starved, stopped or held short on purpose has to say so
# and fail the run; one that was left alone must not.

load helpers
load serve_helpers

setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
	BUSY=()
}

teardown() {
	[ ${#BUSY[@]} -eq 0 ] || kill "${BUSY[@]}" 2>/dev/null || true
	stop_serve
	remove_temp
}

# load_it WORDS...: a quiet run into $TEMP/r.json; its exit status in LOAD_STATUS.
load_it() {
	LOAD_STATUS=0
	venturi load -q --json "$TEMP/r.json" "$@" 2>"$TEMP/err" 3>&- || LOAD_STATUS=$?
}

holds() {
	jq -e "$1" "$TEMP/r.json" >/dev/null || {
		echo "does not hold: $1"
		jq -c '.client, .requests' "$TEMP/r.json"
		return 1
	}
}

# A service that takes every request at once and answers after a second.
start_slow() {
	cat >"$TEMP/slow.json" <<-S
		{ "name": "slow", "prefill": { "fixed_ms": 1000 }, "decode": { "fixed_ms": 1 },
		  "slots": 200, "batching": "continuous", "output_tokens": 1 }
	S
	start_serve --simulate "$TEMP/slow.json"
}

@test "a run that went well lists every check, and its counts are right to the last one" {
	start_serve --simulate tests/data/simulate/continuous.json
	load_it "$SERVE_URL" -c 4 -d 2s --warmup none --threads 2 --output-tokens 20
	[ "$LOAD_STATUS" -eq 0 ]
	holds '.client.verdict != "invalid" and .client.verdict != "limited"'
	holds '[.client.checks[] | select(.name | startswith("counts_"))] | length == 4 and all(.value == 0 and .ok)'
	holds '[.client.checks[] | select(.name == "connections" or .name == "bytes")] | length == 2 and all(.value == 0)'
	holds '.client.checks | all(has("unit") and has("limit") and has("source"))'
	holds '([.client.checks[].name] | unique | length) == (.client.checks | length)'
	holds '.client.loop_lag_ms.n > 100 and .client.unread_bytes.n > 20'
	holds '.client.per_thread | length == 2 and all(.cpu_ratio > 0)'
}

@test "a client that is stopped for a second in an open loop says that it stood still" {
	start_serve --simulate tests/data/simulate/continuous.json
	venturi load -q --json "$TEMP/r.json" "$SERVE_URL" --rate 40 -d 4s --warmup none --output-tokens 4 \
		2>"$TEMP/err" 3>&- &
	local pid=$! status=0
	sleep 1.5
	kill -STOP $pid
	sleep 1
	kill -CONT $pid
	wait $pid || status=$?
	[ "$status" -eq 5 ]
	holds '.client.verdict == "limited" and .client.loop_lag_ms.max > 900'
	holds '.client.checks | map(select(.ok == false) | .name) | contains(["stall_ratio", "lateness_tail"])'
	grep -q "stood still" "$TEMP/err"
}

@test "a client that shares its core with busy programs names the wait for a core" {
	start_serve --simulate tests/data/simulate/continuous.json
	local core
	core=$(taskset -pc $$ | sed 's/.*[ ,-]//')
	for _ in 1 2 3 4; do
		taskset -c "$core" timeout 20 sh -c 'while :; do :; done' 3>&- &
		BUSY+=($!)
	done
	# As fast as it goes, so that the client wants the whole core.
	LOAD_STATUS=0
	taskset -c "$core" venturi load -q --json "$TEMP/r.json" --api http "$SERVE_URL/health" -c 8 -d 2s \
		--warmup none 2>"$TEMP/err" 3>&- || LOAD_STATUS=$?
	holds '.client.waiting_ratio > 0.1'
	holds '.client.checks | map(select(.ok == false) | .name) | index("thread_waiting_ratio")'
	holds '.client.verdict != "ok"'
}

@test "a client under a quota of CPU fails the run" {
	local quota=/sys/fs/cgroup/cpu/venturi.$$
	mkdir "$quota" 2>/dev/null && echo 10000 2>/dev/null >"$quota/cpu.cfs_quota_us" || {
		rmdir "$quota" 2>/dev/null || true
		skip "no control group with a quota can be made here"
	}
	start_serve --simulate tests/data/simulate/continuous.json
	local status=0
	sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$quota" \
		venturi load -q --json "$TEMP/r.json" --api http "$SERVE_URL/health" -c 8 -d 2s --warmup none \
		2>"$TEMP/err" 3>&- || status=$?
	wait_for 5 rmdir "$quota"
	[ "$status" -eq 5 ]
	holds '.client.verdict == "limited" and .client.waiting_ratio > 0.5'
	holds '.client.checks | map(select(.ok == false) | .name) | index("thread_wanted_ratio")'
}

@test "open files that run out are the client's failures, not the service's" {
	start_slow
	LOAD_STATUS=0
	(ulimit -n 40 && venturi load -q --json "$TEMP/r.json" "$SERVE_URL" --rate 60 -d 2s --warmup none \
		--output-tokens 1) 2>"$TEMP/err" 3>&- || LOAD_STATUS=$?
	[ "$LOAD_STATUS" -eq 5 ]
	holds '.requests | .failures.client > 10 and .failures.connect == 0 and .ok > 5'
	holds '.requests.first_error | test("no open file left.*limit 40.*ulimit -n")'
	holds '.client.checks[] | select(.name == "own_limits") | .ok == false and .value > 10'
	grep -q "want of open files or ports" "$TEMP/err"
}

@test "ports that cannot suffice are said before the run, and those that run out are the client's" {
	unshare -n true 2>/dev/null || skip "no network of its own can be made here"
	cat >"$TEMP/slow.json" <<-S
		{ "name": "slow", "prefill": { "fixed_ms": 1000 }, "decode": { "fixed_ms": 1 },
		  "slots": 200, "batching": "continuous", "output_tokens": 1 }
	S
	cat >"$TEMP/inside" <<-'S'
		ip link set lo up || exit 77
		echo "50000 50009" >/proc/sys/net/ipv4/ip_local_port_range || exit 77
		venturi-serve --listen 127.0.0.1:8123 --simulate "$1/slow.json" >"$1/out" &
		until grep -q listening "$1/out"; do sleep 0.05; done
		venturi load http://127.0.0.1:8123 -c 11 -d 1s -q 2>"$1/before"
		echo $? >"$1/before.status"
		venturi load http://127.0.0.1:8123 --rate 60 -d 2s --warmup none --output-tokens 1 -q \
			--json "$1/r.json" 2>"$1/err"
		echo $? >"$1/status"
		kill $!
	S
	local status=0
	unshare -n sh "$TEMP/inside" "$TEMP" 3>&- || status=$?
	[ "$status" -ne 77 ] || skip "the range of ports cannot be set here"
	[ "$(cat "$TEMP/before.status")" -eq 4 ]
	grep -q "11 connections need more ports than the 10" "$TEMP/before"
	grep -q "ip_local_port_range" "$TEMP/before"
	[ "$(cat "$TEMP/status")" -eq 5 ]
	holds '.requests | .failures.client > 10 and .failures.connect == 0'
	holds '.requests.first_error | test("no port left.*50000 to 50009")'
}

@test "a suspicion never sends more requests than were asked for" {
	start_serve --simulate tests/data/simulate/continuous.json --schedule-log "$TEMP/log.jsonl"
	# Stopped in the middle, so that the client is doubted; the number is all that it may send.
	venturi load -q --json "$TEMP/r.json" "$SERVE_URL" -c 4 -n 100 --warmup none --output-tokens 20 \
		2>"$TEMP/err" 3>&- &
	local pid=$!
	sleep 0.7
	kill -STOP $pid
	sleep 0.4
	kill -CONT $pid
	wait $pid || true
	stop_serve
	[ "$(wc -l <"$TEMP/log.jsonl")" -eq 100 ]
}

@test "a check that is switched off says so, judges nothing and measures nothing more" {
	start_serve --simulate tests/data/simulate/continuous.json
	load_it --api http "$SERVE_URL/health" -c 8 -d 1s --warmup none --check-client off
	[ "$LOAD_STATUS" -eq 0 ]
	holds '.client.verdict == "unknown" and .client.why == "the check was switched off"'
	holds '.client.null_ceiling_per_s == null and (.client | has("halved") or has("checks") | not)'
}
