#!/usr/bin/env bats
# venturi-serve --upstream in front of tests/servers/upstream.py, which logs what it is asked, and of
# venturi-serve itself.

load helpers
load serve_helpers
load standin_helpers

setup() {
	needs_python
	make_temp
	JSON='Content-Type: application/json'
}

teardown() {
	stop_serve
	stop_standin
	[ -z "${OTHER_PID-}" ] || kill "$OTHER_PID" 2>/dev/null || true
	remove_temp
}

healthy() {
	curl -sf "$SERVE_URL/health" >/dev/null
}

# A gateway in front of the stand-in, ready.
start_gateway() {
	start_serve --upstream "$STANDIN_URL" "$@"
	wait_for 10 healthy
}

# post PATH BODY [CURL OPTION...]: prints the body of the answer.
post() {
	curl -s -m 30 "$SERVE_URL$1" -H "$JSON" -d "$2" "${@:3}"
}

embed() {
	post /v1/embeddings "{\"model\": \"${MODEL:-m}\", \"input\": $1}" "${@:2}"
}

direct() {
	curl -s "$STANDIN_URL$1" -H "$JSON" -d "$2"
}

# logged EXPRESSION: of the log as a list of dicts named log.
logged() {
	python3 -c "
import json, sys
log = [json.loads(line) for line in open(sys.argv[1])]
print($1)" "$LOG"
}

metric() {
	curl -s "$SERVE_URL/metrics" | awk -v name="$1" 'index($0, name) == 1 {print $NF; exit}'
}

# Both are JSON with the same content.
same() {
	python3 -c '
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
sys.exit(a != b)' "$1" "$2" || { diff "$1" "$2"; return 1; }
}

# Occupies the stand-in, which has --gate "$TEMP/gate", so that what comes meanwhile gathers.
occupy() {
	rm -f "$TEMP/gate" "$TEMP/gate.begun"
	embed '"hold"' >/dev/null &
	HOLDER=$!
	wait_for 10 test -e "$TEMP/gate.begun"
}

wait_for_requests() {
	[ "$(metric venturi_serve_num_requests_waiting)" -eq "$1" ]
}

# together N COMMAND...: the command with 1 to N added; when all of them wait, the service goes on.
together() {
	local pids=("$HOLDER") n=$1
	for i in $(seq "$n"); do
		"${@:2}" "$i" &
		pids+=($!)
	done
	wait_for 10 wait_for_requests "$n"
	touch "$TEMP/gate"
	wait "${pids[@]}"
}

one_of_many() {
	embed "[\"text $1\", \"more of it $1\"]" -D "$TEMP/head.$1" >"$TEMP/answer.$1"
}

@test "requests that wait are merged, and each gets its own part, equal to the direct answer" {
	start_standin upstream.py --gate "$TEMP/gate"
	start_gateway --upstream-in-flight 1
	occupy
	together 6 one_of_many
	# alone, the sleeper; all others in few calls
	[ "$(logged 'len([e for e in log if len(e["inputs"]) > 2])')" -ge 1 ]
	[ "$(logged 'sum(len(e["inputs"]) for e in log)')" -eq 13 ]
	[ "$(logged 'len(log)')" -le 4 ]
	for i in 1 2 3 4 5 6; do
		direct /v1/embeddings "{\"model\": \"m\", \"input\": [\"text $i\", \"more of it $i\"]}" >"$TEMP/direct"
		python3 - "$TEMP/answer.$i" "$TEMP/direct" <<-'END'
			import json, sys
			got, want = (json.load(open(p)) for p in sys.argv[1:])
			assert got["data"] == want["data"] and got["model"] == want["model"], got
			assert abs(got["usage"]["total_tokens"] - want["usage"]["total_tokens"]) <= 2, got
		END
		grep -qi '^content-type: application/json' "$TEMP/head.$i"
	done
	[ "$(metric venturi_gateway_shared_calls_total)" -ge 1 ]
	[ "$(metric venturi_gateway_merged_inputs_total)" -eq 13 ]
}

@test "a request alone goes and comes back unchanged" {
	start_standin upstream.py
	start_gateway
	body='{"model":  "m", "input": "a word",  "user": "u", "dimensions": null}'
	post /v1/embeddings "$body" -H 'X-Request-Id: 7' -H 'Authorization: Bearer k' >"$TEMP/got"
	direct /v1/embeddings "$body" >"$TEMP/want"
	cmp "$TEMP/got" "$TEMP/want"
	[ "$(logged 'log[0]["headers"]["X-Request-Id"], log[0]["headers"]["Authorization"]')" = "7 Bearer k" ]
	[ "$(logged 'log[0]["headers"]["Content-Length"]')" = "${#body}" ]
}

by_key() {
	embed "\"text $1\"" -H "Authorization: Bearer $(($1 % 2))" >/dev/null
}

@test "requests with other credentials or parameters are never merged" {
	start_standin upstream.py --gate "$TEMP/gate"
	start_gateway --upstream-in-flight 1
	occupy
	together 8 by_key
	[ "$(logged 'all(len({int(t[5:]) % 2 for t in e["inputs"]}) == 1 for e in log[1:])')" = True ]
	[ "$(logged 'all(int(e["inputs"][0][5:]) % 2 == int({k.lower(): v for k, v in e["headers"].items()}["authorization"][7:]) for e in log[1:])')" = True ]
	[ "$(logged 'max(len(e["inputs"]) for e in log)')" -ge 2 ]
}

poisoned() {
	local text="text $1"
	[ "$1" != 3 ] || text=$POISON
	embed "[\"$text\"]" -w '%{http_code}' >"$TEMP/answer.$1"
}

@test "one poisoned request fails alone, whether it is refused or breaks the service" {
	start_standin upstream.py --gate "$TEMP/gate"
	start_gateway --upstream-in-flight 1
	for case in poison:400 poison500:500 crash:502; do
		POISON=${case%:*}
		occupy
		together 5 poisoned
		for i in 1 2 4 5; do
			grep -q '200$' "$TEMP/answer.$i" || { echo "$case"; cat "$TEMP/answer.$i"; return 1; }
		done
		grep -q "${case#*:}\$" "$TEMP/answer.3"
	done
	grep -q '"code":"upstream_failed"' "$TEMP/answer.3"
	[ "$(metric venturi_gateway_taken_apart_total)" -eq 3 ]
}

@test "a request with more inputs than a call may have is spread over several and put together" {
	start_standin upstream.py --max-items 32
	start_gateway
	inputs=$(python3 -c 'import json; print(json.dumps([f"word {i}" for i in range(100)]))')
	embed "$inputs" >"$TEMP/got"
	python3 - "$TEMP/got" <<-'END'
		import json, sys
		got = json.load(open(sys.argv[1]))
		assert [d["index"] for d in got["data"]] == list(range(100))
		assert got["usage"] == {"prompt_tokens": 300, "total_tokens": 300}, got["usage"]
	END
	[ "$(logged 'sorted(len(e["inputs"]) for e in log)')" = "[4, 32, 32, 32]" ]
	[ "$(logged 'sorted(t for e in log for t in e["inputs"]) == sorted(f"word {i}" for i in range(100))')" = True ]
}

reranked() {
	post /v1/rerank "{\"query\": \"q\", \"documents\": [\"a$1\", \"b$1\", \"c$1\"], \"top_n\": 2}" >"$TEMP/answer.$1"
}

# same_request "PATH BODY" N
same_request() {
	post "${1%% *}" "${1#* }" >"$TEMP/got.$2"
}

@test "rerank, embed and predict are merged and split in their own forms" {
	start_standin upstream.py --gate "$TEMP/gate"
	start_gateway --upstream-in-flight 1
	occupy
	together 3 reranked
	[ "$(logged 'max(len(e["inputs"]) for e in log if e["path"] == "/v1/rerank")')" -ge 6 ]
	for i in 1 2 3; do
		direct /v1/rerank "{\"query\": \"q\", \"documents\": [\"a$i\", \"b$i\", \"c$i\"], \"top_n\": 2}" >"$TEMP/want"
		python3 - "$TEMP/answer.$i" "$TEMP/want" <<-'END'
			import json, sys
			got, want = (json.load(open(p)) for p in sys.argv[1:])
			assert got["results"] == want["results"] and len(got["results"]) == 2, (got, want)
		END
	done
	for case in '/embed {"inputs": "A"}' '/embed {"inputs": ["B", "C"]}' '/predict {"inputs": "A"}' \
		'/predict {"inputs": ["A", "B"]}' '/predict {"inputs": [["A"], ["B", "C"]]}'; do
		direct "${case%% *}" "${case#* }" >"$TEMP/want"
		occupy
		together 2 same_request "$case"
		same "$TEMP/got.1" "$TEMP/want"
		same "$TEMP/got.2" "$TEMP/want"
	done
}

@test "everything else is passed through, with headers end to end and none of the connection's" {
	start_standin upstream.py
	start_gateway
	curl -si "$SERVE_URL/any/path?a=1%20b&c" -H 'Authorization: Bearer k' -H 'Connection: x-me' \
		-H 'X-Me: 1' -H 'TE: trailers' >"$TEMP/got"
	grep -q '^HTTP/1.1 200' "$TEMP/got"
	grep -q '^X-Custom: kept' "$TEMP/got"
	if grep -qi '^x-drop\|^keep-alive\|^connection: x' "$TEMP/got"; then return 1; fi
	[ "$(grep -ci '^date:' "$TEMP/got")" -eq 1 ]
	[ "$(logged 'log[0]["path"]')" = "/any/path?a=1%20b&c" ]
	[ "$(logged 'log[0]["headers"]["Authorization"]')" = "Bearer k" ]
	[ "$(logged 'sorted(k for k in log[0]["headers"] if k.lower() in ("x-me", "te", "connection"))')" = "[]" ]
	[ "$(logged 'log[0]["headers"]["Host"]')" = "${STANDIN_URL#http://}" ]
	# bodies of any kind, both ways
	head -c 100000 /dev/urandom >"$TEMP/bytes"
	curl -s "$SERVE_URL/echo" -H 'Content-Type: application/octet-stream' --data-binary "@$TEMP/bytes" | cmp - "$TEMP/bytes"
	curl -sI "$SERVE_URL/any" | grep -qi '^content-length: 16'
	[ "$(curl -s "$SERVE_URL/big" | md5sum)" = "$(curl -s "$STANDIN_URL/big" | md5sum)" ]
	# what cannot be merged is the service's to refuse
	[ "$(embed '[]' -w '%{http_code}' -o /dev/null)" = "$(curl -s -o /dev/null -w '%{http_code}' "$STANDIN_URL/v1/embeddings" -H "$JSON" -d '{"input": []}')" ]
}

@test "events of a stream are passed on as they come, and a client that leaves ends it upstream" {
	needs_speed
	start_standin upstream.py
	start_gateway
	# five events, a fifth of a second apart
	python3 - "$SERVE_URL" <<-'END'
		import sys, time, urllib.request
		request = urllib.request.Request(sys.argv[1] + "/v1/chat/completions", b"{}", {"Content-Type": "application/json"})
		times = []
		with urllib.request.urlopen(request, timeout=20) as answer:
		    assert answer.headers["Content-Type"] == "text/event-stream"
		    for line in answer:
		        if line.startswith(b"data:"):
		            times.append(time.monotonic())
		assert len(times) == 5, times
		assert times[-1] - times[0] > 0.6, times
		assert max(b - a for a, b in zip(times, times[1:])) < 0.5, times
	END
	curl -sN -m 0.3 "$SERVE_URL/v1/chat/completions" -d '{}' >/dev/null || true
	wait_for 5 grep -q '"stream": "broken"' "$LOG"
	grep -q '"stream": "complete"' "$LOG"
}

@test "an answer that breaks off breaks off" {
	start_standin upstream.py
	start_gateway
	run curl -s "$SERVE_URL/cut" -o "$TEMP/cut"
	[ "$status" -eq 18 ]
	[ "$(stat -c %s "$TEMP/cut")" -gt 0 ]
}

@test "a client that leaves takes its inputs out of the queue" {
	start_standin upstream.py --gate "$TEMP/gate"
	start_gateway --upstream-in-flight 1
	occupy
	embed '"unwanted"' -m 0.5 >/dev/null || true
	wait_for 10 wait_for_requests 0
	together 2 one_of_many
	[ "$(logged '"unwanted" in str(log)')" = False ]
}

refused_when_full() {
	embed "\"text $1\"" -D "$TEMP/head.$1" -w '%{http_code}' >"$TEMP/answer.$1"
}

@test "a queue that is full answers 429 with Retry-After" {
	start_standin upstream.py --gate "$TEMP/gate"
	start_gateway --upstream-in-flight 1 --max-queue 2
	occupy
	local pids=("$HOLDER")
	for i in 1 2; do
		refused_when_full $i &
		pids+=($!)
		wait_for 10 wait_for_requests $i
	done
	refused_when_full 3
	touch "$TEMP/gate"
	wait "${pids[@]}"
	grep -q '200$' "$TEMP/answer.1"
	grep -q '200$' "$TEMP/answer.2"
	grep -q '429$' "$TEMP/answer.3"
	grep -q '"code":"queue_full"' "$TEMP/answer.3"
	grep -qi '^retry-after: [1-9]' "$TEMP/head.3"
}

@test "a dead upstream is told of, left, and taken back; another one takes its calls" {
	start_standin upstream.py --name a
	"$BATS_TEST_DIRNAME/../servers/upstream.py" --name b --log "$TEMP/other.jsonl" >"$TEMP/other.port" 3>&- &
	OTHER_PID=$!
	wait_for 10 test -s "$TEMP/other.port"
	other=$(cat "$TEMP/other.port")
	start_gateway --upstream "http://127.0.0.1:$other" --upstream-balance round-robin
	wait_for 5 sh -c "[ \"\$(curl -s $SERVE_URL/metrics | grep -c '^venturi_gateway_upstream_up{.*} 1')\" = 2 ]"
	for i in 1 2 3 4; do embed "\"text $i\"" >/dev/null; done
	[ "$(logged 'len(log)')" -eq 2 ]
	[ "$(wc -l <"$TEMP/other.jsonl")" -eq 2 ]
	kill "$OTHER_PID"; wait "$OTHER_PID" 2>/dev/null || true
	for i in 1 2 3 4; do
		[ "$(embed "\"text $i\"" -o /dev/null -w '%{http_code}')" = 200 ]
		[ "$(curl -s "$SERVE_URL/any" -o /dev/null -w '%{http_code}')" = 200 ]
	done
	stop_standin
	[ "$(embed '"a"' -o "$TEMP/got" -w '%{http_code}')" -ge 502 ]
	grep -q '"code":"upstream_failed"\|"code":"no_upstream"' "$TEMP/got"
	wait_for 5 sh -c "[ \$(curl -s -o /dev/null -w '%{http_code}' $SERVE_URL/health) = 503 ]"
	[ "$(embed '"a"' -o "$TEMP/got" -w '%{http_code}')" = 503 ]
	"$BATS_TEST_DIRNAME/../servers/upstream.py" --name b --port "$other" >"$TEMP/other.port" 3>&- &
	OTHER_PID=$!
	wait_for 10 healthy
	[ "$(embed '"a"' -o /dev/null -w '%{http_code}')" = 200 ]
}

embedded() {
	[ "$(embed '"a"' -o /dev/null -w '%{http_code}')" = 200 ]
}

@test "an upstream that is silent for too long is a 504" {
	start_standin upstream.py
	start_gateway --upstream-timeout 300ms
	[ "$(embed '"sleep"' -o "$TEMP/got" -w '%{http_code}')" = 504 ]
	grep -q '"code":"upstream_timeout"' "$TEMP/got"
	[ "$(curl -s -o /dev/null -w '%{http_code}' "$SERVE_URL/late")" = 504 ]
	wait_for 10 embedded
}

@test "in front of venturi-serve answers are those of venturi-serve" {
	"$(serve_program)" --listen 127.0.0.1:0 --port-file "$TEMP/port" --simulate tests/data/simulate/one_slot.json >/dev/null 3>&- &
	OTHER_PID=$!
	wait_for 10 test -s "$TEMP/port"
	STANDIN_URL="http://127.0.0.1:$(cat "$TEMP/port")"
	start_gateway --upstream-in-flight 1
	MODEL=one-slot
	local pids=()
	for i in 1 2 3 4 5 6; do
		one_of_many "$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	for i in 1 2 3 4 5 6; do
		direct /v1/embeddings "{\"input\": [\"text $i\", \"more of it $i\"]}" >"$TEMP/direct"
		python3 - "$TEMP/answer.$i" "$TEMP/direct" <<-'END'
			import json, sys
			got, want = (json.load(open(p)) for p in sys.argv[1:])
			assert got["data"] == want["data"] and len(got["data"]) == 2, (got, want)
		END
	done
	MODEL=another
	[ "$(embed '"a"' -o "$TEMP/got" -w '%{http_code}')" = 404 ]
	grep -q model_not_found "$TEMP/got"
	curl -sN "$SERVE_URL/v1/completions" -H "$JSON" -d '{"prompt": "a", "stream": true, "max_tokens": 3}' | grep -q '^data: \[DONE\]'
}

@test "load_imbalance sends its share to the first upstream" {
	start_standin upstream.py --name a
	"$BATS_TEST_DIRNAME/../servers/upstream.py" --name b --log "$TEMP/other.jsonl" >"$TEMP/other.port" 3>&- &
	OTHER_PID=$!
	wait_for 10 test -s "$TEMP/other.port"
	start_gateway --upstream "http://127.0.0.1:$(cat "$TEMP/other.port")" --fault unbalanced=0.75
	wait_for 5 sh -c "[ \"\$(curl -s $SERVE_URL/metrics | grep -c '^venturi_gateway_upstream_up{.*} 1')\" = 2 ]"
	for i in $(seq 20); do embed "\"text $i\"" >/dev/null; done
	[ "$(logged 'len(log)')" -eq 15 ]
	[ "$(wc -l <"$TEMP/other.jsonl")" -eq 5 ]
}

@test "what is no upstream is a usage error" {
	run "$(serve_program)" --upstream ftp://x
	[ "$status" -eq 2 ]
	run "$(serve_program)" --upstream 'http://x/?q=1'
	[ "$status" -eq 2 ]
	run "$(serve_program)" --upstream http://x --simulate y
	[ "$status" -eq 2 ]
}
