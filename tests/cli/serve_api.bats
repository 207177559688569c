#!/usr/bin/env bats
# The encoders' APIs of venturi-serve as their clients meet them: every route and every error, asked
# with curl and with venturi load.

load helpers
load serve_helpers

setup() {
	ANSWER="$BATS_TEST_TMPDIR/answer"
	HEAD="$BATS_TEST_TMPDIR/head"
}

teardown() {
	stop_serve
}

# simulate [KEYS]: a service that answers at once, with three classes or other members of its file.
simulate() {
	echo "{\"service_ms\": 0, \"slots\": 64, \"name\": \"m\", \"embedding_dimensions\": 4, ${1:-\"classes\": 3}}" \
		>"$BATS_TEST_TMPDIR/sim.json"
	shift $(($# > 0))
	start_serve --simulate "$BATS_TEST_TMPDIR/sim.json" "$@"
}

# ask PATH [BODY [CURL_OPTION...]]: the answer in $ANSWER, its header in $HEAD, its status in $CODE.
ask() {
	local path=$1 body=${2:-}
	shift $(($# > 1 ? 2 : 1))
	CODE=$(curl -sS -m 20 -D "$HEAD" -o "$ANSWER" -w '%{http_code}' "$SERVE_URL$path" ${body:+--data-binary "$body"} "$@")
}

# answers FILTER: status 200 and JSON for which the filter holds.
answers() {
	[ "$CODE" = 200 ] && jq -e "$1" "$ANSWER" >/dev/null || {
		echo "$CODE"
		cat "$ANSWER"
		return 1
	}
}

# refuses FORM: each line STATUS|PATH|BODY|FILTER of standard input is refused like that.
refuses() {
	local want path body filter
	while IFS='|' read -r want path body filter; do
		ask "$path" "$body"
		[ "$CODE" = "$want" ] && jq -e "$1" "$ANSWER" >/dev/null && jq -e "${filter:-true}" "$ANSWER" >/dev/null || {
			echo "$path $body: $CODE"
			cat "$ANSWER"
			return 1
		}
	done
}

# In the form of each API: an error with a text.
OPENAI='.error | (.message | length > 0) and (.type | length > 0) and has("code")'
TEI='(.error | type == "string" and length > 0) and (.error_type | length > 0)'
KSERVE='(.error | type == "string" and length > 0) and (keys == ["error"])'

@test "embeddings: texts, ids, arrays of them, as numbers and as base64 of the same numbers" {
	simulate
	ask /v1/embeddings '{"model": "m", "input": "one two", "user": "u"}'
	answers '.object == "list" and .model == "m" and .usage == {"prompt_tokens": 2, "total_tokens": 2}
		and .data[0].object == "embedding" and .data[0].index == 0 and (.data[0].embedding | length) == 4'
	for input in '["a", "b"]' '[[1, 2], [3]]' '["a", ""]'; do
		ask /v1/embeddings "{\"input\": $input}"
		answers '[.data[].index] == [0, 1] and ([.data[].embedding | length] | unique) == [4]'
	done
	ask /v1/embeddings '{"input": [5, 6, 7]}'
	answers '(.data | length) == 1 and .usage.prompt_tokens == 3'
	ask /v1/embeddings '{"input": "a"}'
	jq -c '.data[0].embedding' "$ANSWER" >"$BATS_TEST_TMPDIR/numbers"
	ask /v1/embeddings '{"input": "a", "encoding_format": "base64"}'
	jq -r '.data[0].embedding' "$ANSWER" | base64 -d | od -An -t fF -w16 | awk '{ print "[" $1 "," $2 "," $3 "," $4 "]" }' >"$BATS_TEST_TMPDIR/bytes"
	jq -s '.[0] as $a | .[1] as $b | [range(4) | ($a[.] - $b[.]) | fabs < 1e-7] | all' \
		"$BATS_TEST_TMPDIR/numbers" "$BATS_TEST_TMPDIR/bytes" | grep true
}

@test "embeddings: fewer dimensions are the first ones at length 1" {
	simulate
	ask /v1/embeddings '{"input": "a"}'
	jq -c '.data[0].embedding' "$ANSWER" >"$BATS_TEST_TMPDIR/all"
	ask /v1/embeddings '{"input": "a", "dimensions": 2}'
	jq -c '.data[0].embedding' "$ANSWER" >"$BATS_TEST_TMPDIR/two"
	jq -s '.[0][:2] as $a | .[1] as $b | ($a | map(. * .) | add | sqrt) as $n
		| ($b | length) == 2 and ([range(2) | ($a[.] / $n - $b[.]) | fabs < 1e-6] | all)' \
		"$BATS_TEST_TMPDIR/all" "$BATS_TEST_TMPDIR/two" | grep true
}

@test "rerank: best first, by each of its routes, with documents when asked" {
	simulate '"classes": 1'
	for path in /rerank /v1/rerank /v2/rerank; do
		ask $path '{"model": "m", "query": "q", "documents": ["a", {"text": "b"}, "c"], "return_documents": true}'
		answers '.model == "m" and (.id | startswith("rerank-")) and .usage.total_tokens == 6
			and ([.results[].index] | sort) == [0, 1, 2]
			and ([.results[].relevance_score] | . == (sort | reverse) and all(. > 0 and . < 1))
			and (.results | map(.document.text == ["a", "b", "c"][.index]) | all)'
	done
	ask /v1/rerank '{"query": "q", "documents": ["a", "b", "c"], "top_n": 1}'
	answers '(.results | length) == 1 and (.results[0] | has("document") | not)'
}

@test "rerank: texts are TEI's, an array with its own names and a count of tokens in the header" {
	simulate '"classes": 1'
	ask /rerank '{"query": "q", "texts": ["a", "b"], "return_text": true}'
	answers 'length == 2 and .[0].score >= .[1].score and (map(.text == ["a", "b"][.index]) | all)'
	grep -i '^x-compute-tokens: 4' "$HEAD"
	cp "$ANSWER" "$BATS_TEST_TMPDIR/probabilities"
	ask /rerank '{"query": "q", "texts": ["a", "b"], "raw_scores": true}'
	# the logistic function of the raw score
	jq -s '.[0] as $p | .[1] as $r | [range(2) | $p[.].score - 1 / (1 + (-$r[.].score | exp)) | fabs < 1e-6] | all' \
		"$BATS_TEST_TMPDIR/probabilities" "$ANSWER" | grep true
}

@test "rerank on a model that gives embeddings is the cosine of query and document" {
	simulate
	ask /v1/rerank '{"query": "same", "documents": ["other", "same"]}'
	answers '.results[0].index == 1 and (.results[0].relevance_score - 1 | fabs < 1e-6)'
	ask /v1/embeddings '{"input": ["same", "other"]}'
	want=$(jq '[.data[].embedding] | transpose | map(.[0] * .[1]) | add' "$ANSWER")
	ask /v1/rerank '{"query": "same", "documents": ["other"]}'
	answers ".results[0].relevance_score - $want | fabs < 1e-6"
}

@test "classify: the likeliest label and probabilities that add up to 1" {
	simulate
	ask /classify '{"model": "m", "input": ["a", "b"]}'
	answers '.object == "list" and (.data | length) == 2 and (.data | map(.num_classes == 3
		and (.probs | length == 3 and ((add - 1) | fabs < 1e-6))
		and .label == "LABEL_\(.probs | index(max))") | all)'
	ask /classify '{"input": "a"}'
	answers '(.data | length) == 1'
}

@test "predict: one text, a pair, many, best first; raw scores are not probabilities" {
	simulate
	ask /predict '{"inputs": "a"}'
	answers 'length == 3 and ((map(.score) | add) - 1 | fabs < 1e-6) and (map(.score) | . == (sort | reverse))'
	ask /predict '{"inputs": ["a", "b"]}'
	answers 'length == 3 and .[0].label'
	grep -i '^x-compute-tokens: 2' "$HEAD"
	ask /predict '{"inputs": [["a"], ["b", "c"]], "raw_scores": true}'
	answers 'length == 2 and (map(length) == [3, 3])'
}

@test "embed and info: TEI's way" {
	simulate
	ask /embed '{"inputs": ["a", "b"], "truncate": true}'
	answers 'length == 2 and (map(length) == [4, 4]) and (map(map(. * .) | add | . - 1 | fabs < 1e-5) | all)'
	grep -i '^x-compute-tokens: 2' "$HEAD"
	ask /embed '{"inputs": "a"}'
	answers 'length == 1'
	ask /info
	answers '.model_id == "m" and .max_input_length == 32768 and .max_client_batch_size == 2048 and (.model_type | has("classifier"))'
}

@test "KServe v2: descriptions, readiness and tensors as JSON" {
	simulate
	for path in /v2/health/live /v2/health/ready /v2/models/m/ready /v2/models/m/versions/1/ready; do
		ask $path
		[ "$CODE" = 200 ]
	done
	ask /v2
	answers '.name == "venturi-serve" and (.extensions | index("binary_tensor_data") != null)'
	ask /v2/models/m
	answers '.name == "m" and .inputs == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
		and .outputs == [{"name": "scores", "datatype": "FP32", "shape": [-1, 3]}, {"name": "embeddings", "datatype": "FP32", "shape": [-1, 4]}]'
	ask /v2/models/m/infer '{"inputs": [{"name": "text", "datatype": "BYTES", "shape": [2], "data": ["a", "b"]}]}'
	answers '.outputs[0].name == "scores" and .outputs[0].shape == [2, 3]'
	ask /v2/models/m/infer '{"id": "7", "inputs": [{"name": "text", "datatype": "BYTES", "shape": [2], "data": ["a", "b"]}],
		"outputs": [{"name": "embeddings"}]}'
	answers '.model_name == "m" and .id == "7" and .outputs[0].name == "embeddings" and .outputs[0].shape == [2, 4] and (.outputs[0].data | length) == 8'
	jq -c '.outputs[0].data' "$ANSWER" >"$BATS_TEST_TMPDIR/tensor"
	ask /v1/embeddings '{"input": ["a", "b"]}'
	[ "$(jq -c '[.data[].embedding[]]' "$ANSWER")" = "$(cat "$BATS_TEST_TMPDIR/tensor")" ]
	# a row that is masked at its end is the row without it
	ask /v2/models/m/infer '{"inputs": [{"name": "input_ids", "datatype": "INT64", "shape": [1, 4], "data": [[7, 8, 0, 0]]},
		{"name": "attention_mask", "datatype": "INT64", "shape": [1, 4], "data": [1, 1, 0, 0]}],
		"outputs": [{"name": "embeddings"}]}'
	jq -c '.outputs[0].data' "$ANSWER" >"$BATS_TEST_TMPDIR/tensor"
	ask /v1/embeddings '{"input": [7, 8]}'
	[ "$(jq -c '.data[0].embedding' "$ANSWER")" = "$(cat "$BATS_TEST_TMPDIR/tensor")" ]
}

@test "KServe v2: tensors as bytes, in and out" {
	simulate
	json='{"inputs":[{"name":"text","datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":11}}],"outputs":[{"name":"embeddings","parameters":{"binary_data":true}}]}'
	{
		printf '%s' "$json"
		printf '\x01\x00\x00\x00a\x02\x00\x00\x00bc'
	} >"$BATS_TEST_TMPDIR/body"
	ask /v2/models/m/infer "@$BATS_TEST_TMPDIR/body" -H "Inference-Header-Content-Length: ${#json}"
	[ "$CODE" = 200 ]
	grep -i '^content-type: application/octet-stream' "$HEAD"
	n=$(tr -d '\r' <"$HEAD" | awk 'tolower($1) == "inference-header-content-length:" { print $2 }')
	[ "$(stat -c %s "$ANSWER")" -eq $((n + 2 * 4 * 4)) ]
	head -c "$n" "$ANSWER" | jq -e '.outputs[0].parameters.binary_data_size == 32 and (.outputs[0] | has("data") | not)'
	tail -c 32 "$ANSWER" | od -An -t fF -w4 | jq -s . >"$BATS_TEST_TMPDIR/bytes"
	ask /v1/embeddings '{"input": ["a", "bc"]}'
	jq -s '.[0] as $b | [.[1].data[].embedding[]] as $v | [range(8) | ($b[.] - $v[.]) | fabs < 1e-7] | all' \
		"$BATS_TEST_TMPDIR/bytes" "$ANSWER" | grep true
	# the header promises more, or is no number
	for length in 99999 x -1; do
		ask /v2/models/m/infer "@$BATS_TEST_TMPDIR/body" -H "Inference-Header-Content-Length: $length"
		[ "$CODE" = 400 ]
		jq -e "$KSERVE" "$ANSWER"
	done
}

@test "what venturi load sends in each protocol is understood" {
	simulate
	while read -r api path options; do
		# shellcheck disable=SC2086 # words are wanted
		"${VENTURI_BUILD:-build}/venturi" load -n 20 -c 2 --warmup none -q --check-client off $options \
			--ledger "$BATS_TEST_TMPDIR/ledger.db" --json "$BATS_TEST_TMPDIR/r.json" "$SERVE_URL$path"
		jq -e --arg api "$api" '.requests.ok == 20 and .target.model == "m" and .target.api == $api' "$BATS_TEST_TMPDIR/r.json"
	done <<-'END'
		openai-embeddings /v1/embeddings
		openai-rerank /v1/rerank
		tei /embed --api tei
		tei /rerank --api tei
		tei /predict --api tei
		kserve-v2 /v2/models/m/infer
		kserve-v2 /v2/models/m/infer --tensors binary
		kserve-v2 /v2 --model m
	END
}

@test "what OpenAI's routes refuse, they refuse in its form" {
	simulate '"context_tokens": 8'
	refuses "$OPENAI" <<-'END'
		400|/v1/embeddings|{
		400|/v1/embeddings|[]
		400|/v1/embeddings|{}|.error.message | contains("'input' is missing")
		400|/v1/embeddings|{"input": []}
		400|/v1/embeddings|{"input": [[]]}
		400|/v1/embeddings|{"input": ["a", 1]}
		400|/v1/embeddings|{"input": [-1]}
		400|/v1/embeddings|{"input": "a", "input": "b"}
		400|/v1/embeddings|{"input": "a", "dimensions": 5}|.error.message | contains("4")
		400|/v1/embeddings|{"input": "a", "encoding_format": "hex"}
		400|/v1/embeddings|{"input": "\ud800"}
		400|/v1/embeddings|{"input": "1 2 3 4 5 6 7 8 9"}|.error.code == "context_length_exceeded"
		404|/v1/embeddings|{"input": "a", "model": "x"}|.error.code == "model_not_found"
		405|/v1/embeddings|
		400|/v1/rerank|{"query": "q"}
		400|/v1/rerank|{"documents": ["a"]}
		400|/v1/rerank|{"query": "q", "documents": []}
		400|/v1/rerank|{"query": "q", "documents": [{"title": "a"}]}
		400|/v2/rerank|{"query": "q", "documents": ["a"], "max_tokens_per_doc": 3}
		400|/classify|{"inputs": "a"}
		404|/classify|{"input": "a", "model": "x"}
		404|/rerank/x|
	END
}

@test "what TEI's routes refuse, they refuse in its form" {
	simulate
	refuses "$TEI" <<-'END'
		400|/embed|{
		400|/embed|{"input": "a"}
		400|/embed|{"inputs": 1}
		400|/embed|{"inputs": "a", "prompt_name": "query"}
		400|/embed|{"inputs": "a", "truncation_direction": "Left"}
		405|/embed|
		400|/rerank|{"query": "q", "texts": []}|.error_type == "Validation"
		400|/rerank|{"query": "q", "texts": [1]}
		400|/rerank|{"query": "q", "texts": ["a"], "documents": ["a"]}
		400|/predict|{"inputs": ["a", "b", "c"]}
		405|/info|{}
	END
}

@test "what KServe's routes refuse, they refuse in its form" {
	simulate
	refuses "$KSERVE" <<-'END'
		404|/v2/models/x|
		404|/v2/models/x/infer|{}
		404|/v2/models/m/versions/2|
		404|/v2/nothing|
		405|/v2/models/m/infer|
		405|/v2|{}
		400|/v2/models/m/infer|{
		400|/v2/models/m/infer|{"inputs": []}
		400|/v2/models/m/infer|{"inputs": [{"name": "x", "datatype": "BYTES", "shape": [1], "data": ["a"]}]}
		400|/v2/models/m/infer|{"inputs": [{"name": "text", "datatype": "FP32", "shape": [1], "data": [1]}]}
		400|/v2/models/m/infer|{"inputs": [{"name": "text", "datatype": "BYTES", "shape": [2], "data": ["a"]}]}
		400|/v2/models/m/infer|{"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1]}]}
		400|/v2/models/m/infer|{"inputs": [{"name": "input_ids", "datatype": "INT64", "shape": [2048, 9223372036854775807], "data": [1]}]}
		413|/v2/models/m/infer|{"inputs": [{"name": "input_ids", "datatype": "INT64", "shape": [2049, 1], "data": [1]}]}
		400|/v2/models/m/infer|{"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"]}], "outputs": [{"name": "x"}]}
	END
}

@test "a model that does one thing refuses the others by name" {
	start_serve --model models/tales/tales-f32.gguf
	refuses "$OPENAI" <<-'END'
		400|/v1/embeddings|{"input": "a"}|.error.code == "model_not_suitable"
		400|/v1/rerank|{"query": "a", "documents": ["b"]}|.error.code == "model_not_suitable"
		400|/classify|{"input": "a"}|.error.code == "model_not_suitable"
	END
}

@test "too much of anything is refused, and the service goes on" {
	simulate '"context_tokens": 100000000'
	python3 - "$BATS_TEST_TMPDIR" <<-'END'
		import json, sys
		def write(name, text):
		    open(f"{sys.argv[1]}/{name}", "wb").write(text if isinstance(text, bytes) else text.encode())
		write("many", json.dumps({"input": ["a"] * 2049}))
		write("product", json.dumps({"query": "q" * 100000, "documents": ["d"] * 1000}))
		write("large", json.dumps({"input": "x " * 5000000}))
		write("larger", json.dumps({"input": "x" * 17000000}))
		write("deep", '{"x":' + "[" * 1000000 + "]" * 1000000 + ',"input":"a"}')
		write("bomb", '{"input":' + "[" * 1000000)
		write("numbers", '{"input":[' + "1," * 3000000 + "1]}")
		write("nul", b'{"input":"a\x00b"}')
		write("utf8", b'{"input":"\xc3\x28"}')
		write("emoji", json.dumps({"input": ["\U0001f600", "", "\u0000"]}))
	END
	while read -r want path file; do
		ask "$path" "@$BATS_TEST_TMPDIR/$file"
		[ "$CODE" = "$want" ] || { echo "$path $file: $CODE $(head -c 300 "$ANSWER")"; return 1; }
		[ "$want" = 200 ] || jq -e "$OPENAI" "$ANSWER"
	done <<-'END'
		413 /v1/embeddings many
		413 /v1/rerank product
		200 /v1/embeddings large
		413 /v1/embeddings larger
		400 /v1/embeddings deep
		400 /v1/embeddings bomb
		200 /v1/embeddings numbers
		400 /v1/embeddings nul
		400 /v1/embeddings utf8
		200 /v1/embeddings emoji
	END
	kill -0 "$SERVE_PID"
}

@test "HEAD, keep-alive and two requests in one packet" {
	simulate
	[ "$(curl -sS -o /dev/null -I -w '%{http_code}' "$SERVE_URL/v2/health/live")" = 200 ]
	body='{"input":"a"}'
	printf 'POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s' ${#body} "$body" >"$BATS_TEST_TMPDIR/one"
	exec 4<>"/dev/tcp/127.0.0.1/${SERVE_URL##*:}"
	cat "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/one" >&4
	[ "$(timeout 1 cat <&4 | grep -c '"object":"embedding"')" -eq 2 ]
	exec 4>&-
}

@test "who sends a byte at a time is broken off, who is only silent between requests is not" {
	simulate "" --request-timeout 1s
	python3 - "${SERVE_URL##*:}" <<-'END'
		import socket, sys, time
		def connect():
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		    s.settimeout(0.2)
		    return s
		def ended_after(s, first, byte):
		    begin = time.monotonic()
		    s.sendall(first)
		    while time.monotonic() - begin < 10:
		        try:
		            if s.recv(1000) == b"":
		                break
		        except socket.timeout:
		            pass
		        except OSError:
		            break
		        try:
		            s.sendall(byte)
		        except OSError:
		            break
		    return time.monotonic() - begin
		head = b"POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\n\r\n"
		body = b'{"input":"a"}'
		kept = connect()
		kept.sendall(head + body)
		assert b"200 OK" in kept.recv(10000)
		for name, first in ("header", b"POST /v1/emb"), ("body", head.replace(b"13", b"1300")):
		    took = ended_after(connect(), first, b"x")
		    assert 0.9 < took < 5, (name, took)
		kept.settimeout(5)
		kept.sendall(head + body)
		assert b"200 OK" in kept.recv(10000)
	END
	ask /health
	[ "$CODE" = 200 ]
}
