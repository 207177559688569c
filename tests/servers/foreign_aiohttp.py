#!/usr/bin/python3
"""A chat service on aiohttp, with the events of sse-starlette: CR LF, a type, an id, and a ping now
and then as a comment. Its model reasons first. Prints its port; each answer is a line of the file of
--log: when the request had come, when each token was written, when the end was, in ns of the
monotonic clock. The interpreter is Debian's, whose package aiohttp is."""

import asyncio
import json
import socket
import sys
import time

from aiohttp import web

LOG = open(sys.argv[sys.argv.index("--log") + 1], "w", encoding="utf-8")


def event(n, data):
    return f"id: {n}\r\nevent: message\r\ndata: {data}\r\n\r\n".encode()


def chunk(n, delta, finish=None):
    return event(n, json.dumps({"object": "chat.completion.chunk",
                                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))


async def chat(request):
    entry = {"received_ns": time.monotonic_ns(), "sent_ns": []}
    asked = await request.json()
    n, n_in = asked["max_tokens"], len(asked["messages"][0]["content"].split())
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    await response.write(chunk(0, {"role": "assistant", "content": ""}))
    await asyncio.sleep(0.03)
    for i in range(n):
        if i % 4 == 0:
            await response.write(b": ping - 2026-01-01 00:00:00\r\n\r\n")
        entry["sent_ns"].append(time.monotonic_ns())
        await response.write(chunk(i + 1, {"reasoning_content" if i < 4 else "content": " x"}))
        await asyncio.sleep(0.008)
    await response.write(chunk(n + 1, {}, "length"))
    usage = {"prompt_tokens": n_in, "completion_tokens": n, "total_tokens": n_in + n}
    await response.write(event(n + 2, json.dumps({"choices": [], "usage": usage})))
    await response.write(event(n + 3, "[DONE]"))
    await response.write_eof()
    entry.update(done_ns=time.monotonic_ns(), input=n_in, output=n, visible=entry["sent_ns"][4:5])
    print(json.dumps(entry), file=LOG, flush=True)
    return response


async def models(_request):
    return web.json_response({"data": [{"id": "aio"}]})


def main():
    app = web.Application()
    app.add_routes([web.post("/v1/chat/completions", chat), web.get("/v1/models", models)])
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    print(listener.getsockname()[1], flush=True)
    web.run_app(app, sock=listener, print=None, access_log=None)


main()
