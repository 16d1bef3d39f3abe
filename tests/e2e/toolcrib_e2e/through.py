"""The same servers behind one `toolcrib serve`: through both doors, in both eras, with both clients, every result must be
the one that the server gives when asked directly."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from . import plan
from .direct import Reference
from .equality import expect_equal, normalised
from .gateway import BRIDGE, Toolcrib, call, describe, leaving_nothing, matches, ready, search
from .inspector import Inspector, held_connection
from .installed import Installed
from .report import Failed, Report, expect, in_one_line
from .scratch import Scratch
from .servers import CONDITIONAL, real_servers, write_config
from .session import ERAS, Reply, Session, open_http

# What someone would type to find a tool of each server, and the tool that must come up.
SEARCHES = {
    "everything": ("add two numbers", "get-sum"),
    "filesystem": ("read a text file", "read_text_file"),
    "memory": ("create entities in the knowledge graph", "create_entities"),
    "sequential-thinking": ("think step by step through a problem", "sequentialthinking"),
    "git": ("commit changes to the repository", "git_commit"),
    "time": ("current time in a timezone", "get_current_time"),
    "fetch": ("fetch a web page by url", "fetch"),
}
# A gateway that no longer answers would cost a time limit for every call: the group is given up instead.
GIVE_UP_AFTER = 3
# Two cores: more groups at a time would only make each one slower, and the timed tests are elsewhere.
AT_ONCE = 3


@dataclass
class Group:
    """One gateway with fresh state, and what is done with it."""

    report: Report
    tools: Installed
    binary: str
    website: str
    reference: Reference
    names: dict[str, str]
    name: str

    @contextlib.asynccontextmanager
    async def toolcrib(self, *options: str) -> AsyncIterator[Toolcrib]:
        scratch = Scratch("through").with_state()
        config = write_config(scratch, real_servers(self.tools, scratch))
        async with leaving_nothing(self.report, self.name, scratch):
            yield Toolcrib(self.binary, scratch, config, list(options))

    def exposed(self, server: str, tool: str) -> str:
        name = self.names.get(f"mcp:{server}/{tool}")
        expect(name is not None, f"toolcrib knows no mcp:{server}/{tool}")
        return str(name)

    @property
    def upstream_names(self) -> list[str]:
        return [self.names[id] for id in self.reference.ids if id in self.names]

    async def listing(self, client: Any) -> None:
        async with self.report.test(f"{self.name}: lists direct tools and the bridge, nothing of a server"):
            listed = [tool["name"] for tool in await client.tools()]
            expect(len(set(listed)) == len(listed), f"names twice: {listed}")
            expect([name for name in BRIDGE if name in listed] == list(BRIDGE), f"bridge incomplete: {listed}")
            inline = sorted(set(listed) & set(self.names[id] for id in self.names if id.startswith("mcp:")))
            expect(not inline, f"tools of servers are inline: {inline}")

    async def searching(self, client: Any) -> None:
        for server, (query, tool) in SEARCHES.items():
            async with self.report.test(f"{self.name}: search finds {server}/{tool}"):
                found = matches(await search(client, query))
                expect(self.exposed(server, tool) in found, f"“{query}” found {found}")

    async def describing(self, client: Any) -> None:
        described: dict[str, Any] = {}
        async with self.report.test(f"{self.name}: describes {len(self.upstream_names)} tools"):
            described = await describe(client, self.upstream_names)
        for server in self.reference.tools:
            async with self.report.test(f"{self.name}: schemas of {server} are the server's own"):
                for tool in self.reference.tools[server]:
                    shown = described.get(self.exposed(server, tool["name"]))
                    if shown is None:
                        raise Failed(f"{tool['name']} was not described")
                    for key in ("inputSchema", "outputSchema"):
                        expect_equal(shown.get(key), tool.get(key), f"{key} of {tool['name']}")

    async def calling(self, client: Any, scratch: Scratch, way: str) -> None:
        """Every call of the plan, by `bridge` or by the exposed `name`."""
        silent = 0
        equal: dict[str, int] = {}
        calls = plan.calls(scratch, self.website)
        if not isinstance(client, Session):
            calls = plan.without_repetitions(calls)
        for planned in calls:
            label = f"{self.name}: {planned.label}"
            try:
                async with asyncio.timeout(40):
                    reply = await self._one(client, planned, way)
                    got = normalised(reply.comparable, scratch, planned.volatile)
                expect_equal(got, self.reference.replies.get(planned.label), "the result")
            except Exception as error:  # noqa: BLE001 - one failed call must not end the others
                self.report.fail(label, in_one_line(error))
                silent += isinstance(error, TimeoutError) or "did not end" in str(error) or "imed out" in str(error)
                if silent >= GIVE_UP_AFTER:
                    raise Failed(f"gave up after {silent} calls without an answer") from None
            else:
                self.report.passed += 1
                equal[planned.server] = equal.get(planned.server, 0) + 1
        for server, number in equal.items():
            print(f"ok    {self.name}: {server} answered {number} calls as it does directly", flush=True)

    async def _one(self, client: Any, planned: plan.Call, way: str) -> Reply:
        name = self.exposed(planned.server, planned.tool)
        if way == "bridge":
            return await call(client, name, planned.arguments)
        return await client.call(name, planned.arguments)


async def run(
    report: Report, tools: Installed, binary: str, website: str, reference: Reference
) -> dict[str, str]:
    """Answers with the exposed names by id, for the suites after this one."""
    names = await exposed_names(report, tools, binary, reference)
    if not names:
        return names
    at_once = asyncio.Semaphore(AT_ONCE)

    async def group(name: str, body: Any) -> None:
        if not report.wants(name):
            return
        made = Group(report, tools, binary, website, reference, names, name)
        async with at_once:
            # The test "comes to an end" also catches what went wrong outside of a test, a start that failed first of all.
            async with report.test(f"{name}: starts, and comes to an end", 240):
                await body(made)

    jobs = []
    for door in ("http", "stdio"):
        for era in ERAS:
            jobs.append(group(f"through/{door}/{era}/inspector", _inspector_body(door, era)))
            for way in ("bridge", "name"):
                jobs.append(group(f"through/{door}/{era}/{way}", _python_body(door, era, way)))
            jobs.append(group(f"through/{door}/{era}/inline", _inline_body(door, era)))
    await asyncio.gather(*jobs)
    return names


async def exposed_names(report: Report, tools: Installed, binary: str, reference: Reference) -> dict[str, str]:
    """Names are looked up, never guessed."""
    scratch = Scratch("names").with_state()
    names: dict[str, str] = {}
    try:
        config = write_config(scratch, real_servers(tools, scratch))
        async with report.test("commands/tools: names every tool of every server", 90):
            ended = await Toolcrib(binary, scratch, config).command("tools", "--config", str(config), "--json")
            names = {tool["id"]: tool["name"] for tool in ended.document()["tools"]}
            missing = [id for id in reference.ids if id not in names]
            expect(not missing, f"missing: {missing}")
            extra = {id for id in names if id.startswith("mcp:")} - set(reference.ids)
            odd = sorted(id for id in extra if id.removeprefix("mcp:everything/") not in CONDITIONAL)
            expect(not odd, f"tools that no server has: {odd}")
            expect(len(set(names.values())) == len(names), "two tools have one name")
            expect(ended.code == 0, f"exit code {ended.code}: {ended.err[-300:]}")
    finally:
        scratch.remove()
    return names


def _python_body(door: str, era: str, way: str) -> Any:
    async def body(group: Group) -> None:
        async with group.toolcrib() as toolcrib, toolcrib.open(door, era) as session:
            expect(session.era == era, f"negotiated the {session.era} era ({session.client.protocol_version})")
            async with group.report.test(f"{group.name}: all servers come up", 60):
                await ready(session, group.upstream_names)
            if way == "bridge":
                await group.listing(session)
                await group.searching(session)
                await group.describing(session)
            await group.calling(session, toolcrib.scratch, way)
            if way == "name":
                await _progress(group, session)

    return body


async def _progress(group: Group, session: Session) -> None:
    async with group.report.test(f"{group.name}: progress of a server reaches the client"):
        seen: list[tuple[float, float | None]] = []

        async def progress(done: float, total: float | None, _: str | None) -> None:
            seen.append((done, total))

        name = group.exposed("everything", "trigger-long-running-operation")
        reply = await session.call(name, {"duration": 0.6, "steps": 3}, progress=progress)
        expect(not reply.failed, reply.text[:300])
        expect(seen == [(1, 3), (2, 3), (3, 3)], f"saw {seen}")


def _inline_body(door: str, era: str) -> Any:
    """`--disclosure off`: the definitions themselves are on the wire, and must be the servers' own to the last key."""

    async def body(group: Group) -> None:
        async with group.toolcrib("--disclosure", "off") as toolcrib, toolcrib.open(door, era) as session:
            listed: dict[str, dict[str, Any]] = {}
            async with group.report.test(f"{group.name}: lists every tool inline", 40):
                while True:
                    listed = {tool["name"]: tool for tool in await session.tools()}
                    if set(group.upstream_names) <= set(listed):
                        break
                    await asyncio.sleep(0.1)
            async with group.report.test(f"{group.name}: every definition is the server's own"):
                for server, tools in group.reference.tools.items():
                    for tool in tools:
                        name = group.exposed(server, tool["name"])
                        expect(name in listed, f"{name} is not listed")
                        expect_equal(listed[name], {**tool, "name": name}, f"definition of {name}")
            async with group.report.test(f"{group.name}: the same list again, byte for byte"):
                again = {tool["name"]: tool for tool in await session.tools()}
                expect(json.dumps(again) == json.dumps(listed), "tools/list changed from one request to the next")
            async with group.report.test(f"{group.name}: an inline tool is called by its name"):
                reply = await session.call(group.exposed("everything", "get-sum"), {"a": 1, "b": 2})
                expect("3" in reply.text and not reply.failed, reply.text[:300])

    return body


def _inspector_body(door: str, era: str) -> Any:
    async def everything(group: Group, client: Any, scratch: Scratch) -> None:
        await group.listing(client)
        await group.searching(client)
        await group.describing(client)
        await group.calling(client, scratch, "bridge")

    async def over_http(group: Group) -> None:
        async with group.toolcrib() as toolcrib, toolcrib.listening() as listening:
            inspector = Inspector(group.tools, toolcrib.scratch, era, url=listening.url)
            async with group.report.test(f"{group.name}: all servers come up", 60), open_http(listening.url, era) as other:
                await ready(other, group.upstream_names)
            await everything(group, inspector, toolcrib.scratch)

    async def over_stdio(group: Group) -> None:
        async with group.toolcrib() as toolcrib:
            line, env = toolcrib.serve_line("--stdio"), toolcrib.scratch.environment()
            async with held_connection(group.tools, toolcrib.scratch, era, line, env) as held:
                async with group.report.test(f"{group.name}: all servers come up", 60):
                    await ready(held, group.upstream_names)
                await everything(group, held, toolcrib.scratch)
            await group.listing(Inspector(group.tools, toolcrib.scratch, era, command=line, env=env))

    return over_http if door == "http" else over_stdio
