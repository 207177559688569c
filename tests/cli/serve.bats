#!/usr/bin/env bats
# venturi-serve as a client and an operator meet it: a real process, asked with curl.

load helpers
load serve_helpers

DATA=tests/data/simulate
QUICK='{"service_ms": 1, "output_tokens": 3, "slots": 64'

teardown() {
	stop_serve
}

# simulate KEYS: a quick service with more members of its file, as JSON.
simulate() {
	echo "$QUICK${1:+, $1}}" >"$BATS_TEST_TMPDIR/sim.json"
	shift $(($# > 0))
	start_serve --simulate "$BATS_TEST_TMPDIR/sim.json" --schedule-log "$BATS_TEST_TMPDIR/log.jsonl" "$@"
}

# ask PATH [BODY]: prints the body of the answer; the status is in $CODE.
ask() {
	CODE=$(curl -sS -o "$BATS_TEST_TMPDIR/answer" -w '%{http_code}' "$SERVE_URL$1" ${2:+--data-binary "$2"})
	cat "$BATS_TEST_TMPDIR/answer"
}

# check_answer FILTER: the last answer is JSON for which the filter holds.
check_answer() {
	jq -e "$1" "$BATS_TEST_TMPDIR/answer" >/dev/null || {
		cat "$BATS_TEST_TMPDIR/answer"
		return 1
	}
}

# Sends bytes as they are and prints what comes back within a second.
raw() {
	local port=${SERVE_URL##*:}
	exec 4<>"/dev/tcp/127.0.0.1/$port"
	printf '%b' "$1" >&4
	timeout 1 cat <&4 || true
	exec 4>&-
}

# lacks PATTERN FILE: fails when a line matches ("!" alone would not fail a test).
lacks() {
	if grep -E "$1" "$2"; then
		return 1
	fi
}

# metric NAME VALUE: is that what /metrics says now?
metric() {
	ask /metrics | grep -qE "^venturi_serve_$1\{.*\} $2\$"
}

log_has() {
	jq -se "$1" "$BATS_TEST_TMPDIR/log.jsonl" >/dev/null || {
		cat "$BATS_TEST_TMPDIR/log.jsonl"
		return 1
	}
}

@test "a completion has the tokens asked for, with usage" {
	simulate
	ask /v1/completions '{"prompt": "one two three", "max_tokens": 5}'
	[ "$CODE" = 200 ]
	check_answer '.object == "text_completion" and .choices[0].finish_reason == "length"
		and .usage == {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}'
}

@test "a chat answers as the assistant" {
	simulate
	ask /v1/chat/completions '{"messages": [{"role": "user", "content": "hi"}]}'
	[ "$CODE" = 200 ]
	check_answer '.object == "chat.completion" and .choices[0].message.role == "assistant"
		and (.choices[0].message.content | length > 0) and .choices[0].finish_reason == "stop"'
}

@test "a chat stream is role, one event per token, reason, usage and [DONE]" {
	simulate
	curl -sSN "$SERVE_URL/v1/chat/completions" -d '{"messages": [{"role": "user", "content": "hi"}],
		"stream": true, "stream_options": {"include_usage": true}, "max_tokens": 4}' >"$BATS_TEST_TMPDIR/answer"
	[ "$(tail -n 2 "$BATS_TEST_TMPDIR/answer" | head -n 1)" = "data: [DONE]" ]
	grep '^data: {' "$BATS_TEST_TMPDIR/answer" | cut -c 7- | jq -se '
		length == 7 and .[0].choices[0].delta.role == "assistant"
		and ([.[1:5][].choices[0].delta.content | length > 0] | all)
		and .[5].choices[0].finish_reason == "length"
		and .[6].choices == [] and .[6].usage.completion_tokens == 4
		and ([.[].object] | unique == ["chat.completion.chunk"]) and ([.[].id] | unique | length == 1)'
}

@test "embeddings are unit vectors that depend on the input alone" {
	simulate '"embedding_dimensions": 16'
	ask /v1/embeddings '{"input": ["a", "b", "a"]}'
	check_answer '[.data[].embedding | length == 16 and ((map(. * .) | add) - 1 | fabs < 1e-5)] | all'
	check_answer '.data[0].embedding == .data[2].embedding and .data[0].embedding != .data[1].embedding'
}

@test "models, health and metrics answer" {
	simulate '"name": "a \"model\""'
	ask /v1/models
	check_answer '.data[0].id == "a \"model\"" and .data[0].max_model_len == 32768'
	ask /health
	check_answer '.status == "ok"'
	ask /v1/completions '{"prompt": [1, 2], "max_tokens": 7}' >/dev/null
	ask /metrics >"$BATS_TEST_TMPDIR/metrics"
	for line in 'venturi_serve_num_requests_running{model_name="a \"model\""} 0' \
		'venturi_serve_prompt_tokens_total{model_name="a \"model\""} 2' \
		'venturi_serve_generation_tokens_total{model_name="a \"model\""} 7' \
		'venturi_serve_requests_total{model_name="a \"model\"",finished_reason="length"} 1' \
		'venturi_serve_time_to_first_token_seconds_count{model_name="a \"model\""} 1' \
		'venturi_serve_inter_token_latency_seconds_bucket{model_name="a \"model\"",le="+Inf"} 6'; do
		grep -Fx "$line" "$BATS_TEST_TMPDIR/metrics"
	done
}

@test "every refused request is an error in OpenAI's form with its status" {
	simulate '"context_tokens": 8, "name": "m"' --max-body 4KiB
	while IFS='|' read -r path want body; do
		ask "$path" "$body" >/dev/null
		[ "$CODE" = "$want" ] || { echo "$path $body: $CODE"; return 1; }
		check_answer '.error | (.message | length > 0) and (.type | length > 0) and has("code")'
	done <<-'END'
		/v1/completions|400|{
		/v1/completions|400|{"prompt": 1}
		/v1/completions|400|{"prompt": "1 2 3 4 5 6 7 8"}
		/v1/completions|400|{"prompt": "1 2 3 4", "max_tokens": 5}
		/v1/completions|400|{"prompt": "1", "temperature": "warm"}
		/v1/completions|404|{"prompt": "1", "model": "another"}
		/v1/chat/completions|400|{"prompt": "1"}
		/v1/embeddings|400|{"input": {}}
		/v1/nothing|404|
		/config|404|
		/v1/completions|405|
		/v1/models|405|{}
	END
	ask /v1/completions "{\"prompt\": \"$(head -c 8000 /dev/zero | tr '\0' x)\"}" >/dev/null
	[ "$CODE" = 413 ]
	printf '{"prompt": "\xff"}' >"$BATS_TEST_TMPDIR/body"
	ask /v1/completions "@$BATS_TEST_TMPDIR/body" >/dev/null
	[ "$CODE" = 400 ]
	ask /v1/completions '{"prompt": "1"}' >/dev/null
	[ "$CODE" = 200 ]
}

@test "garbage instead of HTTP is answered or closed, and the service goes on" {
	simulate
	raw 'garbage\r\n\r\n' >/dev/null
	raw '\x00\x01\x02\x03' >/dev/null
	raw 'POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n' >/dev/null
	ask /health
	[ "$CODE" = 200 ]
}

@test "a full queue is answered 429" {
	echo '{"service_ms": 60000, "slots": 1}' >"$BATS_TEST_TMPDIR/slow.json"
	start_serve --simulate "$BATS_TEST_TMPDIR/slow.json" --max-queue 2
	for _ in 1 2 3; do
		curl -sS -o /dev/null "$SERVE_URL/v1/completions" -d '{"prompt": "a"}' 2>/dev/null &
	done
	wait_for 10 metric num_requests_waiting 2
	metric num_requests_running 1
	ask /v1/completions '{"prompt": "a"}' >/dev/null
	[ "$CODE" = 429 ]
	check_answer '.error.type == "rate_limit_error"'
}

@test "the schedule log has one true line per request" {
	simulate
	for _ in 1 2 3; do ask /v1/completions '{"prompt": "a", "max_tokens": 4}' >/dev/null; done
	ask /v1/completions 'no JSON' >/dev/null
	ask /health >/dev/null
	kill -KILL "$SERVE_PID" # nothing that had ended may be lost
	log_has 'length == 4 and ([.[:3][] | .status == 200 and .outcome == "length"
		and (.token_ns | length == 4 and . == sort)
		and .received_ns <= .started_ns and .started_ns <= .first_token_ns
		and .first_token_ns == .token_ns[0] and .token_ns[3] <= .made_ns and .made_ns <= .done_ns] | all)
		and .[3].status == 400 and .[3].outcome == "refused" and .[3].started_ns == null'
}

@test "two slots serve two at a time" {
	echo '{"service_ms": 200, "slots": 2, "output_tokens": 1}' >"$BATS_TEST_TMPDIR/two.json"
	start_serve --simulate "$BATS_TEST_TMPDIR/two.json" --schedule-log "$BATS_TEST_TMPDIR/log.jsonl"
	for _ in 1 2 3 4; do
		curl -sS -o /dev/null "$SERVE_URL/v1/completions" -d '{"prompt": "a"}' &
		pids+=($!)
	done
	wait "${pids[@]}"
	log_has 'length == 4 and (sort_by(.started_ns) | .[2].started_ns - .[0].started_ns) as $d
		| $d > 190e6 and $d < 260e6'
}

@test "a client that leaves frees its place and is logged as cancelled" {
	echo '{"service_ms": 60000, "slots": 1}' >"$BATS_TEST_TMPDIR/slow.json"
	start_serve --simulate "$BATS_TEST_TMPDIR/slow.json" --schedule-log "$BATS_TEST_TMPDIR/log.jsonl"
	for stream in false true false; do
		curl -sSN -o /dev/null "$SERVE_URL/v1/completions" -d "{\"prompt\": \"a\", \"stream\": $stream}" 2>/dev/null &
		pids+=($!)
	done
	wait_for 10 metric num_requests_waiting 2
	kill "${pids[@]}"
	wait_for 10 metric num_requests_waiting 0
	wait_for 10 metric num_requests_running 0
	stop_serve
	log_has 'length == 3 and ([.[].outcome] | unique == ["cancelled"])'
}

@test "the same seed gives the same service times" {
	for i in 1 2; do
		echo '{"service_ms": "lognormal:10,1", "seed": 5}' >"$BATS_TEST_TMPDIR/seed.json"
		start_serve --simulate "$BATS_TEST_TMPDIR/seed.json" --schedule-log "$BATS_TEST_TMPDIR/log.jsonl"
		for _ in 1 2 3 4 5; do ask /v1/completions '{"prompt": "a"}' >/dev/null; done
		stop_serve
		jq '(.due_ns - .received_ns) / 1000 | round' "$BATS_TEST_TMPDIR/log.jsonl" >"$BATS_TEST_TMPDIR/times.$i"
	done
	# service begins at the latest when the executor sees the request: within a few us
	paste "$BATS_TEST_TMPDIR/times.1" "$BATS_TEST_TMPDIR/times.2" | awk '{ d = $1 - $2; if (d < -300 || d > 300) exit 1 }'
}

@test "faults come in their shares: cut streams, error events, statuses, empty answers" {
	for fault in cut error_event status empty; do
		simulate "\"faults\": {\"${fault}_ratio\": 1}"
		curl -sSN -i "$SERVE_URL/v1/completions" -d '{"prompt": "a", "stream": true}' >"$BATS_TEST_TMPDIR/$fault" 2>&1 || true
		stop_serve
	done
	lacks DONE "$BATS_TEST_TMPDIR/cut"
	grep -q '^data: {"error"' "$BATS_TEST_TMPDIR/error_event"
	grep -q '503' "$BATS_TEST_TMPDIR/status"
	grep -q DONE "$BATS_TEST_TMPDIR/empty"
	lacks '"text":"[^"]' "$BATS_TEST_TMPDIR/empty"
}

@test "a stream can end its lines in CR LF, gather tokens and reason aloud" {
	simulate '"stream": {"crlf": true, "tokens_per_event": 2, "reasoning_tokens": 2, "role_first": false}'
	curl -sSN "$SERVE_URL/v1/chat/completions" -d '{"messages": [{"role": "user", "content": "a"}],
		"stream": true, "max_tokens": 4}' >"$BATS_TEST_TMPDIR/answer"
	[ "$(grep -c $'^data: .*\r$' "$BATS_TEST_TMPDIR/answer")" -eq 4 ]
	tr -d '\r' <"$BATS_TEST_TMPDIR/answer" | grep '^data: {' | cut -c 7- | jq -se '
		.[0].choices[0].delta.reasoning_content and .[0].choices[0].delta.role == "assistant"
		and .[1].choices[0].delta.content and .[2].choices[0].finish_reason == "length"'
}

# stream_times: when the first line of a stream came and when the last, in ms after the request. One
# process reads the clock, or a busy machine would time how long processes take to start.
stream_times() {
	python3 - "$SERVE_URL/v1/completions" <<-'END'
		import sys, time, urllib.request
		begin = time.monotonic()
		with urllib.request.urlopen(sys.argv[1], b'{"prompt": "a", "stream": true}', timeout=20) as answer:
		    assert answer.readline().startswith(b"data: ")
		    first = time.monotonic()
		    assert answer.read().endswith(b"data: [DONE]\n\n")
		print(round((first - begin) * 1000), round((time.monotonic() - begin) * 1000))
	END
}

@test "a buffered stream comes in one piece at its end" {
	for bytes in 0 100000; do
		echo "{\"service_ms\": 600, \"output_tokens\": 6, \"stream\": {\"buffer_bytes\": $bytes}}" >"$BATS_TEST_TMPDIR/b.json"
		start_serve --simulate "$BATS_TEST_TMPDIR/b.json"
		read -r first last < <(stream_times)
		stop_serve
		echo "buffer of $bytes: first line after $first ms, last after $last ms"
		if [ "$bytes" = 0 ]; then
			[ $((last - first)) -gt 300 ] # five of the six tokens' intervals are 500
		else
			[ "$first" -ge 590 ] # not before the last token was made
		fi
	done
}

@test "without TCP_NODELAY a kept connection waits for the delayed ACK" {
	simulate '"connection": {"nagle": true}'
	# one connection, twelve requests: once the kernel no longer acknowledges at once, each takes 40 ms more
	urls=()
	for _ in $(seq 12); do urls+=(-o /dev/null "$SERVE_URL/v1/completions"); done
	curl -sS -w '%{time_total}\n' -d '{"prompt": "a"}' "${urls[@]}" >"$BATS_TEST_TMPDIR/times"
	[ "$(awk '$1 > 0.035' "$BATS_TEST_TMPDIR/times" | wc -l)" -ge 6 ]
}

@test "a service that closes says so and closes" {
	simulate '"connection": {"close": true}'
	curl -sS -i "$SERVE_URL/v1/completions" -d '{"prompt": "a"}' | grep -i '^connection: close'
}

@test "the first requests of a cold service are slow" {
	simulate '"cold": {"requests": 1, "extra_ms": 300}'
	ask /v1/completions '{"prompt": "a"}' >/dev/null
	ask /v1/completions '{"prompt": "a"}' >/dev/null
	stop_serve
	log_has '[.[] | (.made_ns - .received_ns) / 1e6] | .[0] > 300 and .[1] < 150'
}

@test "SIGTERM ends the service with status 0 within two seconds, also in mid-answer" {
	echo '{"service_ms": 60000, "slots": 4}' >"$BATS_TEST_TMPDIR/slow.json"
	start_serve --simulate "$BATS_TEST_TMPDIR/slow.json" --schedule-log "$BATS_TEST_TMPDIR/log.jsonl"
	for stream in false true; do
		curl -sSN -o /dev/null "$SERVE_URL/v1/completions" -d "{\"prompt\": \"a\", \"stream\": $stream}" 2>/dev/null &
	done
	wait_for 10 metric num_requests_running 2
	begin=$(date +%s%N)
	stop_serve
	[ "$SERVE_STATUS" -eq 0 ]
	[ $(($(date +%s%N) - begin)) -lt 2000000000 ]
	log_has 'length == 2 and ([.[].outcome] | unique == ["cut"])'
}

@test "the configuration shows only when asked for, and no faults" {
	simulate '"faults": {"cut_ratio": 1}, "cold": {"requests": 9}, "stall": {"for_s": 1}' --expose-config
	ask /config
	[ "$CODE" = 200 ]
	check_answer '.slots == 64 and .batching == "none"'
	lacks 'cut|cold|stall|fault' "$BATS_TEST_TMPDIR/answer"
}

@test "options may come from a file or standard input, and the command line has the last word" {
	echo "$QUICK}" >"$BATS_TEST_TMPDIR/sim.json"
	printf '# a comment\nsimulate %s\nlisten=127.0.0.1:1\nexpose-config\n' "$BATS_TEST_TMPDIR/sim.json" >"$BATS_TEST_TMPDIR/options"
	start_serve --options-from "$BATS_TEST_TMPDIR/options"
	ask /config >/dev/null
	[ "$CODE" = 200 ]
	stop_serve
	run "$(serve_program)" --options-from - <<<'nonsense 1'
	[ "$status" -eq 2 ]
	[[ "$output" == *"nonsense"* ]]
}

@test "the port goes to a file when asked" {
	simulate '' --port-file "$BATS_TEST_TMPDIR/port"
	[ "$SERVE_URL" = "http://127.0.0.1:$(cat "$BATS_TEST_TMPDIR/port")" ]
}

@test "a port in use is one clear sentence and exit 4" {
	simulate
	run "$(serve_program)" --simulate "$DATA/bimodal.json" --listen "127.0.0.1:${SERVE_URL##*:}"
	[ "$status" -eq 4 ]
	[[ "${lines[0]}" == "venturi-serve: error: cannot listen on '127.0.0.1:${SERVE_URL##*:}': "* ]]
	[[ "${lines[1]}" == "venturi-serve: hint: "* ]]
}

@test "wrong command lines and files have their exit codes and name what is wrong" {
	while IFS='|' read -r want contains arguments; do
		# shellcheck disable=SC2086 # words are wanted
		run timeout 5 "$(serve_program)" $arguments
		[ "$status" -eq "$want" ] || { echo "$arguments: $status $output"; return 1; }
		[[ "$output" == *"$contains"* ]] || { echo "$arguments: $output"; return 1; }
	done <<-END
		2|--model|
		2|--nonsense|--nonsense
		2|--batching|--batching none --simulate $DATA/bimodal.json
		2|'--lanes'|--lanes 64 --model x.gguf
		2|--max-batch|--synthetic minilm --max-batch 0
		2|--lanes|--synthetic minilm --lanes 64,32
		2|--buckets|--synthetic minilm --buckets 64
		2|--warmup|--synthetic minilm --warmup often
		2|'nonsense'|--synthetic nonsense
		2|--synthetic|--synthetic minilm --simulate $DATA/bimodal.json
		2|'cold'|--fault cold=3 --simulate $DATA/bimodal.json
		2|extra|--simulate $DATA/bimodal.json extra
		2|--model|--simulate $DATA/bimodal.json --model x.gguf
		2|'nowhere'|--simulate $DATA/bimodal.json --listen nowhere
		2|--http-threads|--simulate $DATA/bimodal.json --http-threads 0
		3|'none.json'|--simulate none.json
		3|'none.gguf'|--model none.gguf
		3|serve.bats|--simulate tests/cli/serve.bats
		3|bimodal.json|--model $DATA/bimodal.json
		4|/no/such|--simulate $DATA/bimodal.json --listen 127.0.0.1:0 --schedule-log /no/such/log
	END
}

@test "a full disk for the schedule log is said once, and the service goes on" {
	simulate
	stop_serve
	start_serve --simulate "$BATS_TEST_TMPDIR/sim.json" --schedule-log /dev/full
	ask /v1/completions '{"prompt": "a"}' >/dev/null
	ask /v1/completions '{"prompt": "a"}' >/dev/null
	[ "$CODE" = 200 ]
	stop_serve
	[ "$SERVE_STATUS" -eq 4 ]
	[ "$(grep -c warning "$SERVE_ERR")" -eq 1 ]
}

@test "every option and every key of a simulated service is in the manual" {
	manual=docs/man/venturi-serve.1
	words=$("$(serve_program)" --help | grep -oE '^ +(-., )?--[a-z-]+' | sed 's/.*--//; s/-/\\-/g')
	words+=" $(grep -oE 'KEY\("[a-z_.]+"' src/serve/sim_config.c | cut -d '"' -f 2)"
	[ "$(wc -w <<<"$words")" -gt 40 ]
	for word in $words; do
		grep -qF -- "$word" "$manual" || { echo "$word is not in $manual"; return 1; }
	done
}

@test "a real model answers at temperature 0 as its reference says, streamed or not" {
	start_serve --model models/tales/tales-f32.gguf
	jq -c '.cases[] | {prompt, n: (.continuation_ids | length), text, finish}' models/tales/reference.json |
		while read -r case; do
			body=$(jq -c '{prompt, max_tokens: .n, temperature: 0}' <<<"$case")
			ask /v1/completions "$body" >/dev/null
			want=$(jq .text <<<"$case")
			[ "$(jq .choices[0].text "$BATS_TEST_TMPDIR/answer")" = "$want" ] || { cat "$BATS_TEST_TMPDIR/answer"; return 1; }
			curl -sSN "$SERVE_URL/v1/completions" -d "$(jq -c '. + {stream: true}' <<<"$body")" |
				grep '^data: {' | cut -c 7- | jq -s '[.[].choices[0].text] | add' >"$BATS_TEST_TMPDIR/streamed"
			[ "$(cat "$BATS_TEST_TMPDIR/streamed")" = "$want" ]
		done
}

@test "a model refuses what it cannot do" {
	start_serve --model models/tales/tales-f32.gguf
	ask /v1/embeddings '{"input": "a"}' >/dev/null
	[ "$CODE" = 400 ]
	ask /v1/completions '{"prompt": [99999999]}' >/dev/null
	[ "$CODE" = 400 ]
	ask /v1/completions "{\"prompt\": \"$(printf 'word %.0s' $(seq 2000))\"}" >/dev/null
	[ "$CODE" = 400 ]
	check_answer '.error.code == "context_length_exceeded"'
}

@test "a model serves one request after the other, and one whose client left is skipped" {
	start_serve --model models/tales/tales-f32.gguf --schedule-log "$BATS_TEST_TMPDIR/log.jsonl"
	for _ in 1 2 3 4; do
		timeout 0.05 curl -sSN -o /dev/null "$SERVE_URL/v1/completions" \
			-d '{"prompt": "Once", "max_tokens": 500, "ignore_eos": true, "stream": true}' || true
	done
	ask /v1/completions '{"prompt": "Once", "max_tokens": 4, "temperature": 0}' >/dev/null
	[ "$CODE" = 200 ]
	log_has '([.[] | select(.started_ns)] | sort_by(.started_ns)) as $s
		| [range(1; $s | length) | $s[.].started_ns >= $s[. - 1].token_ns[-1]] | all'
}

@test "help and version go to standard output" {
	run "$(serve_program)" --help
	[ "$status" -eq 0 ]
	[[ "$output" == *"--schedule-log"* ]]
	run "$(serve_program)" --version
	[ "$status" -eq 0 ]
	[[ "$output" == "venturi-serve "* ]]
}
