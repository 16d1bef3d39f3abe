"""docs/api.md: every command on the page is run as it stands, in order, and its answer compared with the one shown.

An answer may have more members than the page shows, and more items after those shown; "..." stands for any number of items.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from typing import Any

from ..installed import Installed
from ..report import Report, expect
from .served import KEYS, PAGE, serving

BLOCKS = re.compile(r"^```sh\n(?P<command>.*?)^```\n\n```(?P<kind>json|events)\n(?P<shown>.*?)^```$", re.DOTALL | re.MULTILINE)


async def run(report: Report, tools: Installed, binary: str, name: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    found = list(BLOCKS.finditer(text))
    async with serving(report, binary, name) as served:
        async with report.test(f"{name}: every command has an answer"):
            expect(len(found) == text.count("\n```sh\n") > 10, f"{len(found)} of {text.count('```sh')} commands")
        for block in found:
            heading = re.findall(r"^##+ (.*)$", text[: block.start()], re.MULTILINE)[-1]
            number = text[: block.start()].count("\n") + 1
            async with report.test(f"{name}: line {number}, {heading}"):
                said = await _run(block["command"], served.address, str(served.folder))
                if block["kind"] == "json":
                    _compare(_last(said), json.loads(block["shown"]), "")
                else:
                    _compare(_events(said), _events(block["shown"]), "")


async def _run(command: str, address: str, folder: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", command, cwd=folder, env={"PATH": os.environ["PATH"], "TOOLCRIB": address, **KEYS},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    expect(process.returncode == 0 and not err, f"ended with {process.returncode}: {err.decode(errors='replace')[:300]}")
    return out.decode()


def _last(text: str) -> Any:
    """The last of the documents."""
    decoder, rest, document = json.JSONDecoder(), text.strip(), None
    while rest:
        document, end = decoder.raw_decode(rest)
        rest = rest[end:].strip()
    return document


def _events(text: str) -> list[Any]:
    events = []
    for event in text.split("\n\n"):
        lines = [line for line in event.splitlines() if line and not line.startswith(":")]
        if lines:
            fields = dict(line.split(": ", 1) for line in lines)
            events.append([fields["event"], json.loads(fields["data"])])
    return events


def _compare(got: Any, shown: Any, at: str) -> None:
    if isinstance(shown, dict):
        expect(isinstance(got, dict), f"{at}: {got!r} is no object")
        for key, value in shown.items():
            expect(key in got, f"{at}/{key} is missing in {json.dumps(got)[:300]}")
            _compare(got[key], value, f"{at}/{key}")
    elif isinstance(shown, list):
        expect(isinstance(got, list), f"{at}: {got!r} is no list")
        if shown and shown[0] == "...":
            for item in shown[1:]:
                expect(any(_fits(one, item) for one in got), f"{at}: nothing like {item} in {json.dumps(got)[:300]}")
        else:
            expect(len(got) >= len(shown) and (bool(shown) or not got), f"{at}: {json.dumps(got)[:300]}")
            for index, item in enumerate(shown):
                _compare(got[index], item, f"{at}/{index}")
    else:
        expect(got == shown, f"{at} is {got!r}, the page says {shown!r}")


def _fits(got: Any, shown: Any) -> bool:
    try:
        _compare(got, shown, "")
    except AssertionError:
        return False
    return True
