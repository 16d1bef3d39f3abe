"""toolcrib itself: started as people start it, asked as clients ask it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .processes import end_all, marked, none_left
from .report import Failed, Report, expect
from .scratch import Scratch
from .session import Reply, Session, open_http, open_stdio

BRIDGE = ("tool_search", "tool_describe", "tool_call")
LISTENING = re.compile(r"listening on (http://\S+)")
DESCRIBED_AT_ONCE = 10


@dataclass
class Ended:
    code: int
    out: str
    err: str

    def document(self) -> Any:
        try:
            return json.loads(self.out)
        except ValueError:
            raise Failed(f"no JSON document (exit {self.code}): {self.out[:200]!r} {self.err[-300:]!r}") from None


@contextlib.asynccontextmanager
async def leaving_nothing(report: Report, name: str, scratch: Scratch) -> AsyncIterator[None]:
    """Tests after the block that no server of the run is left, then removes all traces of the run."""
    try:
        yield
    finally:
        async with report.test(f"{name}: leaves no process behind"):
            left = await none_left(scratch.mark, 10)
            expect(not left, f"still running: {left}")
        end_all(scratch.mark)
        scratch.remove()


@dataclass
class Toolcrib:
    """The binary with a scratch home and one config file."""

    binary: str
    scratch: Scratch
    config: Path
    options: list[str] = field(default_factory=list)
    # The level of --trust; None leaves the option out.
    trust: str | None = "all"
    # Environment variables beside those of the scratch folder.
    variables: dict[str, str] = field(default_factory=dict)

    def serve_line(self, *more: str) -> list[str]:
        trust = ["--trust", self.trust] if self.trust else []
        return [self.binary, "serve", "--config", str(self.config), *trust, *self.options, *more]

    async def command(self, *words: str, stdin: str | None = None, seconds: float = 60.0) -> Ended:
        """Runs one command to its end."""
        process = await asyncio.create_subprocess_exec(
            self.binary,
            *words,
            stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.scratch.environment(),
            cwd=self.scratch.home,
        )
        try:
            given = stdin.encode() if stdin is not None else None
            out, err = await asyncio.wait_for(process.communicate(given), seconds)
        except TimeoutError:
            raise Failed(f"toolcrib {' '.join(words)[:200]} did not end within {seconds} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Ended(process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace"))

    @contextlib.asynccontextmanager
    async def stdio(self, era: str, *more: str, person: Any = None) -> AsyncIterator[Session]:
        """A client with toolcrib as its stdio server, and the person who answers its questions, if any."""
        line = self.serve_line("--stdio", *more)
        with self.scratch.log.open("a") as log:
            async with open_stdio(
                line[0], line[1:], self.scratch.environment(), era, log, cwd=str(self.scratch.home), person=person
            ) as session:
                yield session

    @contextlib.asynccontextmanager
    async def listening(self, *more: str) -> AsyncIterator[Listening]:
        """toolcrib serving HTTP on a port of the kernel's choice."""
        with self.scratch.log.open("ab") as log:
            said_before = log.tell()
            process = await asyncio.create_subprocess_exec(
                *self.serve_line("--http", "127.0.0.1:0", *more),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=log,
                env={**self.scratch.environment(), **self.variables},
                cwd=self.scratch.home,
            )
        try:
            yield Listening(process, await self._address(process, said_before))
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), 10)
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def _address(self, process: asyncio.subprocess.Process, said_before: int) -> str:
        until = time.monotonic() + 15
        while time.monotonic() < until:
            found = LISTENING.findall(self.scratch.log.read_bytes()[said_before:].decode(errors="replace"))
            if found:
                return found[-1]
            expect(process.returncode is None, f"serve --http ended with {process.returncode}: {self.log_tail()}")
            await asyncio.sleep(0.02)
        raise Failed(f"serve --http printed no address within 15 s: {self.log_tail()}")

    @contextlib.asynccontextmanager
    async def open(self, door: str, era: str, *more: str, person: Any = None) -> AsyncIterator[Session]:
        """A client in the given era through the given door, `stdio` or `http`."""
        if door == "stdio":
            async with self.stdio(era, *more, person=person) as session:
                yield session
        else:
            async with self.listening(*more) as listening, open_http(listening.url, era, person) as session:
                yield session

    def pid(self) -> int:
        """The serving process, wherever it was started from."""
        for found in marked(self.scratch.mark):
            if not found.server and f"{self.binary} serve " in found.command:
                return found.pid
        raise Failed("toolcrib is not running")

    def log_tail(self) -> str:
        return self.scratch.log_tail()


@dataclass
class Listening:
    process: asyncio.subprocess.Process
    url: str


def structured(reply: Reply) -> dict[str, Any]:
    """The JSON object that a bridge tool answered with."""
    expect(reply.error is None, f"protocol error {reply.error}")
    found = (reply.result or {}).get("structuredContent")
    if not isinstance(found, dict):
        try:
            found = json.loads(reply.text)
        except ValueError:
            raise Failed(f"the answer is not JSON: {reply.text[:300]}") from None
    expect(isinstance(found, dict), f"the answer is no object: {str(found)[:200]}")
    return found


async def search(client: Any, query: str, limit: int = 10) -> dict[str, Any]:
    reply = await client.call("tool_search", {"queries": [query], "limit": limit})
    expect(not reply.failed, f"tool_search failed: {reply.text[:300]}")
    return structured(reply)


def matches(answer: dict[str, Any]) -> list[str]:
    return [match["name"] for result in answer["results"] for match in result["matches"]]


async def describe(client: Any, names: list[str]) -> dict[str, dict[str, Any]]:
    """Definitions by exposed name, asked for as many at a time as allowed; names that were not found are absent."""
    found: dict[str, dict[str, Any]] = {}
    for start in range(0, len(names), DESCRIBED_AT_ONCE):
        reply = await client.call("tool_describe", {"names": names[start : start + DESCRIBED_AT_ONCE]})
        for tool in structured(reply).get("found", []):
            found[tool["name"]] = tool
    return found


async def call(client: Any, name: str, arguments: dict[str, Any], **more: Any) -> Reply:
    """Through the bridge."""
    return await client.call("tool_call", {"name": name, "arguments": arguments}, **more)


async def ready(client: Any, names: list[str], seconds: float = 40.0) -> None:
    """Waits until all of the tools can be described: servers start in the background."""
    until = time.monotonic() + seconds
    while True:
        missing = sorted(set(names) - set(await describe(client, names)))
        if not missing:
            return
        if time.monotonic() > until:
            why = (await search(client, "anything")).get("not_ready")
            raise Failed(f"not there after {seconds:.0f} s: {', '.join(missing)[:400]}; not ready: {why}")
        await asyncio.sleep(0.1)
