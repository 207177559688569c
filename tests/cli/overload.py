"""
overload.py - clients of an encoder service who ask without a pause until nobody answers any more.

    overload.py URL CLIENTS

Prints how many answers of each status came whole, as JSON: {"200": 17, "429": 300}. Exits with 1 when an
answer is not what its status promises: as many vectors as texts, Retry-After with 429, nothing more
behind the answer.
"""
import collections
import http.client
import json
import sys
import threading
import urllib.parse

SECONDS_MAX = 30


def check(answer, body, n_texts):
    data = json.loads(body)
    if answer.status == 200:
        assert [one["index"] for one in data["data"]] == list(range(n_texts))
    else:
        assert data["error"]["message"]
        assert answer.status in (429, 503)
        assert answer.status != 429 or int(answer.getheader("Retry-After")) >= 1


def ask_on(host, client, seen):
    connection, n = None, 0
    while True:
        connection = connection or http.client.HTTPConnection(host, timeout=SECONDS_MAX)
        n += 1
        texts = [f"text {client} " * (1 + (7 * client + n) % 20)] * (1 + n % 3)
        try:
            connection.request("POST", "/v1/embeddings", json.dumps({"input": texts}))
            answer = connection.getresponse()
            body = answer.read()
        except ConnectionRefusedError:
            return
        except (http.client.RemoteDisconnected, ConnectionError):
            connection = None   # between two requests the service may close
            continue
        check(answer, body, len(texts))
        seen[answer.status] += 1
        if not connection.sock:     # it said "Connection: close"
            connection = None


def main():
    host, failed = urllib.parse.urlsplit(sys.argv[1]).netloc, []
    counts = [collections.Counter() for _ in range(int(sys.argv[2]))]
    threading.excepthook = lambda args: (failed.append(args), sys.__excepthook__(*args[:3]))
    threads = [threading.Thread(target=ask_on, args=(host, i, seen), daemon=True)
               for i, seen in enumerate(counts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS_MAX)
    print(json.dumps(sum(counts, collections.Counter())))
    sys.exit(bool(failed) or any(thread.is_alive() for thread in threads))


main()
