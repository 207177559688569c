#!/usr/bin/env bats
# venturi load, as its user meets it: against venturi-serve, whose schedule log is the truth.

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

# One figure of the schedule log: quantile Q of done - received in ms, nearest rank.
log_quantile_ms() {
	jq -s --argjson q "$2" 'map((.done_ns - .received_ns) / 1e6) | sort
		| .[(((length * $q) | ceil) - 1)]' "$1"
}

# near VALUE WANT RATIO: fails with both numbers shown.
near() {
	jq -en --argjson v "$1" --argjson w "$2" --argjson r "$3" \
		'if (($v - $w) | fabs) <= $r * $w then true else "\($v) is not within \($r) of \($w)" | halt_error(1) end'
}

@test "quantiles and counts agree with the schedule log of a bimodal service" {
	needs_speed
	start_serve --simulate tests/data/simulate/bimodal.json --schedule-log "$TEMP/log.jsonl"
	venturi load "$SERVE_URL/v1/completions" --no-stream -c 8 -n 2000 --output-tokens 1 --json "$TEMP/r.json" -q
	stop_serve
	[ "$(jq .requests.ok "$TEMP/r.json")" -eq 2000 ]
	warm=$(jq .window.warmup_requests "$TEMP/r.json")
	[ "$(wc -l <"$TEMP/log.jsonl")" -eq $((2000 + warm)) ]
	tail -n 2000 "$TEMP/log.jsonl" >"$TEMP/window.jsonl"
	near "$(jq .latency_ms.p50 "$TEMP/r.json")" "$(log_quantile_ms "$TEMP/window.jsonl" 0.5)" 0.01
	near "$(jq .latency_ms.p99 "$TEMP/r.json")" "$(log_quantile_ms "$TEMP/window.jsonl" 0.99)" 0.02
}

@test "a stall of one second shows in response_ms, not in latency_ms, when arrivals are capped" {
	# row 17 of docs/load.md
	start_serve --simulate tests/data/simulate/stall.json
	venturi load "$SERVE_URL/v1/completions" --no-stream --rate 50 --arrival constant --max-in-flight 1 \
		-d 8s --warmup none --output-tokens 1 --json "$TEMP/r.json" -q
	# 50 arrivals fall into the stalled second: with 400 in the window, P95 of the wait is above
	# half a second only when they are counted from their planned moment.
	jq -e '.response_ms.p95 > 400 and .latency_ms.p95 < 100' "$TEMP/r.json"
	# all but the few that the cap lets through in that second were blocked
	jq -e '.requests.blocked >= 30 and .requests.blocked <= 120' "$TEMP/r.json"
}

@test "a cap holds for all threads together, and none of it lies idle" {
	echo '{"service_ms": 20, "slots": 64, "output_tokens": 1}' >"$TEMP/slow.json"
	start_serve --simulate "$TEMP/slow.json"
	venturi load "$SERVE_URL/v1/completions" --no-stream --rate 1000 --max-in-flight 3 --threads 2 \
		-d 1s --warmup none --on-saturation continue --json "$TEMP/r.json" -q || [ "$?" -eq 5 ]
	jq -e '.series[0].in_flight | . > 2.5 and . < 3.001' "$TEMP/r.json"
	# what is due after the last room was taken is no attempt
	jq -e '.requests | .blocked > 0.9 * .attempted' "$TEMP/r.json"
}

@test "a schedule is sent as it says, whatever the number of threads, and ends the run" {
	start_serve --simulate tests/data/simulate/stall.json --schedule-log "$TEMP/log.jsonl"
	printf 'seconds,input_tokens,output_tokens\n' >"$TEMP/s.csv"
	for i in 0 1 2 3 4 5 6 7 8 9; do echo "$((i / 5 * 2)).$i,8,1"; done >>"$TEMP/s.csv"
	venturi load "$SERVE_URL/v1/completions" --no-stream --arrival "schedule:$TEMP/s.csv" --time-scale 4 \
		--threads 3 --export-schedule "$TEMP/again.csv" --json "$TEMP/r.json" -q
	stop_serve
	jq -e '.requests.attempted == 10 and .window.warmup_requests == 0
		and (.config.arrival | startswith("schedule:"))
		and .fingerprint."load.arrival" == .config.arrival
		and ([.series[].requests] | add) == 10' "$TEMP/r.json"
	[ "$(jq -s 'map(select(.prompt_tokens == 8 and .output_tokens == 1)) | length' "$TEMP/log.jsonl")" -eq 10 ]
	# The service saw each of them within 50 ms of a quarter of its moment, from the first on.
	paste <(jq .received_ns "$TEMP/log.jsonl" | sort -n) <(tail -n +2 "$TEMP/s.csv" | cut -d, -f1 | sort -n) |
		awk 'NR == 1 { origin = $1 }
			{ d = ($1 - origin) / 1e9 - $2 / 4; if (d < -0.05 || d > 0.05) { print; bad = 1 } }
			END { exit bad || NR != 10 }'
	diff <(cut -d, -f1 "$TEMP/again.csv" | tail -n +2) \
		<(cut -d, -f1 "$TEMP/s.csv" | tail -n +2 | sort -n | awk '{ printf "%.9f\n", $1 / 4 }')
}

@test "a rate that changes offers what it says inside the window" {
	start_serve --simulate tests/data/simulate/stall.json
	venturi load "$SERVE_URL/v1/completions" --no-stream --rate 20..60 --arrival constant -d 2s \
		--output-tokens 1 --json "$TEMP/r.json" -q
	jq -e '.requests.attempted == 80 and .client.offered_per_s == 40 and .config.rate == 40
		and .config.arrival == "constant rate:20..60"' "$TEMP/r.json"
}

@test "arrivals that make no sense are refused" {
	for words in "--rate 0" "--rate x" "--rate 1..2 -n 5" "--rate 1@1s,2@0s" "--arrival gamma:x --rate 1" \
		"--arrival schedule:README.md" "--time-scale 2 --rate 1" "--export-schedule x" "--max-in-flight 2"; do
		# shellcheck disable=SC2086
		run venturi load http://127.0.0.1:1 $words
		echo "$words: $status $output"
		[ "$status" -eq 2 ] || { [ "$words" = "--arrival schedule:README.md" ] && [ "$status" -eq 3 ]; }
	done
}

@test "Ctrl-C keeps what was measured and says that it is partial" {
	start_serve --simulate tests/data/simulate/bimodal.json
	venturi load "$SERVE_URL/v1/completions" --no-stream -c 4 -d 60s --warmup none --json "$TEMP/r.json" -q &
	pid=$!
	sleep 2
	kill -INT $pid
	wait $pid
	jq -e '.partial and .requests.ok > 100 and .window.duration_s < 5' "$TEMP/r.json"
}

@test "a server that goes away ends the run early with what was measured" {
	start_serve --simulate tests/data/simulate/bimodal.json
	venturi load "$SERVE_URL/v1/completions" --no-stream -c 4 -d 60s --warmup none --json "$TEMP/r.json" -q &
	pid=$!
	sleep 1
	kill -KILL "$SERVE_PID"
	wait $pid
	jq -e '.partial and .requests.ok > 50 and .requests.failures.connect > 0 and .window.duration_s < 12' "$TEMP/r.json"
}

@test "requests add up: attempted is ok, failed and censored" {
	start_serve --simulate tests/data/simulate/bimodal.json
	venturi load "$SERVE_URL/v1/completions" --no-stream -c 16 -d 1s --json - -q |
		jq -e '.requests | .attempted == .ok + .failed + .censored and .ok > 0'
}

@test "a stream has TTFT, ITL and TPOT, counted by usage" {
	start_serve --simulate tests/data/simulate/continuous.json
	venturi load "$SERVE_URL" --api openai-chat -c 2 -n 20 --output-tokens 20 --json - -q |
		jq -e '.ttft_ms.n == 20 and .itl_ms.n == 380 and .tpot_ms.n == 20 and .tokens_source == "usage"'
}

@test "an unknown option is a usage error that names it" {
	run venturi load --nonsense http://127.0.0.1:1
	[ "$status" -eq 2 ]
	[[ "$output" == *"unknown option '--nonsense'"* ]]
}

@test "an unreachable host is refused with exit 4 and a sentence that names it" {
	run venturi load --api http http://127.0.0.1:1/
	[ "$status" -eq 4 ]
	[[ "$output" == *"cannot connect to '127.0.0.1:1'"* ]]
	run venturi load --api http http://no-such-host.invalid/
	[ "$status" -eq 4 ]
	[[ "$output" == *"no-such-host.invalid"* ]]
}

@test "https where plain HTTP is spoken is refused with a hint" {
	start_serve --simulate tests/data/simulate/bimodal.json
	run venturi load "${SERVE_URL/http:/https:}/v1/completions" --model m
	[ "$status" -eq 4 ]
	[[ "$output" == *"no TLS connection"* ]]
	[[ "$output" == *"http://"* ]]
}

@test "a full disk for the ledger loses nothing but the entry" {
	start_serve --simulate tests/data/simulate/bimodal.json
	run venturi load "$SERVE_URL/v1/completions" --no-stream -n 20 --json "$TEMP/r.json" -q --ledger /dev/full
	[ "$status" -eq 0 ]
	[[ "$output" == *"/dev/full"* ]]
	[ "$(jq .requests.ok "$TEMP/r.json")" -eq 20 ]
}

@test "the seconds of the series add up to the run, for streams and whole answers" {
	start_serve --simulate tests/data/simulate/continuous.json
	for how in --stream --no-stream; do
		for length in "-n 60" "-d 1s"; do
			# shellcheck disable=SC2086
			venturi load "$SERVE_URL" $how -c 4 $length --warmup none --output-tokens 5 -q --json - |
				jq -e '(.throughput.output_tokens_per_s * .window.duration_s) as $tokens
					| (.throughput.requests_per_s * .window.duration_s) as $requests
					| (.series | map(.output_tokens) | add - $tokens | fabs) < 1
						and (.series | map(.requests - .errors) | add - $requests | fabs) < 0.5
						and ([.histogram.latency_ms[][1]] | add) == .latency_ms.n
						and .latency_ms.n == .requests.ok'
		done
	done
}

@test "a whole answer among streams has its tokens counted, and none are made up for plain HTTP" {
	start_serve --simulate tests/data/simulate/bimodal.json
	echo '{"body":{"prompt":"x","max_tokens":3}}' >"$TEMP/in.jsonl"
	venturi load "$SERVE_URL" --api openai-completions --input "$TEMP/in.jsonl" -n 8 --warmup none -q \
		--json - | jq -e '([.series[].output_tokens] | add) == 24'
	venturi load "$SERVE_URL/health" -n 8 --warmup none -q --json - |
		jq -e '.series[0] | has("output_tokens") | not'
}

@test "the progress line fits the terminal, and is none with --quiet or without a terminal" {
	start_serve --simulate tests/data/simulate/bimodal.json
	local command="venturi load $SERVE_URL/v1/completions --no-stream -c 2 -d 1500ms --warmup none"
	script -qec "stty cols 40; $command 2>&1 >/dev/null" "$TEMP/typescript" >"$TEMP/shown" </dev/null
	tr '\r' '\n' <"$TEMP/shown" | sed 's/\x1b\[K//' >"$TEMP/lines"
	grep -q "req/s" "$TEMP/lines"
	run grep -E '^.{40,}' "$TEMP/lines"
	[ "$status" -eq 1 ]
	script -qec "$command -q" "$TEMP/typescript" </dev/null >"$TEMP/shown"
	[ ! -s "$TEMP/shown" ]
	$command 2>"$TEMP/err" >/dev/null
	[ ! -s "$TEMP/err" ]
}
