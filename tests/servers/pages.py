#!/usr/bin/env python3
"""Pages of metrics, good and bad: prints its port, then serves until it is killed.

/good     vLLM's names; waiting requests are 3, tokens grow by 100 a second
/html     what a proxy says instead
/slow     its first byte comes after 10 s
/huge     50 MB of samples
/numbers  NaN, +Inf, duplicates and broken lines among good ones
/late     refuses the first two looks, then is /good
"""
import http.server
import itertools
import time

START = time.monotonic()
LATE = itertools.count()
HUGE = b"vllm:num_requests_running 1\n" * (50_000_000 // 28)


def good():
    seconds = time.monotonic() - START
    return (
        "# TYPE vllm:num_requests_waiting gauge\n"
        'vllm:num_requests_waiting{model_name="m"} 3\n'
        "vllm:num_requests_running 2\n"
        "# TYPE vllm:generation_tokens_total counter\n"
        f"vllm:generation_tokens_total {100 * seconds:.6f}\n"
    )


def numbers():
    return (
        "vllm:num_requests_running NaN\n"
        "vllm:num_requests_waiting 3\n"
        "vllm:num_requests_waiting 3\n"
        "vllm:kv_cache_usage_perc +Inf\n"
        'vllm:generation_tokens_total{x="unfinished 5\n'
        "}{\n"
    )


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, body, kind="text/plain; version=0.0.4", status=200):
        data = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        try:
            if self.path == "/good":
                self.reply(good())
            elif self.path == "/html":
                self.reply("<html><body>sign in</body></html>\n", "text/html")
            elif self.path == "/slow":
                time.sleep(10)
            elif self.path == "/huge":
                self.reply(HUGE)
            elif self.path == "/numbers":
                self.reply(numbers())
            elif self.path == "/late" and next(LATE) >= 2:
                self.reply(good())
            else:
                self.reply("not here\n", status=404)
        except OSError:
            pass  # who asked has left


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
