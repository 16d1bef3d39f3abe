"""The servers without toolcrib: what every later comparison is made with, and the proof that comparing works.

Each server is run twice with equal state. The two runs must agree, or a difference seen through the gateway would say
nothing about the gateway.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from . import plan
from .equality import expect_equal, normalised
from .inspector import Inspector
from .installed import Installed
from .report import Report, expect
from .scratch import Scratch
from .servers import ServerEntry, real_servers
from .session import open_stdio


@dataclass
class Reference:
    """What the servers answer when asked directly."""

    tools: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    replies: dict[str, Any] = field(default_factory=dict)

    def tool(self, server: str, name: str) -> dict[str, Any]:
        return next(tool for tool in self.tools[server] if tool["name"] == name)

    @property
    def ids(self) -> list[str]:
        return [f"mcp:{server}/{tool['name']}" for server, tools in self.tools.items() for tool in tools]


async def ask(entry: ServerEntry, scratch: Scratch, website: str, era: str) -> tuple[list[Any], dict[str, Any]]:
    """Starts one server, lists it and makes its calls of the plan."""
    env = {**scratch.environment(), **entry.env}
    # What a gateway must not hand on is not there to begin with.
    del env["E2E_PARENT_SECRET"], env["E2E_GATEWAY_MARK"]
    replies = {}
    with scratch.log.open("a") as log:
        async with open_stdio(entry.command, entry.args, env, era, log) as session:
            expect(session.era == era or not entry.modern, f"{entry.name} speaks {session.era}, asked for {era}")
            listed = await session.tools()
            for call in plan.calls(scratch, website):
                if call.server == entry.name:
                    reply = await session.call(call.tool, call.arguments)
                    replies[call.label] = normalised(reply.comparable, scratch, call.volatile)
    return listed, replies


def covers(listed: list[dict[str, Any]], entry: ServerEntry, scratch: Scratch, website: str) -> None:
    called = {call.tool for call in plan.calls(scratch, website) if call.server == entry.name}
    missed = {tool["name"] for tool in listed} - called
    expect(not missed, f"the plan calls no {sorted(missed)}")


async def run(report: Report, tools: Installed, website: str) -> Reference:
    """Fills the reference (always) and reports what was proven on the way."""
    reference = Reference()
    first, second = Scratch("direct").with_state(), Scratch("again").with_state()
    try:
        both = asyncio.Semaphore(2)

        async def prove(entry: ServerEntry, twin: ServerEntry) -> None:
            era = "modern" if entry.modern else "legacy"
            async with both, report.test(f"direct/{entry.name}: every tool answers, twice the same", 60):
                listed, replies = await ask(entry, first, website, era)
                reference.tools[entry.name] = listed
                reference.replies.update(replies)
                covers(listed, entry, first, website)
                # The second run is made in the other era where there is one: an era must not change an answer.
                again, replies_again = await ask(twin, second, website, "legacy")
                expect_equal(again, listed, f"tools/list of {entry.name}")
                expect_equal(replies_again, replies, f"answers of {entry.name}")
                for label, reply in replies.items():
                    broken = isinstance(reply, dict) and ("protocol error" in reply or bool(reply.get("isError")))
                    expect(broken == ("fails:" in label), f"{label} answered {str(reply)[:300]}")

        pairs = zip(real_servers(tools, first), real_servers(tools, second), strict=True)
        await asyncio.gather(*(prove(entry, twin) for entry, twin in pairs))
        await _inspector(report, tools, website, reference)
    finally:
        first.remove()
        second.remove()
    return reference


async def _inspector(report: Report, tools: Installed, website: str, reference: Reference) -> None:
    """The Inspector sees the same as the Python client: one call that keeps no state for each server."""
    stateless = {
        "everything": "get-structured-content",
        "filesystem": "read_media_file",
        "memory": "read_graph",
        "git": "git_status",
        "time": "convert_time",
        "fetch": "fetch",
    }
    scratch = Scratch("inspector").with_state()
    try:
        for entry in real_servers(tools, scratch):
            if entry.name not in stateless:
                continue
            async with report.test(f"direct/{entry.name}: the Inspector sees what the Python client sees", 60):
                era = "modern" if entry.modern else "legacy"
                command = [entry.command, *entry.args]
                inspector = Inspector(tools, scratch, era, command=command, env=entry.env)
                call = next(
                    call
                    for call in plan.calls(scratch, website)
                    if call.server == entry.name and call.tool == stateless[entry.name]
                )
                reply = await inspector.call(call.tool, call.arguments)
                got = normalised(reply.comparable, scratch, call.volatile)
                expect_equal(got, reference.replies[call.label], call.label)
    finally:
        scratch.remove()
