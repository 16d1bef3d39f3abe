"""When two results count as equal: everything is compared, but for what differs between any two runs."""

from __future__ import annotations

import copy
import difflib
import json
import re
from typing import Any

from .report import Failed
from .scratch import Scratch

# Added to a result by the modern era, and not part of what the tool answered.
MODERN_KEYS = ("resultType", "ttlMs", "cacheScope")
MODERN_META = "io.modelcontextprotocol/serverInfo"
# Added to results of servers: nobody vouches for them.
UNTRUSTED_META = "toolcrib/untrusted"

CLOCK = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT[^\n\"]*"
    r"|\d{1,2}:\d\d:\d\d(?:\s?[AP]M)?|\d{1,2}/\d{1,2}/\d{4}"
)
DAY = re.compile(r"\d{4}-\d\d-\d\d|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")


def normalised(reply: Any, scratch: Scratch, volatile: tuple[str, ...] = ()) -> Any:
    """The reply with the scratch path, the additions of the modern era and toolcrib's mark, and the volatile parts
    replaced."""
    reply = copy.deepcopy(reply)
    if isinstance(reply, dict):
        for key in MODERN_KEYS:
            reply.pop(key, None)
        # Absent and false mean the same, and the clients write either.
        if reply.get("isError") is False:
            del reply["isError"]
        meta = reply.get("_meta")
        if isinstance(meta, dict):
            meta.pop(MODERN_META, None)
            meta.pop(UNTRUSTED_META, None)
            if not meta:
                del reply["_meta"]
    if "environment" in volatile:
        return _environment(reply)
    if "blob" in volatile:
        _drop_blobs(reply)
    text = json.dumps(reply, ensure_ascii=False, sort_keys=True)
    text = text.replace(str(scratch.root), "<root>")
    if "clock" in volatile or "date" in volatile:
        text = DAY.sub("<day>", CLOCK.sub("<clock>", text))
    return json.loads(text)


def _drop_blobs(value: Any) -> None:
    """Blobs of resources that carry the time in their bytes: the length stays."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "blob" and isinstance(inner, str):
                value[key] = "<blob>"
            else:
                _drop_blobs(inner)
    elif isinstance(value, list):
        for inner in value:
            _drop_blobs(inner)


def _environment(reply: Any) -> Any:
    """A server's own environment: the configured variables are there, the secrets of the parent are not."""
    variables = json.loads(reply["content"][0]["text"])
    kept = {key: variables.get(key) for key in ("E2E_CONFIGURED", "E2E_PARENT_SECRET")}
    kept["PATH is set"] = bool(variables.get("PATH"))
    reply["content"][0]["text"] = kept
    return reply


def expect_equal(got: Any, wanted: Any, what: str) -> None:
    if got == wanted:
        return
    lines = difflib.unified_diff(
        json.dumps(wanted, indent=1, sort_keys=True, ensure_ascii=False).splitlines(),
        json.dumps(got, indent=1, sort_keys=True, ensure_ascii=False).splitlines(),
        "wanted",
        "got",
        lineterm="",
        n=1,
    )
    raise Failed(f"{what} differs: " + "\n".join(line[:200] for line in lines))
