#!/usr/bin/env bats
# venturi diagnose, as its user meets it: against services whose fault is known, because it was made.

bats_require_minimum_version 1.5.0

load helpers
load serve_helpers

setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
}

teardown() {
	stop_serve
	remove_temp
}

# diagnose OPTION...: the diagnosis of the running service in $TEMP/d.json, the exit code in $status.
diagnose() {
	run -"$1" venturi diagnose "$SERVE_URL/v1/completions" --json "$TEMP/d.json" -q "${@:2}"
}

# is FILTER: a jq filter that must hold of the diagnosis; shows what was found when it does not.
is() {
	jq -e "def state(\$id): .causes[] | select(.id == \$id) | .state; $1" "$TEMP/d.json" >/dev/null || {
		jq '{verdict, kind, summary, warnings, sla, curve,
			causes: [.causes[] | select(.state != "not_examined")]}' "$TEMP/d.json"
		return 1
	}
}

@test "a service that serves one request at a time is stuck, and lacks batching or slots" {
	start_serve --simulate tests/data/simulate/one_slot.json
	diagnose 1 --output-tokens 16 --sla p99=60ms -c 8 --budget 20s
	is '.verdict == "bottleneck" and .kind == "throughput_stuck"'
	is '.causes[0].id | IN("no_batching", "too_few_slots")'
	is 'state("no_batching") == "probable" and state("too_few_slots") == "probable"'
	is 'state("queue_saturation") == "probable" and state("stream_buffering") == "excluded"'
	is '.sla.met == false and .sla.concurrency == 8 and .next.variable != null'
	# X = 1/(2 + 15 * 1 ms) = 58.8 at every concurrency, less on a busy machine
	is '[.curve[] | select(.concurrency <= 8) | .requests_per_s | . > 45 and . < 60] | all'
}

@test "every cause of the catalogue appears once, and facts carry unit and source" {
	start_serve --simulate tests/data/simulate/roomy.json
	diagnose 0 --no-stream --output-tokens 1 -c 4 --budget 10s
	is '(.causes | length) == 63 and ([.causes[].id] | unique | length) == 63'
	is '[.causes[].facts[] | (.unit and .source and (.value != null))] | all'
	is '[.causes[] | select(.state == "not_examined") | (.needs | length) > 0] | all'
	is '[.causes[] | select(.state != "not_examined") | (.why | length) > 0] | all'
}

@test "a service with room is healthy, and the diagnosis says how much is left and stops" {
	# row 31 of docs/load.md
	start_serve --simulate tests/data/simulate/roomy.json
	diagnose 0 --no-stream --output-tokens 1 --sla p99=100ms -c 4 --budget 15s
	is '.verdict == "healthy" and .kind == "healthy" and .sla.met and .next == null'
	is 'state("client_saturated") == "excluded" and state("no_keepalive") == "excluded"'
	is '[.causes[] | select(.state == "confirmed") | .id] - ["offered_load_low"] == []'
}

@test "delays of Nagle's algorithm are confirmed by acknowledging at once" {
	start_serve --simulate tests/data/simulate/delayed_ack.json
	diagnose 1 --no-stream --output-tokens 1 --sla p99=30ms -c 4 --budget 25s
	is '.kind == "slow_alone" and .causes[0].id == "nagle_delayed_ack"'
	is 'state("nagle_delayed_ack") == "confirmed" and .next.variable == "tcp_nodelay"'
}

@test "a stream that is held back is seen as buffered" {
	# row 30 of docs/load.md
	start_serve --simulate tests/data/simulate/buffered.json
	diagnose 1 --output-tokens 32 --sla ttft_p99=20ms -c 4 --budget 12s
	is 'state("stream_buffering") == "probable" and .next.variable == "response_buffering"'
}

@test "connections that nobody answers are not hidden by those that are served" {
	start_serve --simulate tests/data/simulate/few_connections.json
	diagnose 1 --no-stream --output-tokens 1 --sla p99=200ms -c 8 --budget 15s
	is '.verdict == "bottleneck" and state("client_conn_limit") == "probable"'
	is '.sla.met == false and .next.variable == "connections" and .next.from == "4"'
}

@test "a service that fails everything gives no verdict" {
	start_serve --simulate tests/data/simulate/one_slot.json
	run -5 venturi diagnose "$SERVE_URL/nothing" --api http --json "$TEMP/d.json" -q --budget 5s
	is '.verdict == "inconclusive" and .kind == null'
	is '[.causes[] | .state == "not_examined"] | all'
	is '.warnings | map(test("404")) | any'
}

@test "Ctrl-C keeps what was found and says that it is partial" {
	start_serve --simulate tests/data/simulate/one_slot.json
	venturi diagnose "$SERVE_URL/v1/completions" --json "$TEMP/d.json" -q --budget 60s 3>&- &
	pid=$!
	sleep 6
	kill -INT $pid
	wait $pid
	is '.partial and (.curve | length) >= 1 and (.causes | length) == 63'
}

@test "a target that cannot be read is refused before anything is measured" {
	run -2 venturi diagnose http://127.0.0.1:1/v1/completions --sla 'speed=1s'
	[[ "$output" == *"'speed=1s'"* && "$output" == *p99=150ms* ]]
}

@test "the budget is kept" {
	start_serve --simulate tests/data/simulate/one_slot.json
	start=$SECONDS
	diagnose 1 --output-tokens 16 --sla p99=60ms --budget 5s
	[ $((SECONDS - start)) -le 8 ]
	is '.warnings | map(test("concurrency 8 was assumed")) | any'
}
