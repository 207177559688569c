#!/usr/bin/env python3
"""Stand-ins for inference servers, for the tests of their protocols.

    standin.py KIND [--log FILE] [--unix PATH] [--model NAME] [--type TYPE]

Prints the port (or the path) that it listens on, then answers as a server of that KIND does: the
paths it has, the form of its streams, and 400 for a request that the real one would refuse. Every
POST that it answers is a line of the log: what was asked, and how many tokens and events it sent.
"""

import argparse
import http.server
import json
import math
import os
import socketserver
import struct
import threading

SIZES = {"BOOL": 1, "UINT8": 1, "INT8": 1, "UINT16": 2, "INT16": 2, "FP16": 2, "BF16": 2, "UINT32": 4,
         "INT32": 4, "FP32": 4, "UINT64": 8, "INT64": 8, "FP64": 8}


class Refused(Exception):
    """A request that the real server would not take."""


def need(condition, why):
    if not condition:
        raise Refused(why)


def words(text):
    need(isinstance(text, str) and text, "a text is missing")
    return len(text.split())


class Kind:
    """One kind of server: its GET paths with their answers, and its POST paths with methods."""

    def __init__(self, args):
        self.model = args.model
        self.type = args.type
        self.gets = {}
        self.posts = {}

    def get(self, path):
        return self.gets.get(path)


class OpenAI(Kind):
    """In the manner of vLLM, behind a proxy that ends lines in CR LF, with a model that reasons."""

    def __init__(self, args):
        super().__init__(args)
        self.gets["/v1/models"] = {"object": "list", "data": [{"id": self.model, "object": "model"}]}
        self.posts["/v1/chat/completions"] = self.chat
        self.posts["/v1/rerank"] = self.rerank
        self.posts["/rerank"] = self.rerank

    def chat(self, request, out):
        need(request.get("model") == self.model, "no such model")
        n, prompt = request.get("max_tokens", 16), words(request["messages"][0]["content"])
        need(request.get("stream"), "only streams")
        out.begin("text/event-stream")
        out.event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        sent = events = 0
        while sent < n:
            # two tokens an event, the first of all as reasoning
            some = min(2, n - sent)
            channel = "reasoning_content" if events == 0 else "content"
            choice = {"index": 0, "delta": {channel: "x " * some}, "finish_reason": None}
            if self.type != "events":
                choice["token_ids"] = list(range(some))
            out.event({"choices": [choice]})
            sent, events = sent + some, events + 1
        out.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
        if self.type == "usage":
            out.event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": n}})
        out.piece(b"data: [DONE]\r\n\r\n")
        return {"input": prompt, "output": n, "events": events}

    def rerank(self, request, out):
        need(request.get("model") == self.model, "no such model")
        documents = request["documents"]
        need(isinstance(documents, list) and documents, "documents are missing")
        total = sum(words(request["query"]) + words(d) for d in documents)
        results = [{"index": i, "document": {"text": d}, "relevance_score": 1 / (i + 1)}
                   for i, d in enumerate(documents)]
        out.whole({"id": "rerank-1", "model": self.model, "usage": {"total_tokens": total},
                   "results": results})
        return {"input": total, "documents": len(documents)}


class TGI(Kind):
    def __init__(self, args):
        super().__init__(args)
        self.gets["/info"] = {"model_id": self.model, "max_total_tokens": 4096, "version": "3.0.0",
                              "router": "text-generation-router"}
        self.posts["/generate"] = self.generate
        self.posts["/generate_stream"] = self.generate_stream

    def sizes(self, request):
        parameters = request.get("parameters", {})
        need(parameters.get("temperature", 1) > 0, "`temperature` must be strictly positive")
        return words(request["inputs"]), parameters.get("max_new_tokens", 100)

    def generate(self, request, out):
        prompt, n = self.sizes(request)
        out.whole({"generated_text": " x" * n,
                   "details": {"finish_reason": "length", "generated_tokens": n, "seed": None,
                               "prefill": [], "tokens": [{"id": i} for i in range(n)]}})
        return {"input": prompt, "output": n}

    def generate_stream(self, request, out):
        prompt, n = self.sizes(request)
        out.begin("text/event-stream")
        for i in range(n):
            last = i == n - 1
            event = {"index": i + 1, "token": {"id": i, "text": " x", "logprob": -1, "special": False},
                     "generated_text": " x" * n if last else None, "details": None}
            if last:
                event["details"] = {"finish_reason": "length", "generated_tokens": n, "seed": None,
                                    "input_length": prompt}
            out.piece(b"data:" + json.dumps(event).encode() + b"\n\n")
        return {"input": prompt, "output": n, "events": n}


class TEI(Kind):
    def __init__(self, args):
        super().__init__(args)
        kind = {"embedding": {"pooling": "cls"}}.get(self.type, {"id2label": {"0": "A"}})
        self.gets["/info"] = {"model_id": self.model, "model_type": {self.type: kind},
                              "max_input_length": 512, "version": "1.8.0"}
        self.posts = {"embedding": {"/embed": self.embed}, "reranker": {"/rerank": self.rerank},
                      "classifier": {"/predict": self.predict}}[self.type]

    def embed(self, request, out):
        n = words(request["inputs"])
        out.whole([[0.25, -0.5, 1e-3]], headers={"x-compute-tokens": n, "x-compute-type": "cpu"})
        return {"input": n}

    def rerank(self, request, out):
        texts = request["texts"]
        need(texts, "`texts` cannot be empty")
        out.whole([{"index": i, "score": 0.5} for i in range(len(texts))])
        return {"input": words(request["query"]), "documents": len(texts)}

    def predict(self, request, out):
        out.whole([{"score": 0.9, "label": "A"}, {"score": 0.1, "label": "B"}])
        return {"input": words(request["inputs"])}


class Ollama(Kind):
    def __init__(self, args):
        super().__init__(args)
        self.gets["/api/tags"] = {"models": [{"name": self.model, "model": self.model}]}
        self.posts["/api/chat"] = self.chat
        self.posts["/api/generate"] = self.generate

    def chat(self, request, out):
        return self.answer(request, request["messages"][0]["content"], out,
                           lambda text: {"message": {"role": "assistant", "content": text}})

    def generate(self, request, out):
        return self.answer(request, request["prompt"], out, lambda text: {"response": text})

    def answer(self, request, prompt, out, wrap):
        need(request.get("model") == self.model, "model not found")
        prompt, n = words(prompt), request.get("options", {}).get("num_predict", 16)
        end = {"done": True, "done_reason": "length", "prompt_eval_count": prompt, "eval_count": n}
        if request.get("stream", True):
            out.begin("application/x-ndjson")
            for _ in range(n):
                out.line({"model": self.model, **wrap(" x"), "done": False})
            out.line({"model": self.model, **wrap(""), **end})
            return {"input": prompt, "output": n, "events": n}
        out.whole({"model": self.model, **wrap(" x" * n), **end})
        return {"input": prompt, "output": n}


class LlamaCpp(Kind):
    def __init__(self, args):
        super().__init__(args)
        self.gets["/props"] = {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 4,
                               "model_path": self.model}
        self.posts["/completion"] = self.completion

    def completion(self, request, out):
        prompt, n = words(request["prompt"]), request.get("n_predict", 16)
        end = {"index": 0, "content": "", "tokens": [], "stop": True, "stop_type": "limit",
               "tokens_predicted": n, "tokens_evaluated": prompt}
        if not request.get("stream"):
            out.whole({**end, "content": " x" * n})
            return {"input": prompt, "output": n}
        out.begin("text/event-stream")
        for i in range(n):
            out.piece(b"data: " + json.dumps(
                {"index": 0, "content": " x", "tokens": [i], "stop": False, "id_slot": 0,
                 "tokens_predicted": i + 1, "tokens_evaluated": prompt}).encode() + b"\n\n")
        out.piece(b"data: " + json.dumps(end).encode() + b"\n\n")
        return {"input": prompt, "output": n, "events": n}


class KServe(Kind):
    """In the manner of Triton: a model of ids, mask and a half-precision bias, unless it is texts."""

    def __init__(self, args):
        super().__init__(args)
        tensors = {"texts": [("text", "BYTES", [-1, 1])],
                   "halves": [("bias", "FP16", [4])]}
        self.inputs = tensors.get(self.type, [("input_ids", "INT64", [-1, -1]),
                                              ("attention_mask", "INT64", [-1, -1])])
        described = [{"name": n, "datatype": t, "shape": s} for n, t, s in self.inputs]
        self.gets["/v2"] = {"name": "triton", "version": "2.50.0",
                            "extensions": ["binary_tensor_data"]}
        self.gets[f"/v2/models/{self.model}"] = {"name": self.model, "versions": ["1"],
                                                 "platform": "x", "inputs": described, "outputs": []}
        self.posts[f"/v2/models/{self.model}/infer"] = self.infer

    def take(self, tensor, rest):
        """The number of elements of one input, and the bytes that it leaves."""
        name, datatype = tensor["name"], tensor["datatype"]
        wanted = [i for i in self.inputs if i[0] == name and i[1] == datatype]
        need(wanted, f"unexpected inference input '{name}'")
        shape = tensor["shape"]
        need(len(shape) == len(wanted[0][2]) and
             all(w in (-1, s) for s, w in zip(shape, wanted[0][2])), f"unexpected shape for '{name}'")
        n = math.prod(shape)
        size = tensor.get("parameters", {}).get("binary_data_size")
        if size is None:
            need(datatype != "FP16", "FP16 has no JSON form")
            need(len(tensor["data"]) == n, f"got {len(tensor['data'])} elements for {n}")
            return n, rest
        need(len(rest) >= size, "binary data are missing")
        mine, rest = rest[:size], rest[size:]
        if datatype != "BYTES":
            need(size == n * SIZES[datatype], f"got {size} bytes for {n} elements")
            return n, rest
        for _ in range(n):
            length = struct.unpack("<I", mine[:4])[0]
            need(words(mine[4:4 + length].decode()) > 0, "no text")
            mine = mine[4 + length:]
        need(not mine, "bytes are left of the texts")
        return n, rest

    def infer(self, request, out, rest=b""):
        n, counts = len(request["inputs"]), {}
        need(n == len(self.inputs), f"expected {len(self.inputs)} inputs but got {n}")
        binary = bool(rest)
        for tensor in request["inputs"]:
            counts[tensor["name"]], rest = self.take(tensor, rest)
        need(not rest, "unexpected additional input data")
        output = {"name": "y", "datatype": "FP32", "shape": [1, 2]}
        answer = {"model_name": self.model, "model_version": "1", "outputs": [output]}
        if not request.get("parameters", {}).get("binary_data_output"):
            output["data"] = [0.5, 0.25]
            out.whole(answer)
        else:
            output["parameters"] = {"binary_data_size": 8}
            head = json.dumps(answer).encode()
            out.body(head + struct.pack("<ff", 0.5, 0.25), "application/octet-stream",
                     {"Inference-Header-Content-Length": len(head)})
        return {"binary": binary, "elements": counts}


class Plain(Kind):
    """No inference server: 200 and nothing for whatever is asked."""

    def get(self, path):
        return {}


KINDS = {"openai": OpenAI, "tgi": TGI, "tei": TEI, "ollama": Ollama, "llamacpp": LlamaCpp,
         "kserve": KServe, "plain": Plain}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kind, log, lock = None, None, threading.Lock()

    def do_GET(self):
        path = self.path.split("?")[0]
        answer = self.kind.get(path)
        if answer is not None:
            self.whole(answer)
        elif path in self.kind.posts:
            self.whole({"error": "Method Not Allowed"}, 405)
        else:
            self.whole({"error": "Not Found"}, 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        post = self.kind.posts.get(self.path.split("?")[0])
        if not post:
            self.whole({"error": "Not Found"}, 404)
            return
        self.streaming = False
        try:
            head = int(self.headers.get("Inference-Header-Content-Length", len(body)))
            request = json.loads(body[:head])
            more = {"rest": body[head:]} if body[head:] else {}
            entry = post(request, self, **more)
        except (Refused, KeyError, IndexError, TypeError, ValueError) as e:
            self.whole({"error": f"{type(e).__name__}: {e}"}, 400)
            entry = {"refused": str(e)}
        if self.streaming:
            self.wfile.write(b"0\r\n\r\n")
        with self.lock:
            if self.log:
                print(json.dumps({"path": self.path, "host": self.headers["Host"], **entry}),
                      file=self.log, flush=True)

    def body(self, data, content_type, headers=None, status=200):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def whole(self, answer, status=200, headers=None):
        self.body(json.dumps(answer).encode(), "application/json", headers, status)

    def begin(self, content_type):
        self.streaming = True
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def event(self, event):
        self.piece(b"data: " + json.dumps(event).encode() + b"\r\n\r\n")

    def line(self, line):
        # cut in the middle, which no reader may notice
        data = json.dumps(line).encode() + b"\n"
        self.piece(data[:len(data) // 2])
        self.piece(data[len(data) // 2:])

    def address_string(self):
        return "client"

    def log_message(self, *args):
        pass


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 4


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--log")
    parser.add_argument("--unix")
    parser.add_argument("--model", default="mini")
    parser.add_argument("--type", default="embedding")
    args = parser.parse_args()
    Handler.kind = KINDS[args.kind](args)
    Handler.log = open(args.log, "w", encoding="utf-8") if args.log else None
    if args.unix:
        server = UnixServer(args.unix, Handler)
        print(args.unix, flush=True)
    else:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_address[1], flush=True)
    try:
        server.serve_forever()
    finally:
        if args.unix:
            os.unlink(args.unix)


if __name__ == "__main__":
    main()
