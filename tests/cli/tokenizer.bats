#!/usr/bin/env bats
# What venturi load does with --tokenizer. The service counts the tokens of each prompt itself.

load helpers
load serve_helpers

setup() {
	make_temp
}

teardown() {
	stop_serve
	[ -z "${PID-}" ] || kill "$PID" 2>/dev/null || true
	remove_temp
}

# A service that tells how many words each prompt has, whatever the request.
start_service() {
	python3 - "$TEMP/port" "$TEMP/counts" <<-'PY' &
		import http.server, json, os, sys
		class Handler(http.server.BaseHTTPRequestHandler):
		    protocol_version = "HTTP/1.1"
		    def do_POST(self):
		        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
		        n = len(body["prompt"].split(" ")) * int(os.environ.get("TOKENS_PER_WORD", "1"))
		        print(n, file=counts, flush=True)
		        reply = json.dumps({"choices": [{"text": "a", "finish_reason": "stop"}],
		            "usage": {"prompt_tokens": n, "completion_tokens": 1}}).encode()
		        self.send_response(200)
		        self.send_header("Content-Type", "application/json")
		        self.send_header("Content-Length", str(len(reply)))
		        self.end_headers()
		        self.wfile.write(reply)
		    def log_message(self, *args):
		        pass
		counts = open(sys.argv[2], "a")
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
		with open(sys.argv[1] + ".new", "w") as f:
		    f.write(str(server.server_port))
		os.rename(sys.argv[1] + ".new", sys.argv[1])
		server.serve_forever()
	PY
	PID=$!
	wait_for 10 test -s "$TEMP/port"
	URL=http://127.0.0.1:$(cat "$TEMP/port")
}

measure() {
	venturi load "$URL" --api openai-completions --model m --no-stream -c 2 -n 20 --warmup none \
		--check-client off "$@"
}

@test "prompts have their tokens by a tokenizer.json, each of its words being one" {
	start_service
	for name in gpt2 llama3 bert unigram; do
		: >"$TEMP/counts"
		run measure --input-tokens 40 --tokenizer "tests/data/tokenizers/$name.json" --json -
		[ "$status" -eq 0 ] || [ "$status" -eq 5 ]
		[ "$(sort -u "$TEMP/counts")" = 40 ]
	done
}

# Row 9 of docs/load.md: lengths by another tokenizer differ, and nobody sees it.
@test "the result has the service's count of tokens beside the tokenizer's, and says when they differ" {
	start_service
	run measure --input-tokens 40 --tokenizer tests/data/tokenizers/gpt2.json --json "$TEMP/r.json"
	jq -e '.input_tokens == {n: 20, meant_per_request: 40, counted_per_request: 40, exact: true}' "$TEMP/r.json"
	[[ $output != *"the service counts"* ]]
	kill "$PID"
	rm "$TEMP/port"
	TOKENS_PER_WORD=2 start_service
	run measure --input-tokens 40 --tokenizer tests/data/tokenizers/gpt2.json --json "$TEMP/r.json"
	jq -e '.input_tokens.counted_per_request == 80' "$TEMP/r.json"
	[[ $output == *"the service counts 80 tokens a request, prompts were made of 40 by the tokenizer"* ]]
}

@test "a service with the same vocabulary counts what was meant, and the token that begins the text" {
	start_serve --model models/tales/tales-f32.gguf
	venturi load "$SERVE_URL/v1/completions" -n 10 -c 2 --warmup none --input-tokens uniform:5..50 \
		--output-tokens 1 --tokenizer models/tales/tales-f32.gguf --check-client off -q --json "$TEMP/r.json"
	stop_serve
	jq -e '.input_tokens | .n == 10 and .exact
		and .counted_per_request == .meant_per_request + 1' "$TEMP/r.json"
}

@test "a file that is no tokenizer is refused with its name and the reason" {
	start_service
	printf '{"model":{"type":"WordLevel","vocab":{"a":0}}}' >"$TEMP/words.json"
	run venturi load "$URL" --api openai-completions --model m --tokenizer "$TEMP/words.json"
	[ "$status" -eq 3 ]
	[[ $output == *"error: '$TEMP/words.json': the model 'WordLevel' is not supported"* ]]
	run venturi load "$URL" --api openai-completions --model m --tokenizer README.md
	[ "$status" -eq 3 ]
	[[ $output == *"'README.md': it is neither GGUF nor JSON"* ]]
}

@test "a vocabulary without words for prompts is refused" {
	start_service
	printf '{"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]}}' >"$TEMP/ab.json"
	run venturi load "$URL" --api openai-completions --model m --tokenizer "$TEMP/ab.json"
	[ "$status" -eq 3 ]
	[[ $output == *"too few tokens of its vocabulary are words"* ]]
}
