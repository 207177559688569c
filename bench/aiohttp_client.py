"""The peer of bench/sse: as little as a client on aiohttp can do and still measure a chat stream.

    aiohttp_client.py URL STREAMS REQUESTS

STREAMS coroutines share REQUESTS. Each stamps a read once, splits it at blank lines, reads the JSON
of each event for its content, and keeps the gaps. Prints one JSON object; CPU is counted from
behind the imports.
"""

import asyncio
import json
import resource
import sys
import time

import aiohttp

BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "measure"}]}


class Counts:
    def __init__(self, requests):
        self.left, self.events, self.ttft, self.itl = requests, 0, [], []


async def one(session, url, counts):
    sent = time.monotonic_ns()
    last, rest = 0, b""
    async with session.post(url, json=BODY) as answer:
        async for read in answer.content.iter_any():
            now = time.monotonic_ns()
            *events, rest = (rest + read).split(b"\n\n")
            for event in events:
                data = event.removeprefix(b"data: ")
                if data == b"[DONE]":
                    continue
                choices = json.loads(data)["choices"]
                if not choices or not choices[0]["delta"].get("content"):
                    continue
                counts.events += 1
                if last:
                    counts.itl.append(now - last)
                else:
                    counts.ttft.append(now - sent)
                last = now


async def stream(session, url, counts):
    while counts.left > 0:
        counts.left -= 1
        await one(session, url, counts)


async def main(url, streams, requests):
    counts = Counts(requests)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:
        await asyncio.gather(*(stream(session, url, counts) for _ in range(streams)))
    return counts


def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def rank(values, q):
    values = sorted(values)
    return values[max(0, -int(-q * len(values) // 1) - 1)] / 1e6


if __name__ == "__main__":
    before = cpu_s()
    result = asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    print(json.dumps({"cpu_s": cpu_s() - before, "events": result.events, "ttft_p50_ms": rank(result.ttft, 0.5),
                      "itl_p99_ms": rank(result.itl, 0.99)}))
