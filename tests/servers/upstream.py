#!/usr/bin/env python3
"""A service that takes arrays, to stand behind a gateway in tests and measurements.

    upstream.py [--log FILE] [--gate FILE] [--fixed-ms N] [--item-ms N] [--dims N] [--name NAME]
                [--max-items N]

Prints the port that it listens on. One call is computed at a time and takes a fixed time and more
for each input, as on a device that profits from batches. Every request is a line of the log when
it is answered, with its inputs and headers. What inputs say happens: "poison" is refused with 400,
"poison500" with 500, "crash" closes the connection without a word, "sleep" takes a second longer, and "hold"
occupies the service until the file of --gate is there, whose name with ".begun" says that it does.
A vector depends on its text only.
"""

import argparse
import hashlib
import http.server
import json
import os
import socket
import threading
import time

OPTIONS = None
LOCK, COMPUTER = threading.Lock(), threading.Lock()


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Crash(Exception):
    pass


def text_of(value):
    return value if isinstance(value, str) else json.dumps(value)


def words(value):
    return len(value) if isinstance(value, list) else len(value.split())


def number(text, salt):
    digest = hashlib.sha256(f"{salt}:{text}".encode()).digest()
    return int.from_bytes(digest[:4], "little") / 2**32


def vector(value):
    return [round(number(text_of(value), i) - 0.5, 6) for i in range(OPTIONS.dims)]


def compute(inputs):
    if OPTIONS.max_items and len(inputs) > OPTIONS.max_items:
        raise Refused(413, f"batch size {len(inputs)} > maximum allowed {OPTIONS.max_items}")
    texts = [text_of(i) for i in inputs]
    with COMPUTER:
        if "hold" in texts:
            open(OPTIONS.gate + ".begun", "w", encoding="utf-8").close()
            while not os.path.exists(OPTIONS.gate):
                time.sleep(0.01)
        slow = any(t == "sleep" for t in texts)
        time.sleep((OPTIONS.fixed_ms + OPTIONS.item_ms * len(inputs)) / 1000 + slow)
    for bad, status in (("poison", 400), ("poison500", 500)):
        if bad in texts:
            raise Refused(status, "an input is poisoned")
    if "crash" in texts:
        raise Crash


def embeddings(request):
    inputs = request["input"]
    if isinstance(inputs, str) or (inputs and isinstance(inputs[0], int)):
        inputs = [inputs]
    compute(inputs)
    n = sum(words(i) + 1 for i in inputs)
    return inputs, {"object": "list", "model": request.get("model", "m"),
                    "data": [{"object": "embedding", "index": i, "embedding": vector(v)}
                             for i, v in enumerate(inputs)],
                    "usage": {"prompt_tokens": n, "total_tokens": n}}


def rerank(request):
    documents = request["documents"]
    compute(documents)
    scored = sorted(((number(request["query"] + text_of(d), "r"), i)
                     for i, d in enumerate(documents)), reverse=True)
    results = [{"index": i, "relevance_score": s, "document": {"text": documents[i]}}
               for s, i in scored][:request.get("top_n")]
    return documents, {"id": "r", "results": results,
                       "usage": {"total_tokens": sum(words(d) + 3 for d in documents)}}


def embed(request):
    inputs = request["inputs"]
    if isinstance(inputs, str):
        inputs = [inputs]
    compute(inputs)
    return inputs, [vector(i) for i in inputs]


def predict(request):
    inputs = request["inputs"]
    lone = isinstance(inputs, str) or isinstance(inputs[0], str)
    if lone:
        inputs = [inputs]
    inputs = [i[0] if isinstance(i, list) and len(i) == 1 else i for i in inputs]
    compute(inputs)
    answers = [[{"label": "a", "score": number(text_of(i), "p")}] for i in inputs]
    return inputs, answers[0] if lone else answers


POSTS = {"/v1/embeddings": embeddings, "/v1/rerank": rerank, "/embed": embed, "/predict": predict}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def note(self, **entry):
        if OPTIONS.log_file:
            with LOCK:
                print(json.dumps({"name": OPTIONS.name, "path": self.path, **entry}),
                      file=OPTIONS.log_file, flush=True)

    def whole(self, answer, status=200, headers=()):
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_GET(self):
        if self.path == "/health":
            self.whole({})
            return
        self.note(method=self.command, headers=dict(self.headers))
        if self.path == "/late":
            time.sleep(1)
        if self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.write(b"x" * 300000)
            self.close_connection = True
            return
        if self.path == "/big":
            self.whole(b"0123456789abcdef" * 2**18)
            return
        self.whole({"you": "asked"}, headers=[("X-Custom", "kept"), ("Connection", "x-drop"),
                                              ("X-Drop", "dropped"), ("Keep-Alive", "timeout=5")])

    do_HEAD = do_GET

    def read_body(self):
        if "Content-Length" in self.headers:
            return self.rfile.read(int(self.headers["Content-Length"]))
        return b""

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for i in range(5):
                data = b"data: {\"i\": %d}\n\n" % i
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                time.sleep(0.2)
            self.wfile.write(b"0\r\n\r\n")
            self.note(stream="complete")
        except OSError:
            self.note(stream="broken")
            self.close_connection = True

    def do_POST(self):
        body = self.read_body()
        if self.path == "/v1/chat/completions":
            self.stream()
            return
        if self.path not in POSTS:
            self.note(headers=dict(self.headers), body=body.decode("latin-1"))
            self.whole(body)
            return
        try:
            request = json.loads(body)
            inputs, answer = POSTS[self.path](request)
            self.note(inputs=inputs, status=200, headers=dict(self.headers), request=request)
            self.whole(answer)
        except Refused as e:
            self.note(status=e.status, request=request)
            self.whole({"error": {"message": str(e)}}, e.status)
        except Crash:
            self.note(status=0, request=request)
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        except (KeyError, IndexError, TypeError, ValueError) as e:
            self.note(status=400, why=str(e))
            self.whole({"error": {"message": f"{type(e).__name__}: {e}"}}, 400)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--log")
    parser.add_argument("--gate")
    parser.add_argument("--name", default="a")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--fixed-ms", type=float, default=0)
    parser.add_argument("--item-ms", type=float, default=0)
    parser.add_argument("--dims", type=int, default=8)
    parser.add_argument("--max-items", type=int, default=0)
    OPTIONS = parser.parse_args()
    OPTIONS.log_file = open(OPTIONS.log, "a", encoding="utf-8") if OPTIONS.log else None
    server = Server(("127.0.0.1", OPTIONS.port), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
