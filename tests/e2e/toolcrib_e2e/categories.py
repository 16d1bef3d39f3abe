"""Categories that a conversation loads: listed, called, unloaded, gone; by the Python client, through both doors and eras."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from .gateway import Toolcrib, leaving_nothing
from .installed import Installed
from .report import Report, expect
from .scratch import Scratch
from .servers import real_servers
from .session import ERAS, Session, open_http

CATALOG = {"tool_catalog_search", "tool_catalog_load", "tool_catalog_unload"}
CLOCK = {"time__get_current_time", "time__convert_time"}


async def run(report: Report, tools: Installed, binary: str) -> None:
    if not report.wants("categories"):
        return
    scratch = Scratch("categories").with_state()
    config = scratch.root / "toolcrib.json"
    [time] = real_servers(tools, scratch, ["time"])
    config.write_text(
        json.dumps(
            {
                "servers": {"time": {**time.as_config(), "category": "clock"}},
                "categories": {
                    "enabled": True,
                    "unloaded": "hidden",
                    "category": {"clock": {"description": "Dates and times of day, in any zone."}},
                },
            }
        )
    )
    async with leaving_nothing(report, "categories", scratch):
        toolcrib = Toolcrib(binary, scratch, config)
        for era in ERAS:
            async with report.test(f"categories/stdio/{era}: load, call, unload", 60):
                async with toolcrib.stdio(era) as session:
                    await through(session)
        async with toolcrib.listening() as listening:
            # Modern requests over HTTP have no session: everybody without one shares what is loaded.
            for era in ERAS:
                async with report.test(f"categories/http/{era}: load, call, unload", 60):
                    async with open_http(listening.url, era) as session:
                        await through(session)
            async with report.test("categories/http: sessions are apart", 60):
                async with open_http(listening.url, "legacy") as one, open_http(listening.url, "legacy") as other:
                    await found(one)
                    expect(not (await load(one)).get("alreadyLoaded"), "it was loaded before")
                    expect(CLOCK <= await names(one), "it is not listed where it was loaded")
                    expect(not CLOCK & await names(other), "it is listed where it was not loaded")
                    reply = await other.call("time__get_current_time", {"timezone": "UTC"})
                    expect(reply.failed, f"it ran where it was not loaded: {reply.text}")
        async with report.test("categories/changed: the client is told", 60):
            await told(toolcrib)
        async with report.test("categories/explain: what is not loaded says so", 60):
            ended = await toolcrib.command("explain", "mcp:time/convert_time", "--config", str(config))
            expect('its category "clock" is not loaded' in ended.out, ended.out or ended.err)
            expect("tool_catalog_load" in ended.out, ended.out)


async def names(session: Session) -> set[str]:
    return {tool["name"] for tool in await session.tools()}


async def answer(session: Session, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    reply = await session.call(tool, arguments)
    expect(not reply.failed, f"{tool}: {reply.text}")
    # A second block may be the gateway's own: that the same was asked before.
    return json.loads(((reply.result or {}).get("content") or [{}])[0].get("text", ""))


async def found(session: Session) -> None:
    """Waits until the server is there; the first answers may come before it."""
    for _ in range(100):
        reply = await answer(session, "tool_catalog_search", {"query": "what time is it in Berlin"})
        # The category is known from the configuration, its tools only when the server is there.
        if reply["results"] and reply["results"][0]["tools"]:
            expect(reply["results"][0]["category"] == "clock", str(reply))
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the category never came")


async def load(session: Session) -> dict[str, Any]:
    return await answer(session, "tool_catalog_load", {"category": "clock"})


async def through(session: Session) -> None:
    await found(session)
    before = await names(session)
    expect(CATALOG <= before, f"the catalog's tools are not listed: {before}")
    expect(not CLOCK & before, f"what is not loaded is listed: {before}")
    reply = await session.call("time__get_current_time", {"timezone": "UTC"})
    expect(reply.failed, f"what is not loaded ran: {reply.text}")
    loaded = await load(session)
    expect(set(loaded["tools"]) == CLOCK, str(loaded))
    expect(CLOCK <= await names(session), "what was loaded is not listed")
    reply = await session.call("time__get_current_time", {"timezone": "UTC"})
    expect(not reply.failed and "UTC" in reply.text, reply.text)
    unloaded = await answer(session, "tool_catalog_unload", {"category": "clock"})
    expect(unloaded["unloaded"] == 2, str(unloaded))
    expect(await names(session) == before, "what was unloaded is still listed")
    reply = await session.call("time__get_current_time", {"timezone": "UTC"})
    expect(reply.failed, f"what was unloaded ran: {reply.text}")


async def told(toolcrib: Toolcrib) -> None:
    changed = asyncio.Event()

    async def hear(message: Any) -> None:
        if "list_changed" in str(message):
            changed.set()

    line = toolcrib.serve_line("--stdio")
    parameters = StdioServerParameters(
        command=line[0], args=line[1:], env=toolcrib.scratch.environment(), cwd=str(toolcrib.scratch.home)
    )
    with toolcrib.scratch.log.open("a") as log:
        async with Client(stdio_client(parameters, errlog=log), mode="legacy", message_handler=hear) as client:
            session = Session(client)
            expect("- clock (Clock): Dates" in str(client.instructions), f"no digest: {client.instructions}")
            await found(session)
            await asyncio.sleep(0.3)
            changed.clear()
            await load(session)
            await asyncio.wait_for(changed.wait(), 10)
