"""Plugins that crash, hang, lie, collide, are denied and are reloaded, seen by a client of the gateway."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

from ..installed import Installed
from ..report import Report, expect
from ..session import Session
from .bench import Bench, bench, left_marks, listed, names, ok, until


async def run(report: Report, tools: Installed, binary: str, name: str) -> None:
    async with bench(report, binary, name) as made:
        made.odd("steady", ["steady_echo"], says="steady ")
        made.odd("fragile", ["fragile_crash", "fragile_echo"])
        made.odd("late", ["late_echo"], slow_start=3)
        made.odd("liar", ["liar_echo", "liar_missing"], offers=["liar_echo", "liar_secret"])
        denied = made.odd("denied", ["denied_echo"])
        optional = made.odd("optional", ["optional_echo"], more="optional = true")
        # The ids of a built-in tool, of a server and of another plugin.
        made.odd("read_file", ["x_echo"])
        made.odd("ledger", ["y_echo"])
        made.odd("twin", ["twin_echo"])
        (made.plugins / "zz-twin").mkdir()
        (made.plugins / "zz-twin" / "plugin.toml").write_text((made.plugins / "twin" / "plugin.toml").read_text())
        made.config["builtin"] = {"files": {"enabled": True, "roots": [str(made.toolcrib.scratch.home)]}}
        made.config["servers"] = {"ledger": {"command": "true"}}
        made.config["policy"] = {"deny": ["plugin:denied"]}
        made.write()
        began = time.monotonic()
        async with made.toolcrib.open("http", "legacy") as session:
            async with made.test("a slow start delays nobody else, and its own call waits"):
                await listed(session, "steady_echo", "late_echo")
                await ok(session, "steady_echo", {})
                expect(time.monotonic() - began < 2.9, "the others waited for the slow one")
                await ok(session, "late_echo", {})
                expect(time.monotonic() - began >= 3, "the slow one answered before it was there")
            await _lies(made, session)
            await _crashes(made, session)
            await _collisions(made, session)
            async with made.test("what nobody can see is never started"):
                expect(not left_marks(denied) and not left_marks(optional), "a process left its mark")
                reply = await session.call("denied_echo", {})
                expect(reply.failed and not left_marks(denied), "a call of a denied plugin started it")
            await _reloads(made, session, denied, optional)
            await _under_load(made, session)


async def _lies(made: Bench, session: Session) -> None:
    async with made.test("undeclared tools are dropped, missing ones taken away, both told"):
        await listed(session, "liar_echo", gone=("liar_secret", "liar_missing"))
        reply = await session.call("liar_secret", {})
        expect(reply.failed, "an undeclared tool ran")
        found = (await made.toolcrib.command("plugins", "--json", "--config", str(made.toolcrib.config))).document()
        findings = next(plugin["findings"] for plugin in found["plugins"] if plugin["id"] == "liar")
        expect(any("liar_secret" in text for text in findings) and any("liar_missing" in text for text in findings), str(findings))


async def _crashes(made: Bench, session: Session) -> None:
    async with made.test("a crash costs the call, told as unknown, and it comes back"):
        started = made.plugins / "fragile" / "started"
        before = len(started.read_text().split())
        reply = await session.call("fragile_crash", {})
        expect(reply.failed and "may or may not" in reply.text and "status 7" in reply.text, reply.text)
        await ok(session, "steady_echo", {})
        await ok(session, "fragile_echo", {"n": 1})
        starts = len(started.read_text().split()) - before
        expect(starts == 1, f"started {starts} times again")


async def _collisions(made: Bench, session: Session) -> None:
    async with made.test("ids that are taken are refused, and both are named"):
        expect(not {"x_echo", "y_echo"} & await names(session), "a plugin with a taken id is served")
        found = (await made.toolcrib.command("plugins", "--json", "--config", str(made.toolcrib.config))).document()
        told = "\n".join(refused["reason"] for refused in found["refused"])
        for text in ("built-in tool 'read_file'", "MCP server 'ledger'", "zz-twin", "taken by plugin 'twin'"):
            expect(text in told, f"{text} is not in {told}")
        expect(not left_marks(made.plugins / "read_file") and not left_marks(made.plugins / "ledger"), "one was started")


async def _reloads(made: Bench, session: Session, denied: Path, optional: Path) -> None:
    async with made.test("a policy that allows starts, one that denies ends", 90):
        made.config["policy"] = {"also_allow": ["optional"]}
        made.write()
        await listed(session, "denied_echo", "optional_echo")
        await ok(session, "denied_echo", {})
        await ok(session, "optional_echo", {})
        # What was looked for before is there when they run.
        expect(left_marks(denied) and left_marks(optional), "a process that runs leaves no mark")
        made.config["policy"] = {"deny": ["group:plugins"]}
        made.write()
        await listed(session, gone=("denied_echo", "optional_echo", "steady_echo"))
        made.config["policy"] = {}
        made.write()
        await listed(session, "denied_echo", gone=("optional_echo",))
    async with made.test("a plugin that is added, changed and removed while serving", 90):
        folder = made.odd("guest", ["guest_echo"], says="first ")
        await listed(session, "guest_echo")
        expect((await ok(session, "guest_echo", {})).text.startswith("first "), "another answers")
        steady = (made.plugins / "steady" / "started").read_text()
        script = folder / "odd_plugin.py"
        script.write_text(script.read_text().replace("config.get('says', '')", "'changed '"))

        async def changed() -> bool:
            return (await session.call("guest_echo", {})).text.startswith("changed ")

        await until("the changed program answers", changed)
        (folder / "plugin.toml").unlink()
        await listed(session, gone=("guest_echo",))
        expect((made.plugins / "steady" / "started").read_text() == steady, "an unchanged plugin was touched")


async def _under_load(made: Bench, session: Session) -> None:
    async with made.test("reloads under load: every call ends in one generation or is told that it is over", 120):
        made.odd("busy", ["busy_echo"], says="0 ")
        await listed(session, "busy_echo")
        stop = asyncio.Event()
        ended: list[str] = []

        async def worker(number: int) -> None:
            while not stop.is_set():
                reply = await session.call("busy_echo", {"worker": number})
                if reply.failed:
                    expect("no longer active" in reply.text, reply.text)
                    ended.append("stale")
                else:
                    said, own = reply.text.split(" ", 1)
                    expect(json.loads(own) == {"worker": number}, f"an answer of somebody else: {reply.text}")
                    ended.append(said)

        workers = [asyncio.create_task(worker(number)) for number in range(6)]
        try:
            for generation in range(1, 4):
                made.hand("busy", config={"offers": ["busy_echo"], "says": f"{generation} "})

                async def reached(wanted: str = str(generation)) -> bool:
                    failed = [task for task in workers if task.done()]
                    if failed:
                        failed[0].result()
                    return wanted in ended[-20:]

                await until(f"generation {generation} answers", reached)
        finally:
            stop.set()
            await asyncio.gather(*workers)
        stale = ended.count("stale")
        expect({"1", "2", "3"} <= set(ended) and stale * 5 < len(ended), f"{stale} of {len(ended)} were told that it is over")
