#!/usr/bin/env python3
"""Writes the tokenizers and texts of this folder: make.py CORPUS_FILE... ; seeds are fixed.

The vocabularies are small and of no use but for tests; what surrounds them is what the tokenizers
of well-known models have. reference.cjs then writes the ids."""
import base64
import json
import random
import re
import struct
import sys
from collections import Counter
from unicodedata import category

N_MERGES = 320
MARK = "\u2581"
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
WORD = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CASED = (r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + "+" + CONTRACTIONS + "?|"
         r"[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER + "*" + CONTRACTIONS + r"?|\p{N}{1,3}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def alphabet():
    """GPT-2's: printable bytes as they are, the others from U+0100 on."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in keep]
    return {**{b: chr(b) for b in keep}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def train(words, n, join=lambda a, b: a + b):
    """The n most frequent pairs, one after the other; words are lists of symbols with counts."""
    words = [(list(w), c) for w, c in words]
    merges = []
    while len(merges) < n:
        pairs = Counter()
        for w, c in words:
            for pair in zip(w, w[1:]):
                pairs[pair] += c
        if not pairs:
            break
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        for w, _ in words:
            i = 0
            while i + 1 < len(w):
                if (w[i], w[i + 1]) == best:
                    w[i:i + 2] = [join(*best)]
                i += 1
    return merges


def added(i, text, **more):
    row = {"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
           "normalized": False, "special": True}
    return {**row, **more}


def split(regex, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


def byte_level(use_regex=False, space=False):
    return {"type": "ByteLevel", "add_prefix_space": space, "trim_offsets": True,
            "use_regex": use_regex}


def sequence(*steps, of="pretokenizers"):
    return {"type": "Sequence", of: list(steps)}


def template(before, after, ids):
    special = lambda t: {"SpecialToken": {"id": t, "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    return {"type": "TemplateProcessing",
            "single": [*map(special, before), text, *map(special, after)],
            "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {t: {"id": t, "ids": [ids[t]], "tokens": [t]}
                               for t in sorted({*before, *after})}}


def bpe(vocab, merges, **more):
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "ignore_merges": False, "vocab": vocab, "merges": merges, **more}


def write(name, model, tokens=(), normalizer=None, pre=None, post=None):
    with open(name + ".json", "w", encoding="utf-8") as f:
        json.dump({"version": "1.0", "truncation": None, "padding": None,
                   "added_tokens": list(tokens), "normalizer": normalizer, "pre_tokenizer": pre,
                   "post_processor": post, "decoder": None, "model": model},
                  f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


def byte_models(corpus):
    letters = alphabet()
    words = Counter(re.findall(r" ?\w+| ?[^\w\s]+|\s+", corpus))
    spelled = [("".join(letters[b] for b in w.encode()), c) for w, c in words.items()]
    merges = train(spelled, N_MERGES)
    vocab = {letters[b]: i for i, b in enumerate(sorted(letters))}
    for pair in merges:
        vocab.setdefault("".join(pair), len(vocab))
    n = len(vocab)
    joined = [" ".join(p) for p in merges]
    end = added(n, "<|endoftext|>")
    write("gpt2", bpe(vocab, joined), [end], pre=byte_level(True), post=byte_level(True))
    write("roberta", bpe(vocab, joined),
          [added(n, "<s>"), added(n + 1, "</s>"), added(n + 2, "<mask>", lstrip=True)],
          pre=byte_level(True, True),
          post={"type": "RobertaProcessing", "sep": ["</s>", n + 1], "cls": ["<s>", n],
                "trim_offsets": True, "add_prefix_space": True})
    # A whole word that no merges lead to.
    whole = {**vocab, letters[32] + "whole": n}
    write("llama3", bpe(whole, joined, ignore_merges=True),
          [added(n + 1, "<|begin_of_text|>"), added(n + 2, "<|eot_id|>")],
          pre=sequence(split(WORD + r"\p{N}{1,3}|" + REST), byte_level()),
          post=sequence(byte_level(), template(["<|begin_of_text|>"], [],
                                               {"<|begin_of_text|>": n + 1}), of="processors"))
    write("qwen2", bpe(vocab, [list(p) for p in merges], continuing_subword_prefix="",
                       end_of_word_suffix=""),
          [end, added(n + 1, "<|im_end|>"), added(n + 2, "<tool_call>", special=False)],
          normalizer={"type": "NFC"},
          pre=sequence(split(WORD + r"\p{N}|" + REST), byte_level()), post=byte_level())
    write("deepseek_v3", bpe(vocab, joined),
          [added(n, "<\uff5cUser\uff5c>", special=False, normalized=True)],
          normalizer=sequence(of="normalizers"),
          pre=sequence(split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"),
                       split("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
                             "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
                             "\\s*[\r\n]+|\\s+(?!\\S)|\\s+"), byte_level()))
    write("gpt4o", bpe(vocab, joined), [end],
          pre=sequence(split(CASED, "Removed", True), byte_level()))
    write("starcoder", bpe(vocab, joined), [end],
          pre=sequence({"type": "Digits", "individual_digits": True}, byte_level(True)))


def marked_models(corpus):
    text = corpus.replace(" ", MARK)
    words = Counter(re.findall(MARK + r"?[^\s" + MARK + "]+", text))
    chars = [c for c, _ in Counter(text).most_common(260) if not c.isspace()]
    known = set(chars)
    words = [(w, c) for w, c in words.items() if set(w) <= known]
    merges = train(words, N_MERGES)
    vocab = {t: i for i, t in enumerate(["<unk>", "<s>", "</s>"])}
    for b in range(256):
        vocab[f"<0x{b:02X}>"] = len(vocab)
    for t in chars + ["".join(p) for p in merges]:
        vocab.setdefault(t, len(vocab))
    joined = [" ".join(p) for p in merges]
    tokens = [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")]
    model = bpe(vocab, joined, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    to_mark = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
    write("llama2", model, tokens, post=template(["<s>"], [], vocab),
          normalizer=sequence({"type": "Prepend", "prepend": MARK}, to_mark, of="normalizers"))
    write("gemma", model, tokens + [added(len(vocab), "<image>", normalized=True, special=False)],
          normalizer=to_mark,
          pre={"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious",
               "invert": False}, post=template(["<s>"], [], vocab))
    metaspace = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "first", "split": False}
    write("mistral", model, tokens, pre=metaspace, post=template(["<s>"], ["</s>"], vocab))
    unfused = {**model, "byte_fallback": False, "fuse_unk": False}
    write("metaspace", unfused, tokens, pre={**metaspace, "prepend_scheme": "always", "split": True})
    score = {t: -8.0 - 0.01 * i for i, t in enumerate(vocab)}
    scored = [[t, 0.0 if i < 3 else score[t]] for i, t in enumerate(vocab)]
    write("unigram", {"type": "Unigram", "unk_id": 0, "vocab": scored, "byte_fallback": False},
          tokens, normalizer=sequence({"type": "Nmt"}, {"type": "NFKC"},
                                      {"type": "Replace", "pattern": {"Regex": " {2,}"},
                                       "content": " "}, of="normalizers"),
          pre=sequence({"type": "WhitespaceSplit"}, {**metaspace, "prepend_scheme": "always",
                                                     "split": True}),
          post=template([], ["</s>"], vocab))
    table = charsmap({"\uff21": "A", "\ufb01": "fi", "\u00e9": "e", "e\u0301": "ee", "\u3000": " ",
                      "the": "Q", "\t": " ", "\u212b": "\u00c5", "\n": " ", "\u200b": ""})
    write("t5", {"type": "Unigram", "unk_id": 0, "vocab": scored}, tokens,
          normalizer={"type": "Precompiled", "precompiled_charsmap": table},
          pre={**metaspace, "prepend_scheme": "always", "split": True},
          post=template([], ["</s>"], vocab))
    write("unigram_bytes", {"type": "Unigram", "unk_id": 0, "vocab": scored, "byte_fallback": True},
          tokens, normalizer={"type": "Strip", "strip_left": True, "strip_right": True},
          pre={"type": "Metaspace", "replacement": MARK, "add_prefix_space": True})


def charsmap(replaced):
    """SentencePiece's table: a double array as Darts-clone lays it out, and the replacements."""
    texts, trie = b"", {}
    for key, value in replaced.items():
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = len(texts)
        texts += value.encode() + b"\0"
    units, used = {}, {0}

    def place(node, at, label):
        labels = [child or 0 for child in node]
        offset = next(o for o in range(1, 1 << 21) if used.isdisjoint(at ^ o ^ c for c in labels))
        used.update(at ^ offset ^ c for c in labels)
        units[at] = offset << 10 | (None in node) << 8 | label
        for child, below in node.items():
            if child is None:
                units[at ^ offset] = below | 1 << 31
            else:
                place(below, at ^ offset ^ child, child)

    place(trie, 0, 0)
    array = b"".join(struct.pack("<I", units.get(i, 0)) for i in range((max(used) | 255) + 1))
    return base64.b64encode(struct.pack("<I", len(array)) + array + texts).decode()


def word_models(corpus):
    words = Counter(re.findall(r"\w+|[^\w\s]", corpus.lower()))
    chars = [c for c, _ in Counter("".join(words)).most_common(260)]
    common = [w for w, _ in words.most_common(160) if len(w) > 1]
    tails = Counter(w[-n:] for w in words for n in (2, 3) if len(w) > n + 1)
    vocab = {t: i for i, t in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])}
    for t in chars + common + ["##" + c for c in chars] + ["##" + t for t, _ in tails.most_common(60)]:
        vocab.setdefault(t, len(vocab))
    tokens = [added(i, t) for t, i in vocab.items() if i < 5]
    tokens[4].update(lstrip=True, rstrip=True)
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 20, "vocab": vocab}
    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
            "strip_accents": None, "lowercase": True}
    write("bert", model, tokens, normalizer=bert, pre={"type": "BertPreTokenizer"},
          post=template(["[CLS]"], ["[SEP]"], vocab))
    write("words", model, tokens + [added(len(vocab), "the", special=False, single_word=True)],
          normalizer=sequence({"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
                              of="normalizers"),
          pre=sequence({"type": "Whitespace"}, {"type": "Punctuation", "behavior": "Contiguous"},
                       {"type": "Digits", "individual_digits": False}),
          post={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]})
    # CLIP's manner: the end of a word is part of its last piece.
    symbols = [([*w[:-1], w[-1] + "</w>"], c) for w, c in words.items()]
    merges = train(symbols, N_MERGES)
    ends = {"[UNK]": 0}
    for t in chars + [c + "</w>" for c in chars] + ["".join(p) for p in merges]:
        ends.setdefault(t, len(ends))
    write("clip", bpe(ends, [" ".join(p) for p in merges], unk_token="[UNK]",
                      end_of_word_suffix="</w>"), [added(0, "[UNK]")],
          normalizer=sequence({"type": "NFKD"}, {"type": "Lowercase"}, of="normalizers"),
          pre=sequence({"type": "CharDelimiterSplit", "delimiter": "-"},
                       split(r"\w+|\S", "MergedWithNext"), split(r"\s+", "Removed")))
    symbols = [([w[0], *("##" + c for c in w[1:])], c) for w, c in words.items()]
    merges = train(symbols, N_MERGES, lambda a, b: a + b[2:])
    goes_on = {}
    for t in chars + ["##" + c for c in chars] + [a + b[2:] for a, b in merges]:
        goes_on.setdefault(t, len(goes_on))
    write("prefix", bpe(goes_on, [list(p) for p in merges], continuing_subword_prefix="##"),
          normalizer={"type": "Lowercase"}, pre={"type": "Whitespace"})


def texts():
    rng = random.Random(7)
    plain = ["", " ", "  ", "\n", "\r\n\r\n", "\t x", "Hello world", " Hello  World!", "I'M sure he'll",
             "3.14159 and 1000000", "def f(x):\n    return x ** 2  # \u00bd\n", "a</s>b <s> c",
             "<|im_end|>x<|endoftext|> <|begin_of_text|>", "use <tool_call> and <\uff5cUser\uff5c>",
             "a [MASK] b[MASK]", "the lathe the", "under_score the_end", " whole wholes",
             "\u4e2d\u6587\u548c English \u6df7\u5408\u3002\u65e5\u672c\u8a9e\u306e\u30c6\u30b9\u30c8",
             "caf\u00e9 cafe\u0301 \ufb01ne \u212b \u0130stanbul \u017f",
             "\U0001f642 \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea",
             "x" * 30, "-a-b- c-", "word" * 40, "HTTPServer iPhone's CamelCase\n\n\n  end   "]
    bits = [" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u180e", "\u2028", "\u0085", "the", "The",
            "'s", "'LL", "\u00e9", "e\u0301", "\u0130", "\u00df", "0", "12", "345", "\u00bd", "\u2167",
            "\u0661", "\u4e2d", "\u306e", "\ud55c", "\u0411", "\u05e9", "\u0928\u093f", "\U0001f642",
            "\ufe0f", "!", "?!", "...", "\u2014", "$", "+=", "/", "_", "<s>", "</s>", "<mask>", "\u2581",
            "\u0120", "\x00", "\x7f", "\u200b", "\ufeff", "\ufffd", "\U0001d54f", "\U00020000", "\u01c5",
            "\u24d0", "\u02b0", "\u0301", "\u2126", "ing", "and", "-"]
    mixed = ["".join(rng.choice(bits) for _ in range(rng.randint(1, 14))) for _ in range(110)]
    wild = []
    while len(wild) < 40:
        codes = [rng.randrange(rng.choice([0x80, 0x800, 0x10000, 0x20000])) for _ in range(8)]
        # Only what Unicode 14 knows: that of later versions depends on the version.
        wild.append("".join(chr(c) for c in codes if category(chr(c)) not in ("Cn", "Cs")))
    return plain + mixed + wild


corpus = "".join(open(f, encoding="utf-8").read() for f in sys.argv[1:])
byte_models(corpus)
marked_models(corpus)
word_models(corpus)
json.dump(texts(), open("texts.json", "w"), indent=0)
