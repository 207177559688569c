#!/usr/bin/env bats
# What users of other load generators complain about, one test for each row of docs/load.md: what
# must hold instead, against servers that log what they did. "Row N" is the row of that page.

bats_require_minimum_version 1.5.0

load helpers
load serve_helpers
load standin_helpers

setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
}

teardown() {
	stop_serve
	stop_standin
	remove_temp
}

# script: starts a server that answers by the script on standard input.
script() {
	needs_python
	cat >"$TEMP/script"
	start_standin scripted.py "$TEMP/script" "$@"
}

# simulate JSON: starts a simulated service that logs to $LOG.
simulate() {
	echo "$1" >"$TEMP/simulate.json"
	LOG="$TEMP/log.jsonl"
	start_serve --simulate "$TEMP/simulate.json" --schedule-log "$LOG"
}

# chat OPTION..., completions OPTION...: a run against the scripted server.
chat() {
	measure --api openai-chat --model m "$@" "$STANDIN_URL"
}
completions() {
	measure --api openai-completions --model m "$@" "$STANDIN_URL"
}

# measure OPTION...: 4 requests one after the other, unless the options say otherwise, and no
# warm-up; the result in $TEMP/r.json.
measure() {
	local how=(-c 1)
	[[ " $* " != *" --rate "* ]] || how=()
	venturi load "${how[@]}" -n 4 --warmup none -q --json "$TEMP/r.json" "$@"
}

# holds FILTER: what must hold of the run; the log is in $log. Shows the run when it does not.
holds() {
	jq -e --slurpfile log "${LOG:-/dev/null}" "$1" "$TEMP/r.json" >/dev/null || {
		jq 'del(.histogram, .fingerprint, .series)' "$TEMP/r.json"
		echo "does not hold: $1"
		return 1
	}
}

@test "a chunk with the role alone starts no token: TTFT waits for the first, TTFB does not" {
	# row 1
	script <<-'S'
		delta {"role":"assistant","content":""}
		wait 200
		delta {"content":"a"}
		wait 10
		delta {"content":"b"}
		finish
		done
	S
	chat
	holds '.ttfb_ms.min < 200 and .ttft_ms.min >= 200 and .itl_ms.n == 4 and .itl_ms.min < 200'
}

@test "reasoning is output under both its names: TTFT ends with it, TTFO with what can be seen" {
	# row 2
	script <<-'S'
		delta {"role":"assistant","content":""}
		delta {"reasoning_content":"hm"}
		wait 150
		delta {"content":"a"}
		finish
		done
		---
		delta {"reasoning":"hm"}
		wait 150
		delta {"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}
		finish
		done
	S
	chat
	holds '.requests.ok == 4 and .ttft_ms.n == 4 and .ttft_ms.min < 150 and .itl_ms.n == 4'
	holds '.ttfo_ms.n == 4 and .ttfo_ms.min >= 150'
}

@test "events are told apart when one read brings several, and when several bring one" {
	# row 3
	script <<-'S'
		hold
		text a
		text b
		text c
		finish
		done
		flush
		---
		text a
		raw data: {"choices":[{"te
		wait 5
		raw xt":"\xe6\x97
		wait 5
		raw \xa5"}]}\n
		wait 5
		raw \n
		hold
		text c
		finish
		flush
		done
	S
	completions
	holds '.requests.ok == 4 and .itl_ms.n == 8 and .ttft_ms.n == 4'
	holds '(.throughput.events_per_s * .window.duration_s | round) == 12'
}

@test "lines may end in LF, CR, CRLF or now one, now the other, with all that the standard allows" {
	# row 4
	script <<-'S'
		nl LF
		text a
		text b
		finish
		done
		---
		nl CR
		text a
		text b
		finish
		done
		---
		nl CRLF
		text a
		text b
		finish
		done
		---
		raw \xef\xbb\xbf: a comment\r\n\r\nid: 1\ndata:{"choices":[{"text":"a"}]}\r
		wait 5
		raw \n\r\n: \r\rdata:{"choices":\r\ndata: [{"text":"b","finish_reason":"stop"}]}\n
		wait 5
		raw \ndata:[DONE]\r\r
	S
	completions -n 8
	holds '.requests.ok == 8 and .itl_ms.n == 8'
}

@test "an event is not a token: both are counted, by ids or usage, and their ratio is told" {
	# row 5
	script <<-'S'
		event {"choices":[{"text":"a b c","token_ids":[1,2,3]}]}
		event {"choices":[{"text":"d e","logprobs":{"tokens":["d","e"]},"finish_reason":"length"}]}
		done
	S
	completions
	holds '.tokens_source == "ids" and .tokens_per_event == 2.5'
	holds '.throughput | (.output_tokens_per_s / .events_per_s * 1000 | round) == 2500'
	holds '(.throughput.output_tokens_per_s * .window.duration_s | round) == 20'
	stop_standin
	script <<-'S'
		text a b c
		text d e
		finish
		usage 3 5
		done
	S
	completions
	holds '.tokens_source == "usage" and .tokens_per_event == 2.5 and .itl_ms.n == 4'
}

@test "a service that drafts tokens ahead is told by its usage, with a warning about its events" {
	# row 6: 8 tokens in 4 events are below 0.8 events a token, 10 in 9 are not
	local tokens_events
	for tokens_events in "8 4" "10 9"; do
		script <<-S
			${tokens_events#* } text a b
			finish
			usage 3 ${tokens_events% *}
			done
		S
		venturi load --api openai-completions --model m -c 1 -n 4 --warmup none --json "$TEMP/r.json" \
			"$STANDIN_URL" >"$TEMP/text"
		holds "(.throughput.output_tokens_per_s * .window.duration_s | round) == 4 * ${tokens_events% *}"
		[ "$tokens_events" = "8 4" ] || run ! grep "gathers tokens" "$TEMP/text"
		[ "$tokens_events" = "10 9" ] || grep -E "^Tokens +2 an event: the service gathers tokens" "$TEMP/text"
		stop_standin
	done
}

@test "tokens that come bundled in the first event do not make the others look fast" {
	# row 7: 8 tokens, then one every 20 ms: not 4 * 20 / 11 ms a token
	script <<-'S'
		event {"choices":[{"text":"a b c d e f g h","token_ids":[1,2,3,4,5,6,7,8]}]}
		wait 20
		event {"choices":[{"text":"i","token_ids":[9]}]}
		wait 20
		event {"choices":[{"text":"j","token_ids":[10]}]}
		wait 20
		event {"choices":[{"text":"k","token_ids":[11]}]}
		wait 20
		event {"choices":[{"text":"l","token_ids":[12],"finish_reason":"length"}]}
		done
	S
	completions
	holds '.tpot_ms.n == 4 and .tpot_ms.min >= 19.9'
}

@test "what arrives is never cut into tokens by the client, whose tokenizer only writes prompts" {
	# row 8: to this tokenizer each piece alone is several tokens
	script <<-'S'
		text unbelievable
		wait 10
		text incomprehensible
		wait 10
		text xylophone
		finish
		usage 9 3
		done
	S
	completions --tokenizer models/tales/tales-f32.gguf
	holds '.tokens_source == "usage" and (.throughput.output_tokens_per_s * .window.duration_s | round) == 12'
	holds '.itl_ms.n == 8 and .itl_ms.min >= 9.9 and .tpot_ms.min >= 9.9'
}

@test "usage is found in any event, with choices and without, and then is what counts" {
	# row 10
	script <<-'S'
		text a
		event {"choices":[{"text":"","finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":7}}
		done
		---
		text a
		finish
		usage 3 7
		done
		---
		event {"choices":[{"text":"a","finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":1}}
		event {"choices":[{"text":"b","finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":7}}
		done
		---
		text a
		event {"choices":[{"text":"","finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":7}}],"usage":null}
		done
	S
	completions
	holds '.tokens_source == "usage"'
	holds '(.throughput.output_tokens_per_s * .window.duration_s | round) == 28'
	holds '(.throughput.input_tokens_per_s * .window.duration_s | round) == 12'
}

@test "one stall inside a stream is seen: gaps are those of all streams, and each has a worst one" {
	# row 11
	script <<-'S'
		20 text a
		wait 300
		20 text b
		finish
		done
	S
	completions
	holds '.itl_ms.n == 4 * 39 and .itl_ms.max >= 300 and .itl_ms.p50 < 30'
	holds '.worst_gap_ms.n == 4 and .worst_gap_ms.min >= 300 and .tpot_ms.n == 4 and .tpot_ms.mean < 100'
}

@test "a prompt of 50,000 tokens is sent and a large answer drained at the speed of the service" {
	# row 12
	simulate '{"prefill": {"fixed_ms": 100}, "decode": {"fixed_ms": 1}, "context_tokens": 100000}'
	measure --input-tokens 50000 --output-tokens 4 "$SERVE_URL/v1/completions"
	stop_serve
	holds '.requests.ok == 4 and $log[0].prompt_tokens > 45000'
	# beside the upload, whose parsing is the service's work before it takes the request up
	holds '.ttft_ms.min < 300'
	script <<-S
		2000 text $(printf 'x%.0s' {1..2000})
		finish
		done
	S
	completions -c 2
	holds '.requests.ok == 4 and .itl_ms.n == 4 * 1999'
	holds '([$log[] | (.done_ns - .received_ns) / 1e6] | min) as $least
		| .latency_ms.min >= $least and .latency_ms.min < 1.3 * $least + 20'
}

@test "a client that gets no core blames itself: the run is invalid, whatever the stamps say" {
	# row 13: each time stopped, it finds in one piece what came meanwhile, with one stamp
	script <<-S
		$(for _ in {1..40}; do printf 'wait 25\ntext a\n'; done)
		finish
		done
	S
	venturi load --api openai-completions --model m -c 4 -n 24 --warmup none -q --json "$TEMP/r.json" \
		"$STANDIN_URL" 2>"$TEMP/err" 3>&- &
	local pid=$! status=0
	sleep 1
	for _ in 1 2 3; do
		kill -STOP $pid
		sleep 0.4
		kill -CONT $pid
		sleep 0.5
	done
	wait $pid || status=$?
	holds '.client.verdict == "limited" and .client.loop_lag_ms.max >= 300'
	[ "$status" -eq 5 ]
	grep -q "the measurement is invalid" "$TEMP/err"
}

@test "requests in flight are as many as asked for, also with a tokenizer at work" {
	# row 14
	simulate '{"service_ms": 300, "slots": 64, "output_tokens": 1}'
	measure --no-stream -c 64 -n 512 --input-tokens 256 --tokenizer models/tales/tales-f32.gguf \
		"$SERVE_URL/v1/completions"
	stop_serve
	holds '.requests.ok == 512'
	holds '([$log[] | .done_ns - .received_ns] | add) / (($log | map(.done_ns) | max) - ($log
		| map(.received_ns) | min)) > 0.8 * 64'
}

@test "three hundred at a time are three hundred, at once, and the series says so" {
	# row 15
	simulate '{"service_ms": 1000, "slots": 300, "output_tokens": 1}'
	measure --no-stream -c 300 -n 600 --threads 2 "$SERVE_URL/v1/completions"
	stop_serve
	# all of the first 300 are there before one of them is done
	holds '.requests.ok == 600 and ($log | map(.received_ns) | sort | .[299]) < ($log | map(.done_ns) | min)'
	holds '.config.concurrency == 300 and ([.series[].in_flight] | max) > 0.8 * 300'
}

@test "a rate whose gaps are shorter than a millisecond is sent as asked, and the result says both" {
	# row 16
	simulate '{"service_ms": 1, "slots": 256, "output_tokens": 1}'
	venturi load --no-stream --rate 1500 --arrival constant -d 2s --warmup none --check-client off \
		--json "$TEMP/r.json" "$SERVE_URL/v1/completions" >"$TEMP/text"
	stop_serve
	# gaps of a whole millisecond would make 2000; what is not yet sent at the end never will be
	holds '.client.offered_per_s == 1500 and .requests.attempted > 2900 and .requests.attempted <= 3000'
	holds '.client.achieved_per_s == .requests.attempted / 2 and ($log | length) == .requests.attempted'
	grep -E "^Offered +1500 req/s planned, 1[45][0-9.]+ req/s sent" "$TEMP/text"
}

@test "a cap on an open loop hides no wait and makes no burst: planned, sent and first byte are kept" {
	# row 17: 10 a second arrive, each takes 200 ms, one at a time: 5 a second leave
	simulate '{"service_ms": 200, "slots": 8, "output_tokens": 1}'
	measure --rate 10 --arrival constant --max-in-flight 1 -n 10 "$SERVE_URL/v1/completions"
	stop_serve
	# the k-th waits at least k * 100 ms in the client, and none is served beside another
	holds '.requests.ok == 10 and .requests.blocked == 9 and .client.offered_per_s == 10'
	holds '.response_ms.max >= 9 * 100 + 200 and .response_ms.max - .latency_ms.max > 500'
	holds '.ttfb_ms.max <= .latency_ms.max and .client.lateness_ms.max >= 9 * 100'
	holds '$log | sort_by(.received_ns) | all(range(1; length) as $i | .[$i].received_ns >= .[$i - 1].done_ns - 1e6; .)'
}

@test "constant is constant and Poisson is Poisson, by seed, in what is exported" {
	# row 18
	# the plan is written before anything is sent, here to nobody
	local n=0 law seed
	for law in constant:1 poisson:1 poisson:1 poisson:2 gamma_3:1; do
		seed=${law#*:}
		law=${law%:*}
		run -4 venturi load --api http --rate 2000 --arrival "${law/_/:}" --seed "$seed" -n 4000 \
			--export-schedule "$TEMP/$law.$seed.$((++n)).csv" http://127.0.0.1:1/
	done
	awk -F, 'FNR > 2 { d = $1 - last; if (d < 0.000499998 || d > 0.000500002) exit 1 }
		{ last = $1 }' "$TEMP/constant.1.1.csv"
	cmp "$TEMP/poisson.1.2.csv" "$TEMP/poisson.1.3.csv"
	run ! cmp "$TEMP/poisson.1.3.csv" "$TEMP/poisson.2.4.csv"
	# mean and coefficient of variation of 3999 gaps: standard errors 1.6 % and, for gamma of 3, 5 % and 7 %
	awk -F, 'FNR == 1 { files++ } FNR > 2 { d = $1 - last; n[files]++; sum[files] += d; squares[files] += d * d }
		{ last = $1 }
		END { want[1] = 1; want[2] = 3
			for (f in n) {
				mean = sum[f] / n[f]; cv = sqrt(squares[f] / n[f] - mean * mean) / mean
				print f, n[f], mean, cv
				if (mean < 0.0005 * (1 - 0.08 * want[f]) || mean > 0.0005 * (1 + 0.08 * want[f])) exit 1
				if (cv < want[f] * 0.75 || cv > want[f] * 1.25) exit 1
			} }' "$TEMP/poisson.1.2.csv" "$TEMP/gamma_3.1.5.csv"
}

@test "an answer without a token is a failure and has no times, not times of zero" {
	# row 19
	script <<-'S'
		finish
		usage 3 0
		done
	S
	run -5 completions
	holds '.requests.failures.empty == 4 and .requests.ok == 0'
	holds 'has("ttft_ms") or has("latency_ms") or has("itl_ms") or has("tpot_ms") | not'
	stop_standin
	script <<-'S'
		finish
		done
		---
		wait 50
		text a
		finish
		done
	S
	completions
	holds '.requests.failures.empty == 2 and .ttft_ms.n == 2 and .ttft_ms.min >= 50 and .latency_ms.min >= 50'
}

@test "an error inside a good status, a refusal, a cut and a missing end are failures by class" {
	# row 20
	simulate '{"service_ms": 4, "slots": 16, "output_tokens": 4, "seed": 7, "faults": {"cut_ratio": 0.1,
		"cut_after_tokens": 2, "error_event_ratio": 0.2, "error_event_after_tokens": 2, "status_ratio": 0.2,
		"empty_ratio": 0.1}}'
	measure -c 8 -n 300 "$SERVE_URL/v1/completions"
	stop_serve
	holds '.requests.failures.status == ($log | map(select(.status != 200)) | length) and .requests.failures.status > 0'
	holds '.requests.failures.error_event == ($log | map(select(.outcome == "failed" and .status == 200)) | length)'
	holds '.requests.failures.stream_cut == ($log | map(select(.outcome == "cut")) | length)'
	holds '.requests.failures.empty == ($log | map(select((.outcome | IN("stop", "length")) and .output_tokens == 0)) | length)'
	holds '[.requests.failures | .error_event, .stream_cut, .empty] | all(. > 0)'
	holds '.requests | .ok + ([.failures[]] | add) == 300'
	script <<-'S'
		text a
		event {"error":{"message":"EngineDeadError","code":500}}
		done
	S
	run -5 completions
	holds '.requests.failures.error_event == 4 and (.requests.first_error | test("EngineDeadError"))'
	stop_standin
	script <<-'S'
		text a
	S
	run -5 completions
	holds '.requests.failures.stream_cut == 4'
}

@test "to refuse requests improves no latency, and goodput counts all that were attempted" {
	# row 21
	simulate '{"service_ms": 40, "slots": 16, "output_tokens": 1, "faults": {"status_ratio": 0.4}}'
	measure --no-stream -c 4 -n 200 --slo e2e=30s "$SERVE_URL/v1/completions"
	stop_serve
	holds '($log | map(select(.status != 200)) | length) as $refused | $refused > 40
		and .requests.failed == $refused and .failed_latency_ms.n == $refused'
	holds '.latency_ms.n == .requests.ok and .latency_ms.min >= 40 and .failed_latency_ms.min < 40'
	holds '.goodput.attainment == .requests.ok / 200'
}

@test "no two prompts begin alike, in one run or in two with one seed, unless that is asked for" {
	# row 22
	script <<-'S'
		body {"choices":[{"text":"a","finish_reason":"stop"}]}
	S
	# Of two or three words in 12 characters two of 80 are the same once in a while; caches keep
	# blocks of 16 tokens or more, and 32 characters are fewer.
	completions --no-stream -n 40 --seed 5 --input-tokens 100
	completions --no-stream -n 40 --seed 5 --input-tokens 100
	jq -es 'length == 80 and (map(.prompt[:32]) | unique | length) == 80' "$LOG"
	completions --no-stream -n 40 --seed 5 --input-tokens 100 --no-salt
	completions --no-stream -n 40 --seed 5 --input-tokens 100 --no-salt
	jq -es '.[80:] | length == 80 and (map(.prompt) | .[:40] == .[40:])' "$LOG"
}

@test "a request follows its predecessor at once: the service is never idle in a closed loop" {
	# row 24
	simulate '{"service_ms": 40, "slots": 4, "output_tokens": 1}'
	measure --no-stream -c 4 -n 200 "$SERVE_URL/v1/completions"
	stop_serve
	holds '(([$log[] | .done_ns - .received_ns] | add) / 4) as $busy
		| $busy / (($log | map(.done_ns) | max) - ($log | map(.received_ns) | min)) > 0.85'
}

@test "a stream that is held back and sent at once is said to be, one that waits in a queue is not" {
	# row 30
	start_serve --simulate tests/data/simulate/buffered.json
	run venturi load "$SERVE_URL/v1/completions" -c 2 -n 16 --warmup none --output-tokens 32
	[[ "$output" == *"something holds the answer back"* ]]
	stop_serve
	start_serve --simulate tests/data/simulate/one_slot.json
	run venturi load "$SERVE_URL/v1/completions" -c 16 -n 32 --warmup none --output-tokens 12
	[[ "$output" != *"something holds the answer back"* ]]
}

@test "a server that closes idle connections fails nobody, nor does one that closes without a word" {
	# row 25
	script --idle 0.1 <<-'S'
		body {"choices":[{"text":"a","finish_reason":"stop"}]}
	S
	completions --no-stream --rate 4 --arrival constant -n 6
	holds '.requests.ok == 6 and .requests.failed == 0 and .requests.retried == 0 and ($log | length) == 6'
	stop_standin
	script <<-'S'
		text a
		finish
		done
		close
	S
	completions -c 2 -n 20
	# what closes thrice in a row is no longer trusted to stay open
	holds '.requests.ok == 20 and .requests.retried > 0 and .requests.retried <= 5 and ($log | length) == 20'
}

@test "timeouts give a run of the length that it had, and rates of what was answered" {
	# row 26
	script <<-'S'
		wait 1000
		---
		body {"choices":[{"text":"a","finish_reason":"stop"}]}
	S
	SECONDS=0
	completions --no-stream -n 8 --timeout 250ms
	holds '.window.duration_s > 4 * 0.25 and .window.duration_s < '$((SECONDS + 1))
	holds '.requests.failures.timeout == 4 and .requests.ok == 4'
	holds '(.throughput.requests_per_s * .window.duration_s | round) == 4'
	holds '.failed_latency_ms.min >= 250 and .latency_ms.n == 4'
	holds '.client.little_ratio > 0.9 and .client.little_ratio < 1.1'
}

@test "there are as many samples as there were answers: a stall makes none up" {
	# row 27
	simulate '{"service_ms": 2, "slots": 1, "output_tokens": 1, "stall": {"at_s": 0.5, "for_s": 1}}'
	measure --no-stream --rate 50 --arrival constant -n 100 "$SERVE_URL/v1/completions"
	stop_serve
	holds '($log | length) == 100 and .latency_ms.n == 100 and .response_ms.n == 100'
	holds '([.histogram.latency_ms[][1]] | add) == 100'
	# an open loop goes on: those that came into the stall waited, each as long as was left of it
	holds '(.latency_ms.max > 900) and ([.histogram.latency_ms[] | select(.[0] > 100) | .[1]] | add) >= 40'
}

@test "what is under way at the end is censored: neither ok nor failed, and no error" {
	# row 28
	simulate '{"service_ms": "mix:0.9*50,0.1*60000", "slots": 8, "output_tokens": 1, "seed": 3}'
	venturi load --no-stream -c 8 -d 1s --warmup none -q --json "$TEMP/r.json" "$SERVE_URL/v1/completions"
	holds '.requests.failed == 0 and .requests.censored > 0 and (.requests | has("first_error") | not)'
	holds '.requests | .attempted == .ok + .censored'
}

@test "one request, none, and nothing but failures make a whole report" {
	# row 29
	script <<-'S'
		text a
		finish
		done
	S
	completions -n 1
	holds '.requests == (.requests | .attempted = 1 | .ok = 1 | .failed = 0 | .censored = 0)'
	holds '.latency_ms.n == 1 and .latency_ms.p50 == null and .latency_ms.max > 0 and .latency_ms.sd == null'
	holds '(has("itl_ms") or has("tpot_ms")) | not'
	venturi load --api openai-completions --model m -n 1 --warmup none "$STANDIN_URL" >"$TEMP/text"
	run ! grep -iE '\b(nan|inf)\b' "$TEMP/text"
	stop_standin
	script <<-'S'
		status 500
		body {"error":{"message":"no engine"}}
	S
	run -5 completions
	holds '.requests.attempted == 4 and .requests.failures.status == 4 and .throughput.requests_per_s == 0'
	run -5 venturi load --api openai-completions --model m -n 4 --warmup none "$STANDIN_URL"
	run ! grep -iE '\b(nan|inf)\b' <<<"$output"
	holds '[.. | numbers | isnan or isinfinite] | any | not'
}
