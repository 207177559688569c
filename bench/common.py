"""What the benchmarks share: pinned processes, their CPU time, rounds, and verdicts.

The server runs on CPU 0 and the client on CPU 1 (VENTURI_BENCH_CPUS="SERVER CLIENT" for others), so
that neither takes the other's time. Rounds of the peers are interleaved, so that what else the
machine does meets all of them alike, and the median of the rounds is what counts.
"""

import argparse
import contextlib
import json
import math
import os
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

# Streams are descriptors, here and in what is started from here.
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("VENTURI_BUILD", os.path.join(ROOT, "build")))
VENTURI = os.path.join(BUILD, "venturi")
SERVER_CPU, CLIENT_CPU = os.environ.get("VENTURI_BENCH_CPUS", "0 1").split()


def need(path):
    """A program that must be there; says what to do where it is not."""
    found = path if os.sep in path and os.access(path, os.X_OK) else shutil_which(path)
    if not found:
        sys.exit(f"bench: '{path}' is missing: build first (make), and run scripts/setup bench")
    return found


def shutil_which(name):
    for folder in os.environ["PATH"].split(":") + ["/usr/sbin"]:
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    return None


def arguments(doc, **defaults):
    """The options that all benchmarks have; defaults may change rounds and seconds."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=defaults.get("rounds", 5))
    parser.add_argument("--seconds", type=float, default=defaults.get("seconds", 5.0),
                        help="length of one round of one client")
    parser.add_argument("--json", metavar="FILE", help="add the results to FILE, one JSON object a line")
    return parser


class Finished:
    """A process that has ended: its output, CPU time (user, system) and largest resident size."""

    def __init__(self, code, out, usage, wall_s):
        self.code, self.out, self.wall_s = code, out, wall_s
        self.user_s, self.system_s = usage.ru_utime, usage.ru_stime
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.rss_kib = usage.ru_maxrss


def run(command, cpu=CLIENT_CPU, check=True):
    """Runs a command pinned to a CPU to its end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen(["taskset", "-c", cpu] + command, stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        out.seek(0)
        errors.seek(0)
        if check and code != 0:
            sys.exit(f"bench: {' '.join(command)} ended with {code}: {errors.read().decode()}")
        return Finished(code, out.read().decode(), usage, wall)


def load(url, *options, check=True):
    """Runs `venturi load` pinned to the client's CPU; returns its JSON and the finished process."""
    with tempfile.TemporaryDirectory(prefix="venturi-bench-") as folder:
        done = run([need(VENTURI), "load", url, "-q", "--check-client", "off", "--ledger", f"{folder}/ledger.db",
                    "--json", f"{folder}/run.json", *options], check=check)
        with open(f"{folder}/run.json", encoding="utf-8") as f:
            return json.load(f), done


def load_knows(option):
    return option in subprocess.run([need(VENTURI), "load", "--help"], capture_output=True, text=True,
                                    check=True).stdout


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(port, process):
    for _ in range(500):
        if process.poll() is not None:
            sys.exit("bench: the server did not start")
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    sys.exit("bench: the server does not listen")


@contextlib.contextmanager
def server(command, port):
    """A server pinned to its CPU while the block runs."""
    process = subprocess.Popen(["taskset", "-c", SERVER_CPU] + command, stdout=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextlib.contextmanager
def nginx():
    """nginx with one worker that answers everything with a short 200; yields its URL."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="venturi-bench-") as folder:
        config = os.path.join(folder, "nginx.conf")
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"""daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 4096; }}
http {{
    access_log off; keepalive_requests 1000000000;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200 "ok\\n"; }}
        location = /status {{ stub_status; }} }}
}}
""")
        with server([need("nginx"), "-p", folder, "-c", config, "-e", f"{folder}/errors"], port):
            yield f"http://127.0.0.1:{port}/"


def number(value):
    """Four significant digits."""
    if value == 0 or not math.isfinite(value):
        return str(value)
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


class Row:
    """One figure against its bar and aim: "<= 1.00" or ">= 1.05"; None where there is none."""

    def __init__(self, what, unit, values, bar=None, aim=None, note=""):
        self.what, self.unit, self.values, self.note = what, unit, list(values), note
        self.bar, self.aim = bar, aim
        self.median = statistics.median(self.values)

    @staticmethod
    def _meets(value, limit):
        sign, wanted = limit.split()
        return value <= float(wanted) if sign == "<=" else value >= float(wanted)

    def verdict(self):
        if not self.bar:
            return ""
        if self.aim and self._meets(self.median, self.aim):
            return "aim reached"
        return "bar reached" if self._meets(self.median, self.bar) else "MISSED"

    def line(self):
        spread = f"{number(min(self.values))} to {number(max(self.values))}"
        return (f"{self.what:<58} {number(self.median):>10} {self.unit:<6} ({spread}; n={len(self.values)})"
                f"  bar {self.bar or '-'}, aim {self.aim or '-'}: {self.verdict() or '-'}"
                + (f"  [{self.note}]" if self.note else ""))


def report(name, rows, options):
    """Prints the rows; appends them to --json; exit code 1 where a bar was missed."""
    for row in rows:
        print(row.line(), flush=True)
    if options.json:
        with open(options.json, "a", encoding="utf-8") as f:
            for row in rows:
                f.write(json.dumps({"bench": name, "what": row.what, "unit": row.unit, "median": row.median,
                                    "values": row.values, "bar": row.bar, "aim": row.aim,
                                    "verdict": row.verdict(), "note": row.note}) + "\n")
    sys.exit(any(row.verdict() == "MISSED" for row in rows))


def ratios(ours, theirs):
    """Round by round: what the machine did meanwhile met both."""
    return [a / b for a, b in zip(ours, theirs)]


def find(pattern, text):
    match = re.search(pattern, text)
    if not match:
        sys.exit(f"bench: cannot read this output: {text}")
    return float(match.group(1))
