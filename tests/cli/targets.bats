#!/usr/bin/env bats
# venturi load with several URLs: what each of them gets.

load helpers
load serve_helpers

setup() {
	make_temp
}

teardown() {
	stop_serve
	SERVE_PID=${OTHER_PID:-}
	stop_serve
	remove_temp
}

# start_simulated NAME MS: a service whose answers take so long, with its log in $TEMP/NAME.jsonl.
start_simulated() {
	echo "{\"service_ms\": $2, \"slots\": 64, \"output_tokens\": 1}" >"$TEMP/$1.json"
	start_serve --simulate "$TEMP/$1.json" --schedule-log "$TEMP/$1.jsonl"
}

# start_two MS MS: sets OTHER_URL and SERVE_URL.
start_two() {
	start_simulated other "$1"
	OTHER_URL=$SERVE_URL OTHER_PID=$SERVE_PID
	start_simulated second "$2"
}

load_two() {
	venturi load "$OTHER_URL/v1/completions" "$SERVE_URL/v1/completions" --no-stream \
		--output-tokens 1 --json "$TEMP/r.json" -q "$@"
}

@test "requests go to several URLs one after the other, as each one's log says" {
	start_two 5 20
	load_two -c 8 --threads 2 -n 400 --warmup none
	stop_serve
	kill "$OTHER_PID" && wait "$OTHER_PID"
	jq -e '.requests.ok == 400 and .config.balance == "round-robin"
		and ([.targets[].attempted] | add) == 400
		and ([.targets[] | .attempted == .ok] | all)
		and (.targets[0].attempted - .targets[1].attempted | fabs) <= 2
		and .targets[0].latency_ms.p50 < .targets[1].latency_ms.p50' "$TEMP/r.json"
	[ "$(wc -l <"$TEMP/other.jsonl")" -eq "$(jq '.targets[0].ok' "$TEMP/r.json")" ]
	[ "$(wc -l <"$TEMP/second.jsonl")" -eq "$(jq '.targets[1].ok' "$TEMP/r.json")" ]
}

@test "the least busy of several URLs gets the next request: the same number is under way at each" {
	start_two 10 40
	load_two -c 16 -d 2s --balance least
	# By Little's law the rates are then as 1/10 to 1/40.
	jq -e '(.targets[0].ok / .targets[1].ok) as $r | $r > 3 and $r < 5.5' "$TEMP/r.json"
}

@test "an open loop spreads its arrivals over the URLs, which the fingerprint names" {
	start_two 5 5
	load_two --rate 200 --arrival constant -d 1s --warmup none
	jq -e '.requests.failed == 0 and (.targets[0].attempted - .targets[1].attempted | fabs) <= 1
		and .fingerprint."target.url.2" == .targets[1].url' "$TEMP/r.json"
}

@test "a URL that is not there is named before the load begins" {
	start_simulated other 5
	run venturi load "$SERVE_URL" http://127.0.0.1:1 -n 1
	[ "$status" -eq 4 ]
	[[ "$output" == *"127.0.0.1:1"* || "$output" == *"port 1"* ]]
	run venturi load --unix-socket "$TEMP/s" "$SERVE_URL" "$SERVE_URL" -n 1
	[ "$status" -eq 2 ]
	[[ "$output" == *"'--unix-socket' goes with one URL"* ]]
}
