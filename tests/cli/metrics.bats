#!/usr/bin/env bats
# venturi load and the service's own counters, against a server whose log is the truth.

load helpers
load serve_helpers

setup() {
	command -v python3 >/dev/null || skip "there is no python3 for the server"
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
}

teardown() {
	stop_counting
	stop_serve
	remove_temp
}

# start_counting OPTION...: on a free port; sets COUNTING_URL and logs to $LOG.
start_counting() {
	LOG="$TEMP/log.jsonl"
	: >"$LOG"
	: >"$TEMP/port"
	"$BATS_TEST_DIRNAME/../servers/counting.py" --log "$LOG" "$@" >"$TEMP/port" 2>"$TEMP/counting.err" 3>&- &
	COUNTING_PID=$!
	wait_for 10 test -s "$TEMP/port"
	COUNTING_URL="http://127.0.0.1:$(cat "$TEMP/port")"
}

stop_counting() {
	[ -z "${COUNTING_PID-}" ] || kill "$COUNTING_PID" 2>/dev/null || true
	COUNTING_PID=
}

# measure OPTION...: the JSON is $TEMP/r.json, what was said $TEMP/said.
measure() {
	venturi load --api openai-completions --input-tokens 10 --output-tokens 5 --check-client off \
		--json "$TEMP/r.json" "$@" "$COUNTING_URL" >"$TEMP/shown" 2>"$TEMP/said"
}

# holds FILTER: of the run, whose signals are $s by their names and whose server's log is $log.
holds() {
	jq -e --slurpfile log "$LOG" '(.server.signals | map({(.name): .}) | add) as $s | '"$1" "$TEMP/r.json"
}

pages() {
	jq -s 'map(select(.page)) | length' "$LOG"
}

@test "what the service counted during the run is what it did, not what it had done before" {
	start_counting
	measure -c 4 -n 40 --warmup none
	holds '.server.pages[0].software == "vllm" and .server.pages[0].failed == 0'
	holds '($log | map(select(.prompt))) as $done | ($done | length) == 40
		and $s.server_requests_ok_per_s.delta == 40
		and $s.server_prompt_tokens_per_s.delta == ($done | map(.prompt) | add)
		and $s.server_generation_tokens_per_s.delta == 200
		and $s.server_requests_failed_per_s.delta == 0
		and $s.server_requests_ok_per_s.state == "measured"'
	# the true times to the first token: the mean is exact, the percentiles lie in their buckets
	holds '($log | map(.ttft_ms | select(.)) | add / length) as $mean
		| $s.server_ttft_ms.n == 40 and (($s.server_ttft_ms.mean - $mean) | fabs) < 0.001
		and $s.server_ttft_ms.p50 >= 5 and $s.server_ttft_ms.state == "estimated"
		and ((.ttft_ms.mean - $mean - .server.ttft_beyond_ms) | fabs) < 0.001'
	# nothing is told of what this page has not
	holds '$s.server_kv_used_ratio | .state == "not_supported" and .source == null and .reason
		and (has("mean") | not)'
}

@test "a difference is that between the pages it names, the warm-up left out" {
	start_counting
	measure -c 4 -n 60 --warmup 30
	# pages: the look before the run, the window's opening, its seconds, its end
	holds '([$log | to_entries[] | select(.value.page)][1].key) as $from
		| ([$log | to_entries[] | select(.value.page)][-1].key) as $to
		| ($log[$from:$to] | map(select(.prompt)) | length) as $n
		| $n >= 50 and $n <= 75 and $s.server_requests_ok_per_s.delta == $n
		and .server.pages[0].read == ($log | map(select(.page)) | length)
		and .server.pages[0].from_s >= 0 and .server.pages[0].from_s < 0.5
		and .server.pages[0].to_s > .window.duration_s - 0.1'
}

@test "gauges and rates are a series on the axis of the load" {
	start_counting
	measure -c 3 -d 3s --warmup none
	holds '$s.server_requests_running | .n >= 1 and .max <= 3 and .unit == "1"
		and (.series | length) == .n and all(.series[]; .[0] >= 0 and .[0] <= 3)'
	holds '.server.pages[0] as $p | $s.server_requests_ok_per_s | .n >= 1 and .n <= 4 and .delta > 0
		and (.delta / .mean - ($p.to_s - $p.from_s) | fabs) < 0.001'
	grep -q '^Server .*vllm at http://127.0.0.1' "$TEMP/shown"
	grep -q '^Busy .*running' "$TEMP/shown"
	grep -q '^TTFT .*network and client' "$TEMP/shown"
}

@test "a warm prefix cache is warned of, unless the prompts were meant to share" {
	# row 22 of docs/load.md
	start_counting --hit-ratio 0.6
	measure -c 4 -n 20 --warmup none
	holds '($s.server_prefix_cache_hit_ratio.mean - 0.6 | fabs) < 1e-6
		and (.server.warning | test("60 %.*--prefix-share"))'
	grep -q "warning: .*prefix cache answered 60 %" "$TEMP/said"
	grep -q '^Prefix cache .*60 %' "$TEMP/shown"
	measure -c 4 -n 20 --warmup none --prefix-share 0.6
	holds '.server | has("warning") | not'
	run grep warning "$TEMP/said"
	[ "$status" -ne 0 ]
	stop_counting
	start_counting --hit-ratio 0.05
	measure -c 4 -n 20 --warmup none
	holds '.server | has("warning") | not'
}

@test "a service that started anew is told, and what it counted since is kept" {
	start_counting --reset-at 3
	measure -c 2 -d 3s --warmup none
	# all but what was done between the page before the reset and the reset itself
	holds '([$log | to_entries[] | select(.value.page) | .key]) as $at
		| (($log[$at[0]:$at[1]] + $log[$at[2]:$at[-1]]) | map(select(.prompt)) | length) as $n
		| $s.server_requests_ok_per_s | .delta == $n and .state == "estimated"
		and (.reason | test("started anew"))'
	stop_counting
	start_counting --page turns
	measure -c 2 -d 3500ms --warmup none
	holds '$s.server_requests_ok_per_s.state == "not_counted"
		and ($s.server_requests_ok_per_s.reason | test("several servers"))'
}

@test "without a page of metrics the run says nothing of it, after one look" {
	for page in none html json drip huge; do
		start_counting --page $page
		measure -c 2 -n 6 --warmup none
		jq -e '.requests.ok == 6 and (has("server") | not)' "$TEMP/r.json"
		[ ! -s "$TEMP/said" ]
		[ "$(pages)" -eq 1 ]
		stop_counting
	done
}

@test "a page that was named and cannot be read is told, and the load goes on" {
	for page in none hang; do
		start_counting --page $page
		measure -c 2 -n 6 --warmup none --metrics "$COUNTING_URL"
		jq -e '.requests.ok == 6 and (.server.pages[0] | .software == null and .failed >= 1
			and (.reason | length > 10)) and .server.signals == []' "$TEMP/r.json"
		grep -q "warning: no metrics from '$COUNTING_URL'" "$TEMP/said"
		stop_counting
	done
	start_counting
	measure -c 2 -n 6 --warmup none --metrics http://127.0.0.1:9/metrics
	jq -e '.requests.ok == 6 and .server.pages[0].reason' "$TEMP/r.json"
}

@test "--metrics none reads nothing, and pages can be several" {
	start_counting
	measure -c 2 -n 6 --warmup none --metrics none
	jq -e 'has("server") | not' "$TEMP/r.json"
	[ "$(pages)" -eq 0 ]
	start_serve --simulate tests/data/simulate/roomy.json
	measure -c 2 -n 6 --warmup none --metrics "$COUNTING_URL/metrics" --metrics "$SERVE_URL" \
		-H 'Authorization: Bearer secret'
	jq -e '(.server.pages | map(.software)) == ["vllm", "venturi-serve"]
		and ([.server.signals[] | select(.name == "server_prompt_tokens_per_s") | .delta > 0]) == [true, false]' \
		"$TEMP/r.json"
	# the secret goes to the target
	jq -es '[.[] | select(.page) | .secret] | .[0] == "Bearer secret"' "$LOG"
	# and to nobody else
	COUNTING_URL=$SERVE_URL
	venturi load --api openai-completions -n 2 -c 1 --warmup none --check-client off -q \
		--metrics "http://127.0.0.1:$(cat "$TEMP/port")" -H 'Authorization: Bearer secret' "$SERVE_URL"
	jq -es '[.[] | select(.page) | .secret] | .[-1] == null' "$LOG"
	run venturi load --metrics none --metrics "$SERVE_URL" "$SERVE_URL"
	[ "$status" -eq 2 ]
	run venturi load --metrics 'http://host:port/' "$SERVE_URL"
	[ "$status" -eq 2 ]
}

@test "venturi-serve's own counters agree with its schedule log" {
	start_serve --simulate tests/data/simulate/two_slots.json --schedule-log "$TEMP/schedule"
	LOG="$TEMP/schedule"
	COUNTING_URL=$SERVE_URL
	measure -c 6 -n 30 --warmup none
	holds '.server.pages[0].software == "venturi-serve"
		and $s.server_requests_ok_per_s.delta == 30 and $s.server_e2e_ms.n == 30
		and $s.server_generation_tokens_per_s.delta == 150'
	# two slots: never more at a time, the others wait, and waiting is most of the time to the
	# first token
	holds '$s.server_requests_running.n == 0 or $s.server_requests_running.max <= 2'
	holds '$s.server_queue_ms.mean > 0 and $s.server_queue_ms.mean < $s.server_ttft_ms.mean
		and $s.server_ttft_ms.mean < .ttft_ms.mean'
}
