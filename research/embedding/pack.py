#!/usr/bin/env python3
"""The flat form of a table of token vectors, as the binary includes it.

    pack.py FROM.npz OUT.bin      (an .npz with `q` int8, `scale`, `vocab` joined by newlines)

Layout, little endian: the letters `TCRIBSV1`; dimensions u32; number of tokens u32; length of the text of the tokens u32;
0 u32; that text (tokens in byte order, newline after each), padded with 0 to a multiple of 64; a scale f32 for each token, padded
likewise; rows of int8 in the same order.
"""

import sys
from pathlib import Path

import numpy as np


def quantise(table):
    """Rows of int8 and a scale each."""
    scale = np.maximum(np.abs(table).max(1), 1e-9).astype(np.float32) / 127
    return np.rint(table / scale[:, None]).astype(np.int8), scale


def pack(vocabulary, rows, scale):
    order = sorted(range(len(vocabulary)), key=lambda i: vocabulary[i].encode())
    text = "".join(vocabulary[i] + "\n" for i in order).encode()
    head = b"TCRIBSV1" + np.array([rows.shape[1], len(order), len(text), 0], dtype="<u4").tobytes()

    def padded(data):
        return data + bytes(-len(data) % 64)

    return padded(head + text) + padded(scale[order].astype("<f4").tobytes()) + rows[order].astype("i1").tobytes()


if __name__ == "__main__":
    source = np.load(sys.argv[1])
    tokens = bytes(source["vocab"]).decode() if source["vocab"].dtype.kind != "U" else str(source["vocab"])
    Path(sys.argv[2]).write_bytes(pack(tokens.split("\n"), source["q"], source["scale"].astype(np.float32).ravel()))
