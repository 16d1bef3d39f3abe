"""The command line against the same config: what it prints and how it ends."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from . import plan
from .direct import Reference
from .equality import expect_equal, normalised
from .gateway import BRIDGE, Ended, Toolcrib, leaving_nothing, matches
from .installed import Installed
from .report import Report, expect
from .scratch import Scratch
from .servers import fixture, real_servers, write_config

DONE, FAILED, USAGE, DENIED, UNAVAILABLE = range(5)


def ended_with(ended: Ended, *codes: int) -> None:
    expect(ended.code in codes, f"exit code {ended.code}, not {codes}: {ended.err[-400:] or ended.out[-400:]}")


async def run(
    report: Report, tools: Installed, binary: str, website: str, reference: Reference, names: dict[str, str]
) -> None:
    if not report.wants("commands"):
        return
    scratch = Scratch("commands").with_state()
    async with leaving_nothing(report, "commands", scratch):
        every = write_config(scratch, real_servers(tools, scratch))
        some = write_config(scratch, real_servers(tools, scratch, ["everything", "time"]), "some.json")
        suite = Commands(report, tools, Toolcrib(binary, scratch, every), str(every), str(some), reference, names, website)
        at_once = asyncio.Semaphore(3)

        async def limited(test: Any) -> None:
            async with at_once:
                await test

        await asyncio.gather(*(limited(test) for test in suite.tests()))


class Commands:
    def __init__(
        self,
        report: Report,
        tools: Installed,
        toolcrib: Toolcrib,
        every: str,
        some: str,
        reference: Reference,
        names: dict[str, str],
        website: str,
    ) -> None:
        self.report = report
        self.tools = tools
        self.toolcrib = toolcrib
        self.every = every
        self.some = some
        self.reference = reference
        self.names = names
        self.website = website

    def tests(self) -> list[Any]:
        return [
            self.usage(),
            self.search(),
            self.show(),
            self.call(),
            self.call_failures(),
            self.hidden(),
            self.assemble(),
            self.explain(),
            self.doctor(),
            self.bad_config(),
            self.one_server_down(),
        ]

    async def run(self, command: str, *words: str, config: str | None = None, stdin: str | None = None) -> Ended:
        where = ["--config", config or self.some]
        return await self.toolcrib.command(command, *where, *words, stdin=stdin)

    def name(self, id: str) -> str:
        expect(id in self.names, f"toolcrib names no {id}")
        return self.names[id]

    async def usage(self) -> None:
        async with self.report.test("commands/usage: help and version end with 0, a wrong option with 2"):
            ended_with(await self.toolcrib.command("--help"), DONE)
            ended_with(await self.toolcrib.command("serve", "--help"), DONE)
            ended_with(await self.toolcrib.command("--version"), DONE)
            ended_with(await self.toolcrib.command("tools", "--no-such-option"), USAGE)
            ended_with(await self.toolcrib.command("no-such-command"), USAGE)

    async def search(self) -> None:
        async with self.report.test("commands/search: finds a tool among all servers", 60):
            ended = await self.run("search", "current time in a timezone", "--json", config=self.every)
            ended_with(ended, DONE)
            found = matches(ended.document())
            expect(self.name("mcp:time/get_current_time") in found, f"found {found}")
        async with self.report.test("commands/search: prints a table for people, and obeys the limit", 60):
            ended = await self.run("search", "time", "--limit", "1")
            ended_with(ended, DONE)
            expect("time" in ended.out and len(ended.out.strip().splitlines()) <= 3, ended.out)

    async def show(self) -> None:
        async with self.report.test("commands/show: prints the server's own schema", 60):
            ended = await self.run("show", self.name("mcp:time/convert_time"), "--json")
            ended_with(ended, DONE)
            wanted = self.reference.tool("time", "convert_time")["inputSchema"]
            expect_equal(ended.document()["found"][0]["inputSchema"], wanted, "the schema")
        async with self.report.test("commands/show: an unknown tool is a failure that suggests names", 60):
            ended = await self.run("show", "time__convert_tim")
            ended_with(ended, FAILED)
            expect(self.name("mcp:time/convert_time") in ended.err, ended.err)

    async def call(self) -> None:
        scratch = self.toolcrib.scratch
        wanted = {("everything", "get-annotated-message"), ("time", "convert_time"), ("everything", "get-sum")}
        for planned in plan.calls(scratch, self.website):
            if (planned.server, planned.tool) not in wanted or planned.note:
                continue
            async with self.report.test(f"commands/call: {planned.label} as it answers directly", 60):
                name = self.name(f"mcp:{planned.server}/{planned.tool}")
                given = json.dumps(planned.arguments)
                if planned.tool == "get-sum":
                    ended = await self.run("call", name, "-", "--json", "--trust", "all", stdin=given)
                else:
                    ended = await self.run("call", name, given, "--json", "--trust", "all")
                ended_with(ended, DONE)
                got = normalised(ended.document(), scratch, planned.volatile)
                expect_equal(got, self.reference.replies[planned.label], "the result")
        async with self.report.test("commands/call: without --json only the text is printed", 60):
            name = self.name("mcp:everything/echo")
            ended = await self.run("call", name, '{"message": "hello"}', "--trust", "all")
            ended_with(ended, DONE)
            expect(ended.out == "Echo: hello\n", repr(ended.out))

    async def call_failures(self) -> None:
        async with self.report.test("commands/call: a tool's own failure ends with 1", 60):
            name = self.name("mcp:time/get_current_time")
            ended = await self.run("call", name, '{"timezone": "Moon/Base"}', "--json", "--trust", "all")
            ended_with(ended, FAILED)
            expect(ended.document().get("isError") is True, ended.out[:300])
        async with self.report.test("commands/call: arguments that do not fit end with 1 and show the schema", 60):
            ended = await self.run("call", self.name("mcp:everything/get-sum"), '{"b": 2}', "--trust", "all")
            ended_with(ended, FAILED)
            expect("First number" in ended.err + ended.out, f"no schema in {ended.err[-400:]} {ended.out[-400:]}")
        async with self.report.test("commands/call: arguments that are no JSON end with 2", 60):
            ended_with(await self.run("call", self.name("mcp:everything/get-sum"), "{a: 1", "--trust", "all"), USAGE)

    async def hidden(self) -> None:
        async with self.report.test("commands/call: a hidden tool answers like an unknown one", 60):
            name = self.name("mcp:time/convert_time")
            hidden = await self.run("call", name, "{}", "--deny", "mcp:time", "--trust", "all", "--wait", "5")
            unknown = await self.run("call", "nothing__at_all", "{}", "--trust", "all", "--wait", "5")
            ended_with(unknown, FAILED, DENIED)
            ended_with(hidden, unknown.code)
            said = hidden.err.replace(name, "TOOL"), unknown.err.replace("nothing__at_all", "TOOL")
            expect("den" not in said[0].lower(), f"says that it is denied: {said[0]}")
        async with self.report.test("commands/tools: --deny and --allow take tools away", 60):
            denied = (await self.run("tools", "--json", "--deny", "mcp:time")).document()["tools"]
            expect(not [tool for tool in denied if tool["id"].startswith("mcp:time/")], "denied tools are there")
            allowed = (await self.run("tools", "--json", "--allow", "mcp:time/convert_time")).document()["tools"]
            expect([tool["id"] for tool in allowed] == ["mcp:time/convert_time"], f"allowed: {allowed}")

    async def assemble(self) -> None:
        async with self.report.test("commands/assemble: one document, the same each time", 90):
            ended = await self.run("assemble", "--for", "mcp", "--json", config=self.every)
            ended_with(ended, DONE)
            made = ended.document()
            for key in ("tools", "name_map", "tier", "listing_form", "tokens", "trace", "losses", "hash"):
                expect(key in made, f"no key {key}")
            shown = [tool["name"] for tool in made["tools"]]
            expect(set(BRIDGE) <= set(shown), f"shows {shown}")
            missing = [id for id in self.reference.ids if made["name_map"].get(self.names.get(id, "")) != id]
            expect(not missing, f"not in the name map: {missing}")
            tokens = made["tokens"]
            expect(tokens["shown"] < tokens["eager"], f"tokens: {tokens}")
            again = await self.run("assemble", "--for", "mcp", "--json", config=self.every)
            expect(again.out == ended.out, "two runs printed different documents")
        async with self.report.test("commands/assemble: an unknown target ends with 2", 60):
            ended_with(await self.run("assemble", "--for", "abacus"), USAGE)

    async def explain(self) -> None:
        async with self.report.test("commands/explain: says why a tool is deferred, and what hides one", 60):
            ended = await self.run("explain", "mcp:time/convert_time", "--json")
            ended_with(ended, DONE)
            expect("defer" in ended.out, ended.out[:400])
            hidden = await self.run("explain", "mcp:time/convert_time", "--deny", "mcp:time")
            ended_with(hidden, DONE)
            expect("mcp:time" in hidden.out and "deny" in hidden.out, hidden.out)
        async with self.report.test("commands/explain: an unknown tool is a failure", 60):
            ended_with(await self.run("explain", "nothing__at_all", "--wait", "5"), FAILED)

    async def doctor(self) -> None:
        async with self.report.test("commands/doctor: finds nothing wrong with servers that work", 60):
            ended = await self.run("doctor", "--json", config=self.every)
            ended.document()
            ended_with(ended, DONE)
        async with self.report.test("commands/doctor: names the server that does not start, and its last words", 60):
            scratch = self.toolcrib.scratch
            entries = [fixture("garbage_server.py", "broken", scratch, "exit-at-once")]
            config = write_config(scratch, entries, "broken.json")
            ended = await self.run("doctor", "--json", config=str(config))
            ended.document()
            ended_with(ended, FAILED, UNAVAILABLE)
            expect("broken" in ended.out, ended.out[:400])
            expect("no license file" in ended.out, f"its stderr is not shown: {ended.out[:800]}")

    async def bad_config(self) -> None:
        async with self.report.test("commands/config: a missing file and one that is no JSON end with 2, named", 60):
            missing = await self.run("tools", config="/nonexistent/mcp.json")
            ended_with(missing, USAGE)
            expect("/nonexistent/mcp.json" in missing.err, missing.err)
            broken = self.toolcrib.scratch.root / "half.json"
            broken.write_text('{"mcpServers": {"a": ')
            ended = await self.run("tools", config=str(broken))
            ended_with(ended, USAGE)
            expect("half.json" in ended.err, ended.err)

    async def one_server_down(self) -> None:
        async with self.report.test("commands/tools: a server that does not start hides no other", 60):
            scratch = self.toolcrib.scratch
            entries = [
                *real_servers(self.tools, scratch, ["time"]),
                fixture("garbage_server.py", "broken", scratch, "exit-at-once"),
            ]
            config = write_config(scratch, entries, "down.json")
            ended = await self.run("tools", "--json", "--wait", "10", config=str(config))
            ended_with(ended, DONE, UNAVAILABLE)
            listed = [tool["id"] for tool in ended.document()["tools"]]
            expect("mcp:time/convert_time" in listed, f"listed {listed}")
            expect("broken" in ended.err, f"nothing said about it: {ended.err}")
