#!/usr/bin/env python3
"""Answers every GET after burning CPU time: burner.py SHARE LOG.

A request takes 20 ms, of which SHARE are burnt on one core by this thread's own clock, the rest
slept. Says its port on standard output; each answer is a line of LOG, with the wall time and the CPU
time of the process so far, in seconds.
"""

import http.server
import sys
import time

SHARE = float(sys.argv[1])
LOG = open(sys.argv[2], "w", buffering=1, encoding="ascii")
REQUEST_S = 0.02


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        begin, cpu = time.monotonic(), time.thread_time()
        while time.thread_time() - cpu < SHARE * REQUEST_S:
            pass
        time.sleep(max(0, begin + REQUEST_S - time.monotonic()))
        LOG.write(f"[{time.monotonic()}, {time.process_time()}]\n")
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
