"""Tools that are shown by loading a category or by a grant, whose definition only the plugin knows; names that two plugins claim."""

from __future__ import annotations

import json
import shutil
from typing import Any

from ..installed import Installed
from ..report import Report, expect
from ..session import Session
from .bench import Bench, bench, left_marks, listed, names, ok, until


def counted(name: str) -> dict[str, Any]:
    """A tool as only the running plugin says it."""
    return {
        "name": name,
        "inputSchema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
    }


async def run(report: Report, tools: Installed, binary: str, name: str) -> None:
    async with bench(report, binary, name) as made:
        made.odd("lab", ["lab_echo"], offers=[counted("lab_echo")], slow_start=2)
        made.odd("granted", ["granted_echo"], offers=[counted("granted_echo")], more="optional = true")
        made.odd("abel", ["same_echo"], says="abel ")
        made.odd("bill", ["same_echo"], says="bill ")
        made.config["categories"] = {
            "enabled": True,
            "unloaded": "hidden",
            "category": {"rare": {"description": "What is rarely needed.", "tools": ["plugin:lab"]}},
        }
        made.write()
        for era in ("legacy", "modern"):
            async with made.test(f"{era}: the first call after loading a category waits for the plugin and is checked"):
                async with made.toolcrib.open("stdio", era) as session:
                    await _loaded(session)
        await _granted(made)
        async with made.toolcrib.open("http", "legacy") as session:
            await _collision(made, session)


async def _loaded(session: Session) -> None:
    expect("lab_echo" not in await names(session), "what is not loaded is listed")
    await ok(session, "tool_catalog_load", {"category": "rare"})
    # Nobody waited for the plugin, which takes its time to start and has no schema in its manifest.
    reply = await session.call("lab_echo", {"m": 1})
    expect(reply.failed and '"required":["n"]' in reply.text, f"not held against the plugin's schema: {reply.text}")
    reply = await ok(session, "lab_echo", {"n": "1"})
    expect(json.loads(reply.text) == {"n": 1}, f"not repaired by the plugin's schema: {reply.text}")


async def _granted(made: Bench) -> None:
    async with made.test("what is only granted starts with its call, and not without the grant"):
        config = ("--config", str(made.toolcrib.config), "--trust", "all")
        grant = ("--grant", "plugin:granted/granted_echo")
        ended = await made.toolcrib.command("call", "granted_echo", '{"n": 1}', *config)
        expect(ended.code != 0, f"it ran without a grant: {ended.out}")
        expect(not left_marks(made.plugins / "granted"), "it was started without a grant")
        ended = await made.toolcrib.command("call", "granted_echo", '{"n": 1}', *config, *grant)
        expect(ended.code == 0 and '{"n": 1}' in ended.out, f"{ended.out} {ended.err}")
        expect(left_marks(made.plugins / "granted"), "it ran and left no mark")


async def _collision(made: Bench, session: Session) -> None:
    async with made.test("of two plugins with a tool of one name the first by id has it, and the other is told how to get one"):
        await listed(session, "same_echo")
        reply = await ok(session, "same_echo", {})
        expect(reply.text.startswith("abel "), reply.text)
        expect(not left_marks(made.plugins / "bill"), "a plugin that has no name for its tool was started")
        ended = await made.toolcrib.command("plugins", "--config", str(made.toolcrib.config))
        told = "plugin:abel/same_echo has the name same_echo; to change that, give one of them another name"
        expect(told in ended.err and "names.conflict" in ended.err, ended.err)
    async with made.test("when the first is gone the second has the name"):
        shutil.rmtree(made.plugins / "abel")

        async def taken_over() -> bool:
            return (await session.call("same_echo", {})).text.startswith("bill ")

        await until("the other answers", taken_over)
