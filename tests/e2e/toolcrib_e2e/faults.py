"""What happens when things go wrong: servers killed, servers that talk garbage, servers that are slow, toolcrib ended."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .gateway import Toolcrib, call, describe, leaving_nothing, matches, ready, search
from .installed import Installed
from .processes import PROC, kill, none_left, peak_memory, servers_of
from .report import Report, expect
from .scratch import Scratch
from .servers import ServerEntry, fixture, real_servers, write_config
from .session import Reply, Session, open_http

MIB = 1024 * 1024
MOST_MEMORY = 400 * MIB
# The first tools/list, counted from the start of the process, while a server needs twenty seconds. Half of that, because
# two busy cores take seconds to begin with anything: what counts is that it does not wait for the server.
FIRST_LIST = 10.0


@dataclass
class Faults:
    report: Report
    tools: Installed
    binary: str
    website: str
    names: dict[str, str]

    def name(self, server: str, tool: str) -> str:
        id = f"mcp:{server}/{tool}"
        expect(id in self.names, f"toolcrib names no {id}")
        return self.names[id]

    @contextlib.asynccontextmanager
    async def toolcrib(self, name: str, make: Any) -> AsyncIterator[Toolcrib]:
        """toolcrib with the entries that `make` makes for the scratch folder."""
        scratch = Scratch("faults").with_state()
        async with leaving_nothing(self.report, name, scratch):
            yield Toolcrib(self.binary, scratch, write_config(scratch, make(scratch)))


async def run(report: Report, tools: Installed, binary: str, website: str, names: dict[str, str]) -> None:
    if not PROC.is_dir():
        report.skip("faults", "processes are looked up in /proc, which this system does not have")
        return
    faults = Faults(report, tools, binary, website, names)

    async def group(name: str, body: Any, limit: float = 180) -> None:
        if report.wants(name):
            async with report.test(f"{name}: starts, and comes to an end", limit):
                await body(faults, name)

    # Timed: nothing else runs meanwhile.
    await group("faults/slow", _slow)
    at_once = asyncio.Semaphore(2)

    async def limited(name: str, body: Any) -> None:
        async with at_once:
            await group(name, body)

    await asyncio.gather(
        limited("faults/kill", _kill),
        limited("faults/end/sigterm-http", _end(signal.SIGTERM, "http")),
        limited("faults/end/sigterm-stdio", _end(signal.SIGTERM, "stdio")),
        limited("faults/end/sigkill-http", _end(signal.SIGKILL, "http")),
        limited("faults/end/stubborn-sigterm", _stubborn(signal.SIGTERM)),
        limited("faults/end/stubborn-sigkill", _stubborn(signal.SIGKILL)),
        limited("faults/end/stubborn-eof", _stubborn(None)),
        limited("faults/grows", _grows),
        limited("faults/http", _http),
        *(limited(f"faults/garbage/{mode}", _garbage(mode, expected)) for mode, expected in GARBAGE.items()),
    )


# --- killed servers ---------------------------------------------------------------------------------------------------

# For each server a call that always succeeds.
PROBES: dict[str, tuple[str, Any]] = {
    "everything": ("echo", lambda _: {"message": "here"}),
    "filesystem": ("list_allowed_directories", lambda _: {}),
    "memory": ("read_graph", lambda _: {}),
    "sequential-thinking": (
        "sequentialthinking",
        lambda _: {"thought": "a", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
    ),
    "git": ("git_status", lambda scratch: {"repo_path": str(scratch.repo)}),
    "time": ("get_current_time", lambda _: {"timezone": "Etc/UTC"}),
    "fetch": ("fetch", None),
}


async def _kill(faults: Faults, name: str) -> None:
    report = faults.report

    def entries(scratch: Scratch) -> list[ServerEntry]:
        return real_servers(faults.tools, scratch)

    async with (
        faults.toolcrib(name, entries) as toolcrib,
        toolcrib.listening() as listening,
        open_http(listening.url, "modern") as session,
    ):
        mark = toolcrib.scratch.mark

        async def probe(server: str, seconds: float = 10) -> Reply:
            tool, arguments = PROBES[server]
            given = {"url": f"{faults.website}/plain"} if arguments is None else arguments(toolcrib.scratch)
            return await call(session, faults.name(server, tool), given, seconds=seconds)

        await ready(session, [faults.name(server, tool) for server, (tool, _) in PROBES.items()])
        for server in PROBES:
            other = "time" if server != "time" else "memory"
            async with report.test(f"{name}/{server}: killed, the others go on, it comes back by itself", 40):
                reply = await probe(server)
                expect(not reply.failed, f"before: {reply.text[:200]}")
                pids = servers_of(mark, server)
                expect(pids, "its process is not found")
                kill(pids)
                others = await asyncio.gather(*(probe(other) for _ in range(5)))
                expect(not any(reply.failed for reply in others), f"{other} failed: {[r.text[:100] for r in others]}")
                await _comes_back(lambda server=server: probe(server), 15)
                expect(not set(pids) & set(servers_of(mark, server)), "the killed process is still there")
        for server, tool, slow in (
            ("everything", "trigger-long-running-operation", {"duration": 30, "steps": 3}),
            ("fetch", "fetch", {"url": f"{faults.website}/slow"}),
        ):
            async with report.test(f"{name}/{server}: killed during a call, which fails at once and says why", 40):
                running = asyncio.create_task(call(session, faults.name(server, tool), slow, seconds=30))
                await asyncio.sleep(1.0)
                expect(not running.done(), f"the slow call ended: {running.done() and running.result().text[:200]}")
                beside = asyncio.create_task(probe("time"))
                kill(servers_of(mark, server))
                begin = time.monotonic()
                reply = await running
                expect(reply.failed, f"it succeeded: {reply.text[:200]}")
                expect(time.monotonic() - begin < 5, f"it took {time.monotonic() - begin:.1f} s to fail")
                expect(server in reply.text, f"the error does not name the server: {reply.text[:300]}")
                expect(not (await beside).failed, "the call beside it failed")
                await _comes_back(lambda server=server: probe(server), 15)


async def _comes_back(probe: Any, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        reply = await probe()
        if not reply.failed:
            return
        expect(time.monotonic() < until, f"not back after {seconds:.0f} s: {reply.text[:300]}")
        await asyncio.sleep(0.2)


# --- the end of toolcrib ----------------------------------------------------------------------------------------------


def _end(number: int, door: str) -> Any:
    async def body(faults: Faults, name: str) -> None:
        def entries(scratch: Scratch) -> list[ServerEntry]:
            return real_servers(faults.tools, scratch)

        wanted = [faults.name(server, tool) for server, (tool, _) in PROBES.items()]
        async with faults.toolcrib(name, entries) as toolcrib:
            with contextlib.suppress(Exception) if door == "stdio" else contextlib.nullcontext():
                # Over stdio the client loses its server under its feet, which it may report in any way it likes.
                async with toolcrib.open(door, "legacy") as session:
                    await ready(session, wanted)
                    for server, (tool, arguments) in PROBES.items():
                        given = {"url": f"{faults.website}/plain"} if arguments is None else arguments(toolcrib.scratch)
                        await call(session, faults.name(server, tool), given)
                    await _expect_end(faults.report, name, toolcrib, number)

    return body


async def _expect_end(report: Report, name: str, toolcrib: Toolcrib, number: int) -> None:
    """Signals toolcrib and tests that it and all servers are gone soon."""
    mark = toolcrib.scratch.mark
    async with report.test(f"{name}: {signal.Signals(number).name} ends toolcrib and every server", 20):
        pid = toolcrib.pid()
        os.kill(pid, number)
        until = time.monotonic() + 10
        while _lives(pid):
            expect(time.monotonic() < until, "toolcrib is still there after 10 s")
            await asyncio.sleep(0.05)
        # After SIGKILL nobody is there to end the servers: they end because their input does, or as the system is told.
        left = await none_left(mark, 8 if number == signal.SIGKILL else 1)
        expect(not left, f"still running: {left}")


def _lives(pid: int) -> bool:
    try:
        state = (PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _stubborn(number: int | None) -> Any:
    """A server that ignores SIGTERM and the end of its input, and has a child that does too."""

    async def body(faults: Faults, name: str) -> None:
        def entries(scratch: Scratch) -> list[ServerEntry]:
            return [fixture("garbage_server.py", "stubborn", scratch, "stubborn")]

        async with faults.toolcrib(name, entries) as toolcrib:
            async with toolcrib.listening() if number else toolcrib.stdio("legacy") as opened:
                if isinstance(opened, Session):
                    await _use_stubborn(opened, toolcrib)
                else:
                    async with open_http(opened.url, "legacy") as session:
                        await _use_stubborn(session, toolcrib)
                if number:
                    await _expect_end(faults.report, name, toolcrib, number)

    return body


async def _use_stubborn(session: Session, toolcrib: Toolcrib) -> None:
    await ready(session, ["stubborn__work"])
    reply = await call(session, "stubborn__work", {})
    expect("worked" in reply.text, reply.text[:200])
    expect(len(servers_of(toolcrib.scratch.mark, "stubborn")) == 2, "the server and its child are not both there")


# --- garbage ----------------------------------------------------------------------------------------------------------

# Mode: what a call of its tool `work` must do. "ok" and "fails" as they say, "any" ends or does not, None has no tool.
GARBAGE = {
    "random-bytes": None,
    "half-json": None,
    "endless-line": None,
    "many-tools": None,
    "huge-list": None,
    "never-initialize": None,
    "never-answers": "fails",
    "answers-twice": "ok",
    "wrong-ids": "fails",
    "stray-lines": "ok",
    "stderr-flood": "ok",
    "list-changed-storm": "ok",
    "repeated-cursor": None,
    "endless-pages": None,
    "exit-at-once": None,
    "exit-on-call": "fails",
    "huge-result": "any",
    "deep-result": "any",
    "bad-tools": "ok",
    "same-names": None,
}


def _garbage(mode: str, expected: str | None) -> Any:
    async def body(faults: Faults, name: str) -> None:
        def entries(scratch: Scratch) -> list[ServerEntry]:
            garbage = fixture("garbage_server.py", "garbage", scratch, mode, call_timeout_ms=2500)
            return [garbage, *real_servers(faults.tools, scratch, ["time"])]

        async with faults.toolcrib(name, entries) as toolcrib, toolcrib.stdio("modern") as session:
            now = faults.name("time", "get_current_time")

            async def time_answers(times: int) -> None:
                # Generous, as every limit here: on a busy machine reading a huge list takes its time.
                replies = [await call(session, now, {"timezone": "Etc/UTC"}, seconds=20) for _ in range(times)]
                bad = [reply.text[:200] for reply in replies if reply.failed]
                expect(not bad, f"time failed: {bad[:2]}")

            async with faults.report.test(f"{name}: the other server is there and answers", 120):
                await session.tools()
                await ready(session, [now], 20)
                await time_answers(5)
            if expected:
                async with faults.report.test(f"{name}: calling it {_said(expected)}, the other goes on meanwhile", 120):
                    await ready(session, ["garbage__work"], 10)
                    calling = asyncio.create_task(call(session, "garbage__work", {}, seconds=6))
                    await time_answers(10)
                    reply = await calling
                    if expected == "ok":
                        expect(not reply.failed and "worked" in reply.text, f"answered {reply.text[:300]}")
                    elif expected == "fails":
                        expect(reply.failed, f"succeeded: {reply.text[:200]}")
                        ours = "Request 'tools/call' timed out" not in reply.text
                        expect(ours, "the client's own limit of 6 s ended it, not the gateway's of 2.5 s")
            async with faults.report.test(f"{name}: a while later all is well and memory is bounded", 90):
                await asyncio.sleep(1.5)
                await time_answers(3)
                peak = peak_memory(toolcrib.pid())
                expect(0 < peak < MOST_MEMORY, f"{peak // MIB} MiB at most, allowed are {MOST_MEMORY // MIB}")

    return body


def _said(expected: str) -> str:
    return {"ok": "works", "fails": "fails", "any": "harms nothing"}[expected]


# --- requests that no client of ours would send -----------------------------------------------------------------------


async def _http(faults: Faults, name: str) -> None:
    def entries(scratch: Scratch) -> list[ServerEntry]:
        return real_servers(faults.tools, scratch, ["time"])

    async with faults.toolcrib(name, entries) as toolcrib, toolcrib.listening() as listening:
        address = urlsplit(listening.url)

        def send(body: bytes, **headers: str) -> int:
            connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=10)
            try:
                given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
                connection.request("POST", address.path, body, {**given, **headers})
                return connection.getresponse().status
            finally:
                connection.close()

        first = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "e2e", "version": "1"}}
        hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": first}).encode()
        cases = [
            ("a plain request is served", (200,), hello, {}),
            ("a page of another origin is refused", (403,), hello, {"Origin": "http://evil.test"}),
            ("another host name is refused, against DNS rebinding", (403, 421), hello, {"Host": "evil.test"}),
            ("half of a JSON document is a bad request", (400,), hello[:40], {}),
            ("a body that is not JSON is a bad request", (400, 415), b"\xff\x00 not JSON", {}),
            ("a body beyond any limit is refused", (400, 413), b"[" + b"1," * 40 * MIB + b"1]", {}),
            ("and a plain request is served as before", (200,), hello, {}),
        ]
        for what, wanted, body, headers in cases:
            async with faults.report.test(f"{name}: {what}", 20):
                try:
                    status = await asyncio.to_thread(send, body, **headers)
                except (BrokenPipeError, ConnectionResetError):
                    # Refused before the body was read whole, which only the large one may be.
                    status = 413 if len(body) > MIB else 0
                expect(status in wanted, f"answered {status}")
        async with faults.report.test(f"{name}: memory is bounded", 10):
            peak = peak_memory(toolcrib.pid())
            expect(0 < peak < MOST_MEMORY, f"{peak // MIB} MiB at most, allowed are {MOST_MEMORY // MIB}")


# --- change and delay -------------------------------------------------------------------------------------------------


async def _grows(faults: Faults, name: str) -> None:
    """A server adds a tool while it runs."""

    def entries(scratch: Scratch) -> list[ServerEntry]:
        return [fixture("garbage_server.py", "grows", scratch, "grows")]

    async with faults.toolcrib(name, entries) as toolcrib, toolcrib.stdio("modern") as session:
        async with faults.report.test(f"{name}: a tool that a server adds is found within 5 s", 30):
            await ready(session, ["grows__work"])
            expect(not (await call(session, "grows__work", {})).failed, "the call failed")
            await ready(session, ["grows__grown1"], 5)
            expect("grows__grown1" in matches(await search(session, "grown1")), "search does not find it")


async def _slow(faults: Faults, name: str) -> None:
    """A server that needs twenty seconds to start, unknown at first and known later."""

    def entries(scratch: Scratch) -> list[ServerEntry]:
        delay = scratch.root / "delay"
        delay.write_text("20")
        slow = fixture("garbage_server.py", "slow", scratch, "slow", str(delay))
        return [slow, *real_servers(faults.tools, scratch, ["time"])]

    async with faults.toolcrib(name, entries) as toolcrib:
        delay = toolcrib.scratch.root / "delay"
        async with faults.report.test(f"{name}: unknown, the first list is there within {FIRST_LIST:.0f} s", 40):
            begin = time.monotonic()
            async with toolcrib.stdio("legacy") as session:
                listed = [tool["name"] for tool in await session.tools()]
                took = time.monotonic() - begin
                expect(took < FIRST_LIST, f"it took {took:.2f} s")
                expect("tool_search" in listed, f"listed {listed}")
                await ready(session, [faults.name("time", "get_current_time")], 15)
                answer = await search(session, "work")
                pending = [entry.get("server") for entry in answer.get("not_ready", [])]
                expect("slow" in pending, f"search does not say that it is starting: {pending}")
        async with faults.report.test(f"{name}: once it was there its tools are kept", 40):
            delay.write_text("0")
            async with toolcrib.stdio("legacy") as session:
                await ready(session, ["slow__work"], 15)
        async with faults.report.test(f"{name}: known, its tools are there at once while it starts", 40):
            delay.write_text("20")
            begin = time.monotonic()
            async with toolcrib.stdio("legacy") as session:
                await session.tools()
                described = await describe(session, ["slow__work"])
                found = matches(await search(session, "does some work"))
                took = time.monotonic() - begin
                expect("slow__work" in described, "not described")
                expect("slow__work" in found, f"search found {found}")
                expect(took < FIRST_LIST, f"it took {took:.2f} s")

