"""
answers.py - asks a running encoder service about a trained model and compares what it answers.

    answers.py accuracy  URL MODEL       share of test.tsv that /classify gets right: "RIGHT N"
    answers.py reference URL MODEL       how far scores and embeddings are from reference.json
    answers.py alone     URL MODEL OUT   scores and embeddings of each text, one request after another
    answers.py together  URL MODEL OUT   the same, in requests of many sizes and APIs at the same time
    answers.py compare   A B             the largest difference of two such files

MODEL is a folder with test.tsv and reference.json. Exits with 1 and a sentence when an answer is not
of the form it should have. Needs nothing but Python's own library.
"""
import base64
import concurrent.futures
import http.client
import json
import math
import random
import struct
import sys
import threading
import urllib.parse

CLIENTS = 8
TEXTS = 90              # of test.tsv, for comparisons of modes

local = threading.local()


def post(url, path, body):
    """The JSON that is answered with status 200."""
    if not hasattr(local, "connection"):
        local.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=60)
    local.connection.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    answer = local.connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        sys.exit(f"{path}: status {answer.status}: {text[:300]!r}")
    return json.loads(text)


def model_path(url):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=60)
    connection.request("GET", "/v1/models")
    name = json.loads(connection.getresponse().read())["data"][0]["id"]
    return f"/v2/models/{urllib.parse.quote(name, safe='')}/infer"


def tensor(url, tensors, output):
    """The rows of an output of KServe's inference."""
    got = post(url, local.infer, {"inputs": tensors, "outputs": [{"name": output}]})["outputs"][0]
    n, width = got["shape"]
    assert got["name"] == output and len(got["data"]) == n * width
    return [got["data"][i * width:(i + 1) * width] for i in range(n)]


def text_tensor(texts):
    return [{"name": "text", "datatype": "BYTES", "shape": [len(texts)], "data": texts}]


def scores(url, texts):
    return tensor(url, text_tensor(texts), "scores")


def embeddings(url, texts):
    return tensor(url, text_tensor(texts), "embeddings")


def openai_embeddings(url, texts):
    data = post(url, "/v1/embeddings", {"input": texts, "encoding_format": "base64"})["data"]
    assert [one["index"] for one in data] == list(range(len(texts)))
    vectors = [base64.b64decode(one["embedding"]) for one in data]
    return [list(struct.unpack(f"<{len(v) // 4}f", v)) for v in vectors]


def tei_embeddings(url, texts):
    return post(url, "/embed", {"inputs": texts})


def tei_scores(url, texts):
    """Sorted by score there, so put back into the order of the labels."""
    answer = post(url, "/predict", {"inputs": [[text] for text in texts], "raw_scores": True})
    return [[dict((c["label"], c["score"]) for c in one)[label] for label in local.labels] for one in answer]


def labels_of(model):
    classes = json.load(open(f"{model}/config.json"))["id2label"]
    return [classes[str(i)] for i in range(len(classes))]


def lines_of(model):
    lines = open(f"{model}/test.tsv", encoding="utf-8").read().split("\n")
    return [line.split("\t", 1) for line in lines if line]


def some_texts(model):
    """Short and long ones, always the same."""
    texts = sorted({text for _, text in lines_of(model)}, key=lambda text: (len(text), text))
    return texts[::max(1, len(texts) // TEXTS)]


def accuracy(url, model):
    lines, labels, right = lines_of(model), labels_of(model), 0
    for i in range(0, len(lines), 100):
        part = lines[i:i + 100]
        data = post(url, "/classify", {"input": [text for _, text in part], "truncate_prompt_tokens": -1})["data"]
        assert [one["index"] for one in data] == list(range(len(part)))
        for (label, _), one in zip(part, data):
            assert one["num_classes"] == len(labels) and abs(math.fsum(one["probs"]) - 1) < 1e-5
            assert one["label"] == labels[max(range(len(labels)), key=one["probs"].__getitem__)]
            right += one["label"] == label
    print(right, len(lines))


def unit(vector):
    length = math.sqrt(math.fsum(x * x for x in vector))
    return [x / length for x in vector]


def furthest(a, b):
    return max(abs(x - y) if math.isfinite(x) else math.inf for x, y in zip(a, b, strict=True))


def reference(url, model):
    cases = json.load(open(f"{model}/reference.json"))["cases"]
    texts = [case["text"] for case in cases]
    off = 0
    for case, by_text in zip(cases, scores(url, texts)):
        ids = [{"name": "input_ids", "datatype": "INT64", "shape": [1, len(case["ids"])], "data": case["ids"]}]
        off = max(off, furthest(case["logits"], by_text),
                  furthest(case["logits"], tensor(url, ids, "scores")[0]))
    print(f"scores {off:.3g}")
    if "embedding_first16" in cases[0]:
        off = max(furthest(case["embedding_first16"], unit(vector)[:16])
                  for case, vector in zip(cases, openai_embeddings(url, texts)))
        print(f"embeddings {off:.3g}")


def enter(url, model):
    local.infer, local.labels = model_path(url), labels_of(model)


def save(out, texts, of_scores, of_embeddings):
    json.dump([[of_scores[text], of_embeddings[text]] for text in texts], open(out, "w"))


def alone(url, model, out):
    texts = some_texts(model)
    save(out, texts, {text: scores(url, [text])[0] for text in texts},
         {text: unit(embeddings(url, [text])[0]) for text in texts})


def together(url, model, out):
    """Each text twice in each of several APIs; the two and all APIs must agree to the last bit but for
    what the way of writing them costs."""
    texts, chance = some_texts(model), random.Random(7)
    found = {"scores": {}, "embeddings": {}}
    work = []
    for ask, of in ((scores, "scores"), (tei_scores, "scores"), (embeddings, "embeddings"),
                    (openai_embeddings, "embeddings"), (tei_embeddings, "embeddings")):
        left = texts[:]
        chance.shuffle(left)
        while left:
            n = min(len(left), chance.choice((1, 1, 1, 2, 3, 5, 8, 13, 40)))
            work.append((ask, of, left[:n]))
            del left[:n]
    chance.shuffle(work)

    def run(one):
        ask, of, part = one
        rows = ask(url, part)
        assert len(rows) == len(part)
        return of, part, [unit(row) for row in rows] if of == "embeddings" else rows

    with concurrent.futures.ThreadPoolExecutor(CLIENTS, initializer=enter, initargs=(url, model)) as pool:
        for of, part, rows in pool.map(run, work):
            for text, row in zip(part, rows):
                found[of].setdefault(text, []).append(row)
    for of, rows in found.items():
        spread = max(furthest(all_of[0], row) for all_of in rows.values() for row in all_of)
        print(f"{of} among themselves {spread:.3g}")
        # the first that is furthest from what the others will be compared with does not matter
        found[of] = {text: all_of[chance.randrange(len(all_of))] for text, all_of in rows.items()}
    save(out, texts, found["scores"], found["embeddings"])


def compare(a, b):
    a, b = json.load(open(a)), json.load(open(b))
    for i, of in enumerate(("scores", "embeddings")):
        print(f"{of} {max(furthest(x[i], y[i]) for x, y in zip(a, b, strict=True)):.3g}")


if __name__ == "__main__":
    verb, arguments = sys.argv[1], sys.argv[2:]
    if verb != "compare":
        enter(*arguments[:2])
    globals()[verb](*arguments)
