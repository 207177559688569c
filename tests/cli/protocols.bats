#!/usr/bin/env bats
# Every protocol that venturi load speaks, against a stand-in of its server, whose log is the truth.

load helpers
load standin_helpers

setup() {
	needs_python
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
}

teardown() {
	stop_standin
	remove_temp
}

# measure OPTION... URL: 12 requests, all of which the run counts as good and the server answered.
measure() {
	venturi load -c 3 -n 12 --warmup none --input-tokens 7 --output-tokens 5 -q --json "$TEMP/r.json" "$@"
	jq -e '.requests | .attempted == 12 and .ok == 12' "$TEMP/r.json"
	[ "$(wc -l <"$LOG")" -eq 12 ]
	run jq -e 'select(.refused)' "$LOG"
	[ -z "$output" ]
}

# counts_agree: tokens, events and gaps of the run are those of the server's log.
counts_agree() {
	jq -es --slurpfile r "$TEMP/r.json" '
		(map(.output) | add) as $output | (map(.input) | add) as $input | $r[0] as $r
		| $r.window.duration_s as $s
		| (($r.throughput.output_tokens_per_s * $s - $output) | fabs) < 0.01
			and (($r.throughput.input_tokens_per_s * $s - $input) | fabs) < 0.01
			and (if .[0].events then $r.ttft_ms.n == 12
				and $r.itl_ms.n == (map(.events - 1) | add) else true end)' "$LOG"
}

@test "Ollama: chat and generate as JSON lines, and whole" {
	start_standin standin.py ollama --model llama3.2:1b
	measure "$STANDIN_URL"
	jq -e '.target.api == "ollama" and .target.model == "llama3.2:1b"' "$TEMP/r.json"
	jq -es 'all(.path == "/api/chat")' "$LOG"
	counts_agree
	stop_standin
	start_standin standin.py ollama
	measure "$STANDIN_URL/api/generate"
	jq -es 'all(.path == "/api/generate")' "$LOG"
	counts_agree
	stop_standin
	start_standin standin.py ollama
	measure --no-stream "$STANDIN_URL/api/generate"
	jq -e 'has("itl_ms") | not' "$TEMP/r.json"
}

@test "llama.cpp: /completion, streamed and whole" {
	start_standin standin.py llamacpp --model /models/tiny.gguf
	measure "$STANDIN_URL"
	jq -e '.target.api == "llamacpp" and .target.model == "/models/tiny.gguf"
		and .tokens_source == "usage"' "$TEMP/r.json"
	counts_agree
	stop_standin
	start_standin standin.py llamacpp
	measure --no-stream "$STANDIN_URL/completion"
}

@test "TGI: /generate_stream by default, /generate when asked" {
	start_standin standin.py tgi --model org/tiny
	measure "$STANDIN_URL"
	jq -e '.target.api == "tgi" and .target.model == "org/tiny"' "$TEMP/r.json"
	jq -es 'all(.path == "/generate_stream")' "$LOG"
	counts_agree
	stop_standin
	start_standin standin.py tgi
	measure "$STANDIN_URL/generate"
	jq -e 'has("itl_ms") | not' "$TEMP/r.json"
	jq -es 'all(.path == "/generate")' "$LOG"
}

@test "TEI: the operation that the model has is the one that is asked for" {
	for kind in embedding:/embed reranker:/rerank classifier:/predict; do
		for url in "" "${kind#*:}"; do
			start_standin standin.py tei --model org/bge --type "${kind%:*}"
			measure "$STANDIN_URL$url"
			jq -e '.target.api == "tei" and .target.model == "org/bge"' "$TEMP/r.json"
			jq -es --arg p "${kind#*:}" 'all(.path == $p)' "$LOG"
			# only embeddings come with a count of tokens here, in a header
			[ "${kind%:*}" != embedding ] || jq -e --argjson n "$(jq -s "map(.input) | add" "$LOG")" \
				"(.throughput.input_tokens_per_s * .window.duration_s - \$n) | fabs < 0.01" "$TEMP/r.json"
			stop_standin
		done
	done
}

@test "rerank: query and documents, from text or from lines" {
	start_standin standin.py openai
	# 27 words are a query and 8 documents of 3
	venturi load -n 12 --warmup none --input-tokens 27 -q --json "$TEMP/r.json" "$STANDIN_URL/v1/rerank"
	jq -e '.target.api == "openai-rerank" and .requests.ok == 12 and .tokens_source == "usage"
		and ((.throughput.input_tokens_per_s * .window.duration_s - 12 * 8 * 6) | fabs) < 0.01' "$TEMP/r.json"
	jq -es 'length == 12 and all(.documents == 8)' "$LOG"
	stop_standin
	start_standin standin.py openai
	echo '{"query":"why","documents":["a","b c","d"]}' >"$TEMP/in.jsonl"
	venturi load -n 4 --warmup none --input "$TEMP/in.jsonl" -q --json "$TEMP/r.json" "$STANDIN_URL/rerank"
	jq -e '.requests.ok == 4' "$TEMP/r.json"
	jq -es 'length == 4 and all(.documents == 3)' "$LOG"
}

@test "KServe v2: tensors from the model's description, as JSON and as bytes" {
	for how in json binary; do
		start_standin standin.py kserve
		measure --model mini --tensors $how "$STANDIN_URL"
		jq -e --arg how $how '.target.api == "kserve-v2" and .target.model == "mini"
			and .fingerprint["load.tensors"] == $how' "$TEMP/r.json"
		jq -es --arg how $how 'all(.elements.input_ids == 7 and .elements.attention_mask == 7
			and .binary == ($how == "binary"))' "$LOG"
		stop_standin
	done
	for how in json binary; do
		start_standin standin.py kserve --type texts
		measure --tensors $how "$STANDIN_URL/v2/models/mini"
		jq -es 'all(.elements.text == 1)' "$LOG"
		stop_standin
	done
}

@test "KServe v2: what JSON cannot carry and a model without a name are said with what to do" {
	start_standin standin.py kserve --type halves
	run venturi load -n 1 "$STANDIN_URL/v2/models/mini/infer"
	[ "$status" -eq 2 ]
	[[ "$output" == *"'bias' is FP16"* && "$output" == *"--tensors binary"* ]]
	measure --tensors binary "$STANDIN_URL/v2/models/mini/infer"
	run venturi load -n 1 "$STANDIN_URL"
	[ "$status" -eq 2 ]
	[[ "$output" == *"does not tell its models"* && "$output" == *"--model"* ]]
	run venturi load -n 1 --model other "$STANDIN_URL"
	[ "$status" -eq 4 ]
	[[ "$output" == *"'/v2/models/other' does not describe the model: HTTP status 404"* ]]
}

@test "KServe v2: lines with inputs are sent as they are" {
	start_standin standin.py kserve --type texts
	echo '{"inputs":[{"name":"text","datatype":"BYTES","shape":[2,1],"data":["a","b"]}]}' >"$TEMP/in.jsonl"
	venturi load -n 4 --warmup none --input "$TEMP/in.jsonl" -q --json - "$STANDIN_URL/v2/models/mini" |
		jq -e '.requests.ok == 4'
	jq -es 'all(.elements.text == 2)' "$LOG"
}

@test "a stream with CRLF, reasoning and two tokens an event is counted by usage" {
	start_standin standin.py openai --type usage
	measure "$STANDIN_URL"
	jq -e '.target.api == "openai-chat" and .tokens_source == "usage"' "$TEMP/r.json"
	counts_agree
}

@test "asking a service what it is costs it no inference, and a plain server stays plain" {
	for kind in ollama llamacpp tgi tei openai; do
		start_standin standin.py $kind
		# the service is asked, then the run is refused before it sends anything
		run venturi load --input "$TEMP/none.jsonl" "$STANDIN_URL"
		[ "$status" -ne 0 ]
		[ ! -s "$LOG" ]
		stop_standin
	done
	start_standin standin.py plain
	venturi load -n 3 --warmup none -q --json - "$STANDIN_URL" | jq -e '.target.api == "http" and .requests.ok == 3'
	[ ! -s "$LOG" ]
}

@test "a Unix socket takes the place of the host, which stays in the header" {
	start_standin standin.py ollama --unix "$TEMP/s"
	# more connections than the queue of the socket holds
	venturi load -c 24 -n 48 --warmup none --output-tokens 3 --unix-socket "$TEMP/s" -q --json "$TEMP/r.json" \
		http://ollama.local:11434/api/chat
	jq -e '.requests.ok == 48 and .requests.failed == 0
		and .fingerprint["target.unix_socket"] != null' "$TEMP/r.json"
	jq -es 'length == 48 and all(.host == "ollama.local:11434")' "$LOG"
}

@test "a Unix socket that is not there is refused with its path" {
	run venturi load --unix-socket "$TEMP/none" http://h/
	[ "$status" -eq 4 ]
	[[ "$output" == *"cannot connect to '$TEMP/none': No such file"* ]]
	run venturi load --unix-socket "$(printf 'x%.0s' {1..200})" http://h/
	[ "$status" -eq 2 ]
}
