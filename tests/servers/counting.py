#!/usr/bin/env python3
"""A completions server that counts what it does, in the names of vLLM, for the tests of --metrics.

    counting.py [--log FILE] [--page KIND] [--hit-ratio R] [--reset-at N]

Prints the port that it listens on. Its /metrics page is, by KIND:

    vllm    the counters, which stand at 1000 requests when it starts
    turns   the same, and every second time those of another server that does nothing
    broken  the same, between lines that are none, numbers that are none and lines that stand twice
    html, json, none, hang, drip, huge
            no page of metrics: another text, 404, no answer, one that never ends, one of 50 MB

With --reset-at N the counters begin again right before the N-th page is answered. The log holds a
line for each finished request and each page, in the order in which they were counted: it is the
truth.
"""

import argparse
import http.server
import json
import threading
import time

EDGES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]


class Counters:
    def __init__(self, requests):
        self.running = 0
        self.requests = requests
        self.prompt = 10 * requests
        self.generated = 5 * requests
        self.hits = 0
        self.queries = 10 * requests
        self.ttft = [0] * len(EDGES) + [requests]
        self.ttft_sum = 9.0 * requests

    def finish(self, prompt, generated, ttft_s, hit_ratio):
        self.requests += 1
        self.prompt += prompt
        self.generated += generated
        self.queries += prompt
        self.hits += hit_ratio * prompt
        self.ttft[sum(ttft_s > edge for edge in EDGES)] += 1
        self.ttft_sum += ttft_s

    def page(self):
        name = 'engine="0",model_name="mini"'
        lines = ["# HELP vllm:num_requests_running Number of requests in model execution batches.",
                 "# TYPE vllm:num_requests_running gauge",
                 f"vllm:num_requests_running{{{name}}} {float(self.running)}",
                 "# TYPE vllm:request_success_total counter",
                 f'vllm:request_success_total{{{name},finished_reason="length"}} {float(self.requests)}',
                 f'vllm:request_success_total{{{name},finished_reason="abort"}} 0.0']
        for key, value in (("prompt_tokens", self.prompt), ("generation_tokens", self.generated),
                           ("prefix_cache_queries", self.queries), ("prefix_cache_hits", self.hits)):
            lines += [f"# TYPE vllm:{key}_total counter", f"vllm:{key}_total{{{name}}} {float(value)}"]
        lines.append("# TYPE vllm:time_to_first_token_seconds histogram")
        below = 0
        for edge, n in zip(EDGES + ["+Inf"], self.ttft):
            below += n
            lines.append(f'vllm:time_to_first_token_seconds_bucket{{{name},le="{edge}"}} {float(below)}')
        lines += [f"vllm:time_to_first_token_seconds_count{{{name}}} {float(below)}",
                  f"vllm:time_to_first_token_seconds_sum{{{name}}} {self.ttft_sum}"]
        return "\n".join(lines) + "\n"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = threading.Lock()
    counters, args, log, pages = None, None, None, 0

    def note(self, **entry):
        if self.log:
            print(json.dumps(entry), file=self.log, flush=True)

    def whole(self, text, content_type="text/plain; version=0.0.4", status=200):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def metrics(self):
        kind = self.args.page
        with self.lock:
            Handler.pages += 1
            if Handler.pages == self.args.reset_at:
                running = self.counters.running
                Handler.counters = Counters(0)
                self.counters.running = running
            text = Counters(7).page() if kind == "turns" and self.pages % 2 == 0 else self.counters.page()
            self.note(page=self.pages, secret=self.headers.get("Authorization"))
        if kind == "broken":
            self.whole('vllm:num_requests_waiting{engine="0"} NaN\nvllm:num_requests_waiting{engine="1"} +Inf\n'
                       'vllm:num_requests_waiting{engine="2" 7\nvllm:num_requests_waiting{engine="3"} seven\n'
                       'vllm:kv_cache_usage_perc{engine="0"} 0.25\nvllm:kv_cache_usage_perc{engine="0"} 0.25\n'
                       'vllm:num_requests_wai\n\0\n' + text + 'vllm:prompt_tokens_total{mod')
        elif kind == "html":
            self.whole("<!DOCTYPE html>\n<html><body>Welcome</body></html>\n", "text/html")
        elif kind == "json":
            self.whole('{"status": "ok"}', "application/json")
        elif kind == "none":
            self.whole("404", status=404)
        elif kind == "hang":
            time.sleep(20)
        elif kind == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b"vllm:x 1\n")
                time.sleep(0.2)
        elif kind == "huge":
            self.whole("vllm:num_requests_running 1.0\n" * (50 * 1024 * 1024 // 30))
        else:
            self.whole(text)

    def do_GET(self):
        if self.path == "/metrics":
            self.metrics()
        elif self.path == "/v1/models":
            self.whole(json.dumps({"object": "list", "data": [{"id": "mini"}]}), "application/json")
        else:
            self.whole("404", status=404)

    def do_POST(self):
        begin = time.monotonic()
        with self.lock:
            self.counters.running += 1
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt, n = len(request["prompt"].split()), request.get("max_tokens", 16)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        time.sleep(0.006)
        ttft_s = time.monotonic() - begin
        for _ in range(n):
            self.event({"choices": [{"index": 0, "text": "x ", "finish_reason": None}]})
            time.sleep(0.001)
        self.event({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]})
        with self.lock:
            self.counters.running -= 1
            self.counters.finish(prompt, n, ttft_s, self.args.hit_ratio)
            self.note(prompt=prompt, output=n, ttft_ms=1000 * ttft_s)
        self.event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": n}})
        self.piece(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def event(self, event):
        self.piece(b"data: " + json.dumps(event).encode() + b"\n\n")

    def address_string(self):
        return "client"

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # a client that does not wait any longer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log")
    parser.add_argument("--page", default="vllm",
                        choices=["vllm", "turns", "broken", "html", "json", "none", "hang", "drip", "huge"])
    parser.add_argument("--hit-ratio", type=float, default=0)
    parser.add_argument("--reset-at", type=int, default=0)
    parser.add_argument("--port", type=int, default=0)
    Handler.args = parser.parse_args()
    Handler.counters = Counters(1000)
    Handler.log = open(Handler.args.log, "w", encoding="utf-8") if Handler.args.log else None
    server = Server(("127.0.0.1", Handler.args.port), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
