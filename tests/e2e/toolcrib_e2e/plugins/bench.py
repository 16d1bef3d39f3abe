"""A toolcrib with plugins: folders, configuration, and a client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..gateway import Toolcrib, leaving_nothing
from ..report import Failed, Report, expect
from ..scratch import Scratch
from ..servers import FIXTURES, mark_of
from ..session import Reply, Session

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples" / "plugins"


@dataclass
class Bench:
    report: Report
    name: str
    toolcrib: Toolcrib
    plugins: Path
    # The configuration, written anew by `write`.
    config: dict[str, Any] = field(default_factory=dict)

    def test(self, what: str, limit: float = 60.0) -> Any:
        return self.report.test(f"{self.name}: {what}", limit)

    def hand(self, id: str, **settings: Any) -> None:
        """What a plugin is handed; its processes carry the mark of the run."""
        marked = {"E2E_SERVER": mark_of(self.toolcrib.scratch, id), **settings.pop("env", {})}
        self.config["plugins"]["settings"][id] = {"env": marked, **settings}
        self.write()

    def write(self) -> None:
        # In one step, so that whoever watches never reads half of it.
        fresh = self.toolcrib.config.with_suffix(".new")
        fresh.write_text(json.dumps(self.config, indent=1))
        fresh.rename(self.toolcrib.config)

    def example(self, folder: str) -> Path:
        return Path(shutil.copytree(EXAMPLES / folder, self.plugins / folder))

    def odd(
        self, id: str, tools: list[str], offers: list[str | dict[str, Any]] | None = None, more: str = "", **config: Any
    ) -> Path:
        """The misbehaving plugin with these declared tools."""
        folder = self.plugins / id
        # Not among the plugins before it is whole.
        staging = self.plugins.parent / f"making-{id}"
        staging.mkdir()
        shutil.copy(FIXTURES / "plugins" / "odd_plugin.py", staging / "odd_plugin.py")
        tables = "".join(f'[[tools]]\nname = "{tool}"\n{more}\n' for tool in tools)
        (staging / "plugin.toml").write_text(
            f'id = "{id}"\nversion = "1"\ndescription = "a test"\n[run]\nlines = ["python3", "odd_plugin.py"]\n{tables}'
        )
        self.hand(id, config={"offers": tools if offers is None else offers, **config})
        staging.rename(folder)
        return folder


@contextlib.asynccontextmanager
async def bench(report: Report, binary: str, name: str) -> AsyncIterator[Bench]:
    scratch = Scratch("plugins")
    async with leaving_nothing(report, name, scratch):
        plugins = scratch.root / "plugins"
        plugins.mkdir()
        toolcrib = Toolcrib(binary, scratch, scratch.root / "toolcrib.json", options=["--disclosure", "off"])
        config = {"plugins": {"enabled": True, "folders": ["plugins"], "settings": {}}}
        made = Bench(report, name, toolcrib, plugins, config)
        made.write()
        yield made


def left_marks(folder: Path) -> bool:
    """Whether a process of the plugin ever ran."""
    return (folder / "started").exists()


async def names(session: Session) -> set[str]:
    return {tool["name"] for tool in await session.tools()}


async def until(what: str, holds: Any, seconds: float = 30.0) -> None:
    """Waits until the coroutine function `holds` gives something true."""
    deadline = time.monotonic() + seconds
    while not await holds():
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds:.0f} s: {what}")
        await asyncio.sleep(0.05)


async def listed(session: Session, *wanted: str, gone: tuple[str, ...] = ()) -> None:
    async def holds() -> bool:
        there = await names(session)
        return there.issuperset(wanted) and there.isdisjoint(gone)

    await until(f"{wanted} listed and {gone} not", holds)


async def ok(session: Session, tool: str, arguments: dict[str, Any], **more: Any) -> Reply:
    reply = await session.call(tool, arguments, **more)
    expect(not reply.failed, f"{tool} failed: {reply.text[:400]}")
    return reply
