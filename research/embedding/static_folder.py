"""Writes a packed table of token vectors as the folder of a static model, in model2vec's layout.

    python static_folder.py ../../crates/core/data/static-256.bin OUT

`toolcrib eval --sets FOLDER --encoder-folder OUT` then measures it as an encoder from outside would be. It is a check of that
path and not a stronger model: the table is the built-in one.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

ALIGN = 64


def unpack(packed):
    """Tokens, rows of 8-bit numbers and what they are multiples of, as pack.py laid them out."""
    magic = b"TCRIBSV1"
    assert packed.startswith(magic), "not a packed table"
    dimensions, count, letters = struct.unpack_from("<III", packed, len(magic))
    start = len(magic) + 16
    tokens = packed[start : start + letters].decode().split("\n")[:count]
    at = -(-(start + letters) // ALIGN) * ALIGN
    scales = np.frombuffer(packed, "<f4", count, at)
    at = -(-(at + count * 4) // ALIGN) * ALIGN
    return tokens, np.frombuffer(packed, "i1", count * dimensions, at).reshape(count, dimensions), scales


def safetensors(path, tensors):
    """Writes named arrays."""
    header, at, parts = {}, 0, []
    names = {"int8": "I8", "float32": "F32"}
    for name, array in tensors.items():
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": names[str(array.dtype)], "shape": list(array.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def main(packed, out):
    tokens, rows, scales = unpack(Path(packed).read_bytes())
    unknown = "[UNK]"
    if unknown not in tokens:
        tokens, rows = [*tokens, unknown], np.vstack([rows, np.zeros((1, rows.shape[1]), "i1")])
        scales = np.append(scales, np.float32(0))
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {token: number for number, token in enumerate(tokens)},
        },
    }
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    safetensors(out / "model.safetensors", {"embeddings": rows, "weights": scales.astype("f4")})
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), "utf-8")
    (out / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
