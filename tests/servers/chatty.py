#!/usr/bin/env python3
"""A server that says something else each time, for the tests of sessions.

    chatty.py [--log FILE] [--fail N] [--first S] [--later S] [--big BYTES]

Prints the port that it listens on, then answers chats of OpenAI and Ollama and prompts of OpenAI, TGI
and llama.cpp, streamed or whole, with texts that are hard to repeat: quotes, control characters,
escapes that nobody needs, and pairs of surrogates that are cut between two events. Every POST is a
line of the log: when it came, when its answer was about to end, what was asked and answered.

    --fail N    every N-th request gets status 500
    --first S   seconds until the first token of a conversation that has no answer yet
    --later S   the same of the others
    --big N     adds N bytes to every answer
"""

import argparse
import http.server
import json
import re
import sys
import threading
import time

HARD = 'says "{n}" \\ /\t\r\n\x01\x7f é 中文 \u2028 😀👩‍💻 \\u0041 %s'

# How others write what json.dumps writes otherwise.
SPELLINGS = {"/": "\\/", "A": "\\u0041", "\\n": "\\u000a"}


def tokens(text):
    """The inside of a JSON string for the text, as pieces that must not be cut."""
    pieces = re.findall(r"\\u[0-9a-f]{4}|\\.|.", json.dumps(text)[1:-1])
    return [SPELLINGS.get(p, p) for p in pieces]


def chat(data, wrap):
    return 'data: {"choices":[{"index":0,%s}]}\n\n' % (wrap % data)


def openai(kind):
    wrap = {"chat": '"delta":{"content":"%s"}', "text": '"text":"%s"'}[kind]
    whole = {"chat": '"message":{"role":"assistant","content":"%s"}', "text": '"text":"%s"'}[kind]
    return {
        "type": "text/event-stream",
        "piece": lambda raw: chat(raw, wrap),
        "end": lambda raw: chat("", wrap + ',"finish_reason":"length"') + "data: [DONE]\n\n",
        "whole": lambda raw: '{"choices":[{"index":0,%s,"finish_reason":"length"}]}' % (whole % raw),
    }


def ollama(wrap):
    return {
        "type": "application/x-ndjson",
        "piece": lambda raw: "{%s,\"done\":false}\n" % (wrap % raw),
        "end": lambda raw: "{%s,\"done\":true}\n" % (wrap % ""),
        "whole": lambda raw: "{%s,\"done\":true}" % (wrap % raw),
    }


def tgi_token(raw, special, whole):
    return 'data:{"token":{"id":1,"text":"%s","special":%s},"generated_text":%s}\n\n' % (
        raw, special, whole)


PATHS = {
    "/v1/chat/completions": openai("chat"),
    "/v1/completions": openai("text"),
    "/api/chat": ollama('"message":{"role":"assistant","content":"%s"}'),
    "/api/generate": ollama('"response":"%s"'),
    "/generate_stream": {
        "type": "text/event-stream",
        "piece": lambda raw: tgi_token(raw, "false", "null"),
        "end": lambda raw: tgi_token("</s>", "true", '"%s"' % raw),
    },
    "/completion": {
        "type": "text/event-stream",
        "piece": lambda raw: 'data: {"content":"%s","stop":false}\n\n' % raw,
        "end": lambda raw: 'data: {"content":"","stop":true}\n\n',
        "whole": lambda raw: '{"content":"%s","stop":true}' % raw,
    },
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    args, log, lock, n = None, None, threading.Lock(), 0

    def do_GET(self):
        self.whole('{"data":[{"id":"mini"}],"models":[{"name":"mini"}],"model_id":"mini"}')

    def do_POST(self):
        came = time.monotonic()
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            Handler.n += 1
            n = Handler.n
        hard, big = HARD.replace("{n}", str(n)), "x" * self.args.big
        answer = hard + big
        entry = {"n": n, "path": self.path, "came": came, "request": request}
        if self.args.fail and n % self.args.fail == 0:
            self.note(entry)
            self.whole('{"error":"by request"}', 500)
            return
        time.sleep(self.args.later if "says" in json.dumps(request) else self.args.first)
        entry["answer"] = answer
        self.answer(entry, PATHS[self.path], tokens(hard) + [big])

    def note(self, entry):
        """Before the end of the answer, so that whoever has that finds it in the log."""
        with self.lock:
            entry["ends"] = time.monotonic()
            if self.log:
                print(json.dumps(entry), file=self.log, flush=True)

    def answer(self, entry, form, pieces):
        raw = "".join(pieces)
        if not entry["request"].get("stream", True):
            self.note(entry)
            self.whole(form["whole"](raw))
            return
        self.send_response(200)
        self.send_header("Content-Type", form["type"])
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            self.piece(form["piece"](piece))
        self.note(entry)
        self.piece(form["end"](raw))
        self.wfile.write(b"0\r\n\r\n")

    def piece(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def whole(self, text, status=200):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def address_string(self):
        return "client"

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log")
    parser.add_argument("--fail", type=int, default=0)
    parser.add_argument("--first", type=float, default=0)
    parser.add_argument("--later", type=float, default=0)
    parser.add_argument("--big", type=int, default=0)
    Handler.args = parser.parse_args()
    Handler.log = open(Handler.args.log, "a", encoding="utf-8") if Handler.args.log else None
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
