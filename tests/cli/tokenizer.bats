#!/usr/bin/env bats
# What venturi load does with --tokenizer. The service counts the tokens of each prompt itself.

load helpers

setup() {
	make_temp
}

teardown() {
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
		        n = len(body["prompt"].split(" "))
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
