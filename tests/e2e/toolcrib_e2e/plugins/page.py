"""docs/plugins.md: the lesson and the sample of a configuration, followed literally: their blocks become files and commands."""

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


async def run(report: Report, tools: Installed, binary: str, name: str) -> None:
    async with report.test(f"{name}: followed from its beginning to its end", 120):
        files = {"toml": ["dice/plugin.toml", "toolcrib.toml"], "python": ["dice/dice.py"]}
        said = await _follow("A plugin in Python in five minutes", files, binary)
        expect(len(said) == 2, f"the page lost commands: {len(said)}")
        expect("offers 1 of 1 declared tools" in said[0] and "does what its manifest says" in said[0], said[0])
        expect("added plugin 'dice'" in said[1], said[1])
        expect(re.search(r"^\s*dice\s+1\.0\.0\s+lines\s+ready\s+1 of 1", said[1], re.MULTILINE), said[1])
        expect(re.search(r"The dice show \[[1-6], [1-6], [1-6]\]", said[1]), said[1])
    async with report.test(f"{name}: the sample of a configuration does what it says", 120):
        [said] = await _follow("What the configuration says", {"toml": ["toolcrib.toml"]}, binary)
        expect("does what its manifest says" in said and "added plugin 'weather'" in said, said)
        expect(re.search(r"^\s*weather\s+1\.0\.0\s+lines\s+ready\s+3 of 3", said, re.MULTILINE), said)
        expect("Oslo: day 0: -3 °C, snow" in said, said)


async def _follow(heading: str, files: dict[str, list[str]], binary: str) -> list[str]:
    """Follows a section; `files` are those that its blocks are, by kind, in the order of the page. What its commands said."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.split(f"## {heading}", 1)[1].split("\n## ", 1)[0]
    scratch = Scratch("page")
    try:
        folder = scratch.root / "lesson"
        for file in (file for kind in files.values() for file in kind):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (scratch.root / "bin").mkdir()
        (scratch.root / "bin" / "toolcrib").symlink_to(binary)
        # Commands are given from the folder of the repository.
        (folder / "examples").symlink_to(ROOT / "examples")
        said = []
        for block in BLOCK.finditer(section):
            kind = block["kind"]
            if kind == "sh":
                said.append(await _shell(block["text"], folder, scratch))
            else:
                expect(files.get(kind), f"the page has a block of {kind} that no file is known for")
                file = files[kind].pop(0)
                expect(f"`{file}`" in section, f"the page does not name {file}")
                (folder / file).write_text(block["text"], encoding="utf-8")
        expect(not any(files.values()), f"the page lost blocks: {files}")
        return said
    finally:
        scratch.remove()


async def _shell(commands: str, folder: Path, scratch: Scratch) -> str:
    environment = {**scratch.environment(), "PATH": f"{scratch.root / 'bin'}:{os.environ['PATH']}"}
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", "-e", "-c", commands, cwd=folder, env=environment,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    expect(process.returncode == 0, f"{commands!r} ended with {process.returncode}: {err.decode(errors='replace')[-500:]}")
    return out.decode()
