#!/usr/bin/env bats
# What venturi load says of its own figures: how many samples they need, whether the window is steady,
# whether the service keeps up. The services are simulated, so that the right answer is known.

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

# measure OPTION...: the run in $TEMP/r.json and what the screen shows in $TEMP/shown.
measure() {
	venturi load "$SERVE_URL/v1/completions" --no-stream --output-tokens 1 --check-client off \
		--json "$TEMP/r.json" "$@" >"$TEMP/shown"
}

# is FILTER: a jq filter that must hold of the run; shows what was found when it does not.
is() {
	jq -e "$1" "$TEMP/r.json" >/dev/null || {
		jq '{stopped, saturation, window, whole_run, requests, latency_ms}' "$TEMP/r.json"
		return 1
	}
}

# Two kinds of requests, 20 and 60 ms, on 4 slots: 100 a second and no more.

@test "twice the rate that a service can do stops the run, which says so" {
	start_serve --simulate tests/data/simulate/capacity.json
	measure --rate 200 -d 40s --seed 3
	is '.stopped == "oversaturated" and .partial == false and .window.steady == false'
	is '.window.warmup_s + .window.duration_s < 20 and .requests.ok > 0 and .requests.censored > 0'
	is '.saturation | .offered_per_s > 1.5 * .completed_per_s and .in_flight_to > .in_flight_from
		and .latency_ms_to > .latency_ms_from'
	tr '\n' ' ' <"$TEMP/shown" | grep -q "Over-saturated, so the run was stopped after"
}

@test "a backlog does not stop a run that is to go on" {
	start_serve --simulate tests/data/simulate/capacity.json
	measure --rate 200 -d 6s --warmup none --on-saturation continue
	is '.stopped == null and .window.duration_s == 6 and .saturation.in_flight_to > 100'
	grep -q "Over-saturated, first seen after" "$TEMP/shown"
	# Arrivals go on to the end: 1200 expected, four deviations are 139.
	is '.requests.attempted > 1000'
}

@test "a service that keeps up is not stopped, whatever the arrivals" {
	start_serve --simulate tests/data/simulate/capacity.json
	for seed in 1 2 3; do
		measure --rate 70 -d 5s --seed $seed
		is '.stopped == null and (has("saturation") | not) and .window.duration_s == 5'
	done
}

@test "percentiles without enough samples are null, and both outputs say how many they need" {
	start_serve --simulate tests/data/simulate/roomy.json
	measure -c 4 -n 100 --warmup none
	is '.latency_ms | .n == 100 and .p90 > 0 and .p95 == null and .p99 == null and .p9999 == null
		and .needs == {p95: 130, p99: 662, p999: 6636, p9999: 66381} and .ci.p99 == null'
	tr '\n' ' ' <"$TEMP/shown" | grep -q "P50 needs 11, P90 64, P99 662, P99.9 6636"
	[ "$(venturi log -n 1 --json - | jq '.runs[0].latency_ms.p99')" = null ]
}

@test "intervals rest on independent samples, of which a queue has fewer than requests" {
	start_serve --simulate tests/data/simulate/capacity.json
	measure --rate 85 -d 10s --seed 2
	is '.latency_ms | .n_eff.p50 > 0 and .n_eff.p50 < 0.8 * .n
		and .ci.p50[0] <= .p50 and .p50 <= .ci.p50[1]'
	# too short for batches
	measure -c 4 -d 1s --warmup none
	is '.latency_ms | has("n_eff") | not'
	tr '\n' ' ' <"$TEMP/shown" | grep -q "as if the values were independent"
}

# The first 200 requests take 50 ms, the others 20: at 16 a time for 0.65 s, at 4 a time for 2.5 s.

# row 23
@test "a warm-up ends when the service has warmed up, and the whole run is kept beside the window" {
	# row 23 of docs/load.md
	start_serve --simulate tests/data/simulate/cold.json
	measure -c 16 -d 4s
	is '.window.warmup_s > 0.6 and .window.warmup_requests > 200'
	is '(.whole_run.duration_s - .window.warmup_s - .window.duration_s | fabs) < 1e-6'
	is '.whole_run | .ok > 200 and .latency_ms.n >= .ok'
	is '.latency_ms.mean < .whole_run.latency_ms.mean and .whole_run.requests_per_s < .throughput.requests_per_s'
	grep -q "^Whole run" "$TEMP/shown"
}

# row 28; a decay over a minute is in tests/unit/test_pulse.c
@test "a jump inside the window is found, dated and told" {
	# row 28 of docs/load.md
	start_serve --simulate tests/data/simulate/cold.json
	measure -c 4 -d 8s --warmup none
	is '.window.steady == false'
	is '.window.drift[] | select(.signal == "latency_ms") | .kind == "level_shift"
		and .from > 1.5 * .to and .at_s > 2.2 and .at_s < 4 and .p < 0.001'
	is '.window.drift | map(.signal) | contains(["requests_per_s"])'
	grep -q "^Jump .*mean latency jumps from" "$TEMP/shown"
}
