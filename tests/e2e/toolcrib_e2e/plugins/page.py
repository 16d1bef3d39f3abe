"""docs/plugins.md, "A plugin in Python in five minutes", followed literally: its blocks become files and commands."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from ..installed import Installed
from ..report import Report, expect
from ..scratch import Scratch
from .bench import ROOT

PAGE = ROOT / "docs" / "plugins.md"
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
# The file that a block of this kind is, in the order of the page.
FILES = {"toml": ["dice/plugin.toml", "toolcrib.toml"], "python": ["dice/dice.py"]}


async def run(report: Report, tools: Installed, binary: str, name: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    lesson = text.split("## A plugin in Python in five minutes", 1)[1].split("\n## ", 1)[0]
    scratch = Scratch("page")
    folder = scratch.root / "lesson"
    (folder / "dice").mkdir(parents=True)
    (scratch.root / "bin").mkdir()
    (scratch.root / "bin" / "toolcrib").symlink_to(binary)
    try:
        async with report.test(f"{name}: followed from its beginning to its end", 120):
            await _follow(lesson, folder, scratch)
    finally:
        scratch.remove()


async def _follow(lesson: str, folder: Path, scratch: Scratch) -> None:
    left = {kind: list(files) for kind, files in FILES.items()}
    said = []
    for block in BLOCK.finditer(lesson):
        kind = block["kind"]
        if kind == "sh":
            said.append(await _shell(block["text"], folder, scratch))
        else:
            expect(left.get(kind), f"the page has a block of {kind} that no file is known for")
            file = left[kind].pop(0)
            expect(f"`{file}`" in lesson, f"the page does not name {file}")
            (folder / file).write_text(block["text"], encoding="utf-8")
    expect(not any(left.values()) and len(said) == 2, f"the page lost blocks: {left}, {len(said)} commands")
    expect("offers 1 of 1 declared tools" in said[0] and "does what its manifest says" in said[0], said[0])
    expect("added plugin 'dice'" in said[1], said[1])
    expect(re.search(r"^\s*dice\s+1\.0\.0\s+lines\s+ready\s+1 of 1", said[1], re.MULTILINE), said[1])
    expect(re.search(r"The dice show \[[1-6], [1-6], [1-6]\]", said[1]), said[1])


async def _shell(commands: str, folder: Path, scratch: Scratch) -> str:
    environment = {**scratch.environment(), "PATH": f"{scratch.root / 'bin'}:{os.environ['PATH']}"}
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", "-e", "-c", commands, cwd=folder, env=environment,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    expect(process.returncode == 0, f"{commands!r} ended with {process.returncode}: {err.decode(errors='replace')[-500:]}")
    return out.decode()
