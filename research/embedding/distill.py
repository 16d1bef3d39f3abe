#!/usr/bin/env python3
"""Distils the teacher into a table of one vector a token, and packs it for the binary.

    distill.py --texts FILE... --out table.bin [--limit N] [--epochs N] [--cache DIR]

See README.md. Fixed seeds: the same input gives the same table, up to the rounding of the machine's linear algebra.
"""

import argparse
import collections
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sparse

import phrases
from pack import pack, quantise
from teacher import Teacher, wordpiece, words

DIMENSIONS = 256
BATCH = 512
LEARNING_RATE = 2e-3
# Words that the teacher spells in several pieces get a row of their own from this many texts on.
WHOLE_WORD_TEXTS = 4
MAX_WHOLE_WORDS = 5000
# Zipf weight a / (a + p) of a token with relative frequency p.
ZIPF = 1e-4


def read(paths, limit, seed):
    """One text a line; of lines with tabs the last column. Short and foreign ones are left out, duplicates too."""
    texts = []
    for path in paths:
        for line in Path(path).read_text("utf-8", "replace").splitlines():
            text = line.rsplit("\t", 1)[-1].strip()
            if 4 <= len(text.split()) <= 40 and sum(c.isascii() for c in text) >= 0.9 * len(text):
                texts.append(text)
    texts = sorted(set(texts))
    # What speaks of tools is nearest to what is searched for.
    near = [t for t in texts if any(w in t.lower() for w in ("mcp", "tool", "agent", "api client"))]
    rng = np.random.default_rng(seed)
    chosen = set(rng.permutation(len(near))[: limit // 3].tolist())
    picked = [near[i] for i in sorted(chosen)]
    rest = sorted(set(texts) - set(picked))
    picked += [rest[i] for i in sorted(rng.permutation(len(rest))[: limit - len(picked)].tolist())]
    return picked, texts


def choose_vocabulary(teacher, everything):
    """The teacher's tokens that can occur in Latin text, then words that it would spell in pieces."""
    kept = [t for t in teacher.vocabulary if not t.startswith("[") and all(ord(c) < 0x250 for c in t)]
    count = collections.Counter()
    for text in everything:
        count.update({w for w in words(text) if 4 <= len(w) <= 20 and w.isascii() and w.isalpha()})
    new = (w for w, n in count.most_common(200_000) if n >= WHOLE_WORD_TEXTS and w not in teacher.vocabulary)
    return kept + [w for w, _ in zip(new, range(MAX_WHOLE_WORDS))]


def bag(texts, index):
    """How often each token occurs in each text."""
    cache, rows, columns = {}, [], []
    for number, text in enumerate(texts):
        for word in words(text):
            if word not in cache:
                cache[word] = [index[piece] for piece in wordpiece(word, index)]
            rows.extend([number] * len(cache[word]))
            columns.extend(cache[word])
    ones = np.ones(len(rows), dtype=np.float32)
    return sparse.csr_matrix((ones, (rows, columns)), shape=(len(texts), len(index)))


def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)


def train(table, bags, wanted, epochs, rng):
    """Adam on 1 - cosine(sum of rows, wanted vector), only over the rows that a batch touches."""
    first, second = np.zeros_like(table), np.zeros_like(table)
    steps, total = 0, epochs * (-(-bags.shape[0] // BATCH))
    for epoch in range(epochs):
        order, loss = rng.permutation(bags.shape[0]), 0.0
        for at in range(0, len(order), BATCH):
            chosen = order[at : at + BATCH]
            some = bags[chosen]
            used = np.unique(some.indices)
            some = some[:, used]
            sums = some @ table[used]
            length = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
            direction, goal = sums / length, wanted[chosen]
            cosine = (direction * goal).sum(1, keepdims=True)
            loss += float((1 - cosine).sum())
            gradient = some.T @ ((direction * cosine - goal) / length / len(chosen) * BATCH)
            steps += 1
            rate = LEARNING_RATE * (1 - 0.95 * steps / total)
            first[used] += 0.1 * (gradient - first[used])
            second[used] += 0.001 * (gradient * gradient - second[used])
            corrected = np.sqrt(second[used] / (1 - 0.999**steps)) + 1e-8
            table[used] -= rate * (first[used] / (1 - 0.9**steps)) / corrected
        print(f"epoch {epoch + 1}: mean cosine {1 - loss / len(order):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", nargs="+", required=True, help="files of short descriptions, one a line")
    parser.add_argument("--out", required=True, help="the packed table")
    parser.add_argument("--limit", type=int, default=45_000, help="descriptions to learn from")
    parser.add_argument("--phrases", type=int, default=16_000, help="made-up requests to learn from")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--cache", help="folder for the teacher's vectors")
    args = parser.parse_args()
    rng = np.random.default_rng(7)
    teacher = Teacher()
    texts, everything = read(args.texts, args.limit, 7)
    texts += phrases.make(args.phrases, 7)
    vocabulary = choose_vocabulary(teacher, everything)
    index = {token: i for i, token in enumerate(vocabulary)}
    print(f"{len(texts)} texts, {len(vocabulary)} tokens", flush=True)

    started = time.time()

    def report(done, of):
        if time.time() - report.last > 30:
            report.last = time.time()
            print(f"  {done} of {of} encoded after {report.last - started:.0f} s", flush=True)

    report.last = started

    def encode(name, what):
        path = Path(args.cache) / f"{name}-{len(what)}.npy" if args.cache else None
        if path and path.exists():
            return np.load(path)
        vectors = teacher.encode(what, report=report)
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, vectors)
        return vectors

    wanted = encode("texts", texts)
    alone = encode("tokens", [token.removeprefix("##") for token in vocabulary])
    _, _, directions = np.linalg.svd((wanted.T @ wanted).astype(np.float64))
    project = directions[:DIMENSIONS].T.astype(np.float32)
    wanted = unit(wanted @ project)
    bags = bag(texts, index)
    rank = np.empty(len(vocabulary))
    rank[np.argsort(-np.asarray(bags.sum(0)).ravel(), kind="stable")] = np.arange(len(vocabulary))
    share = 1 / (rank + 10) / np.log(len(vocabulary))
    table = (alone @ project) * (ZIPF / (ZIPF + share))[:, None].astype(np.float32)

    aside = rng.permutation(len(texts))[: min(1000, len(texts) // 10)]
    learnt = np.setdiff1d(np.arange(len(texts)), aside)
    train(table, bags[learnt], wanted[learnt], args.epochs, rng)
    rows, scale = quantise(table)
    sums = unit(bags[aside] @ (rows * scale[:, None]))
    print(f"cosine on texts kept aside, after rounding to 8 bits: {(sums * wanted[aside]).sum(1).mean():.4f}")
    Path(args.out).write_bytes(pack(vocabulary, rows, scale))


if __name__ == "__main__":
    main()
