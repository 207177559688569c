#!/usr/bin/env python3
"""A streaming server whose every write is in a script, for the tests of what a client makes of it.

    scripted.py SCRIPT [--log FILE] [--idle SECONDS]

Prints the port that it listens on; each POST is answered by the script, a step a line:

    text TEXT       an event with a piece of a completion
    delta JSON      an event with a piece of a chat
    finish          an event with a finish reason
    usage IN OUT    an event with the counts of tokens and no choices
    done            the event [DONE]
    event JSON      an event with that as its data
    raw TEXT        bytes, with the escapes of Python
    wait MS         a pause
    hold, flush     what stands between them goes out in one write
    nl LF|CR|CRLF   how lines end from here on
    head            the header goes out now, not with the first event
    status N        a status other than 200
    body TEXT       a whole answer with a length, in place of a stream
    cut             the connection ends here
    close           the connection ends after the answer, which does not say so
    N STEP          a step N times

A line of three dashes begins the script of the next request; after the last the first comes again.
A connection on which nothing is asked for --idle seconds is closed. Each answer is a line of the log:
when the request had come, what its prompt was, when each event was written, when the end was.
"""

import argparse
import http.server
import json
import threading
import time

ENDINGS = {"LF": "\n", "CR": "\r", "CRLF": "\r\n"}


def read_script(path):
    """The scripts of the requests, each a list of (step, argument)."""
    scripts = [[]]
    with open(path, encoding="utf-8") as f:
        for line in f:
            word, _, rest = line.strip().partition(" ")
            if word == "---":
                scripts.append([])
            elif word.isdigit():
                step, _, argument = rest.partition(" ")
                scripts[-1] += [(step, argument)] * int(word)
            elif word:
                scripts[-1].append((word, rest))
    return scripts


def choice(**what):
    return json.dumps({"choices": [{"index": 0, "finish_reason": None, **what}]})


def event_of(step, argument):
    """The data of the event that a step sends, or None."""
    if step == "text":
        return choice(text=argument)
    if step == "delta":
        return choice(delta=json.loads(argument))
    if step == "finish":
        return choice(text="", delta={}, finish_reason="stop")
    if step == "usage":
        n_in, n_out = map(int, argument.split())
        return json.dumps({"choices": [], "usage": {"prompt_tokens": n_in, "completion_tokens": n_out}})
    return {"done": "[DONE]", "event": argument}.get(step)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    scripts, log, lock, n_requests = None, None, threading.Lock(), 0

    def do_GET(self):
        self.whole(b'{"data":[{"id":"m"}]}')

    def do_POST(self):
        request = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        entry = {"received_ns": time.monotonic_ns(), "prompt": self.prompt(request), "sent_ns": []}
        with self.lock:
            entry["n"] = Handler.n_requests
            Handler.n_requests += 1
        self.entry, self.held, self.newline = entry, None, "\n"
        self.begun, self.status, self.body_sent = False, 200, False
        try:
            self.run(self.scripts[entry["n"] % len(self.scripts)])
        except (BrokenPipeError, ConnectionResetError):
            entry["left"] = True
            self.close_connection = True
        entry["done_ns"] = time.monotonic_ns()
        with self.lock:
            print(json.dumps(entry), file=self.log, flush=True)

    def run(self, script):
        for step, argument in script:
            if step == "cut":
                self.close_connection = True
                return
            self.step(step, argument)
        if not self.body_sent:
            self.begin()
            self.wfile.write(b"0\r\n\r\n")

    def step(self, step, argument):
        data = event_of(step, argument)
        if data is not None:
            self.entry["sent_ns"].append(time.monotonic_ns())
            self.send((f"data: {data}" + self.newline * 2).encode())
        elif step == "raw":
            self.send(argument.encode("latin-1").decode("unicode_escape").encode("latin-1"))
        elif step == "wait":
            time.sleep(float(argument) / 1e3)
        elif step == "hold":
            self.held = b""
        elif step == "flush":
            held, self.held = self.held, None
            self.send(held)
        elif step == "nl":
            self.newline = ENDINGS[argument]
        elif step == "head":
            self.begin()
        elif step == "status":
            self.status = int(argument)
        elif step == "body":
            self.whole(argument.encode(), self.status)
            self.body_sent = True
        elif step == "close":
            self.close_connection = True
        else:
            raise ValueError(f"no such step: {step}")

    def begin(self):
        if self.begun:
            return
        self.begun = True
        self.send_response(self.status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send(self, data):
        if self.held is not None:
            self.held += data
            return
        self.begin()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def whole(self, data, status=200):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @staticmethod
    def prompt(request):
        try:
            request = json.loads(request)
            return request.get("prompt") or request["messages"][0]["content"]
        except (ValueError, KeyError, IndexError, TypeError):
            return None

    def address_string(self):
        return "client"

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("script")
    parser.add_argument("--log", default="/dev/null")
    parser.add_argument("--idle", type=float)
    args = parser.parse_args()
    Handler.scripts = read_script(args.script)
    Handler.timeout = args.idle
    with open(args.log, "w", encoding="utf-8") as Handler.log:
        server = Server(("127.0.0.1", 0), Handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
