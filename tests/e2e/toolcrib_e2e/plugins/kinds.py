"""The plugins in examples/plugins, one of each kind, through the gateway with the official client, both doors and eras."""

from __future__ import annotations

import asyncio
from typing import Any

from ..installed import Installed
from ..report import Report, expect
from ..session import Session
from .bench import Bench, bench, listed, names, ok


async def run(report: Report, tools: Installed, binary: str, name: str) -> None:
    for door, era in (("stdio", "legacy"), ("http", "modern")):
        async with bench(report, binary, f"{name}/{door}") as made:
            _set_up(made, tools)
            async with made.test("the examples do what their manifests say"):
                await _checked(made)
            async with made.toolcrib.open(door, era) as session:
                await _each(made, session)


def _set_up(made: Bench, tools: Installed) -> None:
    for folder in ("weather-python", "todo-shell", "units-node", "words-mcp"):
        made.example(folder)
    made.hand("weather", config={"units": "metric"}, auth={"editor": "sesame-of-the-editor"})
    made.hand("todo", env={"TODO_FILE": str(made.toolcrib.scratch.root / "todo.txt")})
    made.hand("units", env={"PATH": f"{_folder(tools.node)}:/usr/local/bin:/usr/bin:/bin"})
    made.hand("words", config={"reverse": True})


def _folder(program: Any) -> str:
    return str(program).rsplit("/", 1)[0]


async def _checked(made: Bench) -> None:
    for folder in sorted(made.plugins.iterdir()):
        ended = await made.toolcrib.command("plugins", "check", str(folder), "--json", "--config", str(made.toolcrib.config))
        found = ended.document()
        expect(ended.code == 0 and not found["problems"], f"{folder.name}: {found['problems']} {found['stderr']}")
        expect(found["offered"] == found["declared"], f"{folder.name} offers {found['offered']}")


async def _each(made: Bench, session: Session) -> None:
    async with made.test("all are listed, the optional tool is not"):
        await listed(session, "weather_forecast", "todo_add", "convert_units", "count_words")
        expect("list_units" not in await names(session), "an optional tool that nobody named is listed")
    async with made.test("python: results, failures, progress, many at a time"):
        reply = await ok(session, "weather_forecast", {"city": "oslo", "days": 2})
        expect(reply.text == "Oslo: day 0: -3 °C, snow; day 1: -2 °C, snow", reply.text)
        expect(reply.result["structuredContent"]["days"][1]["sky"] == "snow", str(reply.result))
        reply = await session.call("weather_forecast", {"city": "Atlantis"})
        expect(reply.failed and "no city is called 'Atlantis'" in reply.text, reply.text)
        steps: list[tuple[float, str | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            steps.append((done, message))

        await ok(session, "weather_report", {"pause_ms": 50}, progress=progress)
        expect(steps[-1] == (3, "Quito"), str(steps))
        replies = await asyncio.gather(*(ok(session, "weather_report", {"pause_ms": 300}) for _ in range(8)))
        expect(all("Lisbon: 19 °C" in reply.text for reply in replies), replies[0].text)
    async with made.test("shell"):
        await ok(session, "todo_add", {"what": "Buy milk"})
        reply = await ok(session, "todo_show", {})
        expect("- Buy milk" in reply.text, reply.text)
        reply = await session.call("todo_add", {"what": 'a "quoted" thing'})
        expect(reply.failed, "arguments that do not fit the schema reached the plugin")
    async with made.test("node"):
        reply = await ok(session, "convert_units", {"amount": 10, "from": "km", "to": "mi"})
        expect(abs(reply.result["structuredContent"]["amount"] - 6.21371192237) < 1e-9, str(reply.result))
        reply = await session.call("convert_units", {"amount": 1, "from": "km", "to": "kg"})
        expect(reply.failed and "cannot be converted" in reply.text, reply.text)
    async with made.test("an MCP server as a plugin, with its configuration"):
        reply = await ok(session, "sort_words", {"text": "b c a"})
        expect(reply.text == "c b a", reply.text)
    async with made.test("explain and doctor know them"):
        config = ("--config", str(made.toolcrib.config))
        ended = await made.toolcrib.command("explain", "plugin:units/list_units", *config)
        expect("it is optional and no allow list names it" in ended.out, ended.out)
        found = (await made.toolcrib.command("doctor", "--json", *config)).document()
        states = {plugin["id"]: plugin["state"] for plugin in found["plugins"]}
        expect(states == dict.fromkeys(("weather", "todo", "units", "words"), "ready"), str(states))
        told = str(found) + (await made.toolcrib.command("plugins", "--json", *config)).out
        expect("sesame-of-the-editor" not in told + made.toolcrib.scratch.log.read_text(), "a credential is shown")
