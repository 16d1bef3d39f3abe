"""A toolcrib with tools that ask, and the means to see what ran."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..gateway import Ended, Toolcrib, leaving_nothing, ready
from ..installed import Installed
from ..report import Failed, Report, expect
from ..scratch import Scratch
from ..servers import fixture
from ..session import Reply

DONE, FAILED, USAGE, DENIED, UNAVAILABLE = range(5)
# Secrets: given to a tool, and to a server.
PASSWORD = "canary-password-7f3a91"
TOKEN = "canary-token-5be20c"
HANDLE = re.compile(r"\b[a-z0-9]{26}\b")

WIPE, PUT, LOOK, LOGIN, FAIL = (f"ledger__{name}" for name in ("wipe", "put", "look", "login", "fail"))


@dataclass(frozen=True)
class Setting:
    """What all benches have in common."""

    report: Report
    tools: Installed
    binary: str

    @contextlib.asynccontextmanager
    async def bench(self, name: str, trust: str | None = None, **sections: Any) -> AsyncIterator[Bench]:
        """toolcrib with the ledger server and its own tools. `sections` of the configuration win over the usual."""
        scratch = Scratch("approvals").with_state()
        async with leaving_nothing(self.report, name, scratch):
            bench = Bench(self.report, name, Toolcrib(self.binary, scratch, scratch.root / "toolcrib.json"))
            bench.toolcrib.trust = trust
            bench.configure(**sections)
            yield bench


class Bench:
    def __init__(self, report: Report, name: str, toolcrib: Toolcrib) -> None:
        self.report = report
        self.name = name
        self.toolcrib = toolcrib
        root = toolcrib.scratch.root
        self.files = toolcrib.scratch.files
        self.ledger = root / "ledger.jsonl"
        self.wording = root / "wording.txt"
        self.database = root / "state" / "state.db"

    def configure(self, **sections: Any) -> None:
        """Writes the configuration."""
        server = fixture("ledger_server.py", "ledger", self.toolcrib.scratch, str(self.ledger), str(self.wording))
        server.env["LEDGER_TOKEN"] = TOKEN
        usual = {
            "servers": {"ledger": server.as_config()},
            "builtin": {"files": {"roots": [str(self.files)]}, "command": {"enabled": True}},
            "approvals": {"wait_ms": 20_000, "per_minute": 1_000, "most_open": 1_000},
            # The same destructive call twice in a minute is what these tests make: what keeps a model from it is off.
            "calls": {"duplicates_ms": 0},
            # What is denied whole would not be listed: here the call path has to refuse it.
            "policy": {"show_denied": True},
            "store": {"path": str(self.database)},
        }
        self.toolcrib.config.write_text(json.dumps({**usual, **sections}, indent=2))

    def test(self, what: str, limit: float = 30.0) -> Any:
        return self.report.test(f"{self.name}: {what}", limit)

    # --- what ran -----------------------------------------------------------------------------------------------------

    def ran(self) -> list[dict[str, Any]]:
        """The calls that reached the upstream server, oldest first."""
        if not self.ledger.exists():
            return []
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def times(self, tool: str, what: str) -> int:
        """How often the upstream's tool ran with this argument."""
        short = tool.removeprefix("ledger__")
        return sum(line == {"tool": short, "arguments": {"what": what}} for line in self.ran())

    def file(self, name: str) -> Path:
        return self.files / name

    def writing(self, name: str, content: str = "written\n") -> dict[str, Any]:
        """Arguments of `write_file`."""
        return {"path": str(self.file(name)), "content": content}

    def touching(self, name: str) -> dict[str, Any]:
        """Arguments of `run_command` that leave a file behind."""
        return {"command": "touch", "args": [str(self.file(name))]}

    # --- the terminal -------------------------------------------------------------------------------------------------

    async def command(self, command: str, *words: str, stdin: str | None = None) -> Ended:
        where = ["--config", str(self.toolcrib.config)]
        return await self.toolcrib.command(command, *words, *where, stdin=stdin)

    async def approvals(self, *words: str) -> Ended:
        return await self.command("approvals", *words, "--json")

    async def done(self, *words: str) -> Any:
        """An `approvals` command that must succeed; its document."""
        ended = await self.approvals(*words)
        expect(ended.code == DONE, f"approvals {' '.join(words)} ended with {ended.code}: {(ended.err or ended.out)[-400:]}")
        return ended.document()

    async def waiting(self, *more: str) -> list[dict[str, Any]]:
        """What `approvals list` prints."""
        return rows(await self.done("list", *more), "requests")

    async def grants(self) -> list[dict[str, Any]]:
        return rows(await self.done("grants"), "grants")

    # --- clients ------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def client(self, door: str, era: str, person: Any = None) -> AsyncIterator[Any]:
        """A client through a door, when all tools are there."""
        async with self.toolcrib.open(door, era, person=person) as session:
            expect(session.era == era, f"negotiated the {session.era} era")
            await self.up(session)
            yield session

    async def up(self, session: Any) -> None:
        await ready(session, [WIPE, "write_file"], 15)


def rows(document: Any, key: str) -> list[dict[str, Any]]:
    found = document if isinstance(document, list) else document.get(key)
    expect(isinstance(found, list), f"no list of {key} in {str(document)[:300]}")
    return found


def handle_in(reply: Reply) -> str:
    """The handle of the request under which a call was parked."""
    expect(reply.failed and reply.error is None, f"no result that is an error: {reply.comparable}")
    found = HANDLE.findall(reply.text)
    expect(found, f"no handle in {reply.text[:400]}")
    expect("a person can approve it under that handle" in reply.text, f"does not say that it can be approved: {reply.text[:400]}")
    return found[0]


def expect_ran(reply: Reply) -> None:
    expect(not reply.failed, f"it was not run: {reply.text[:400]}")


def expect_refused(reply: Reply) -> None:
    expect(reply.failed, f"it was not refused: {reply.text[:300]}")


async def until(condition: Any, what: str, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, f"{what}: not within {seconds:.0f} s")
        await asyncio.sleep(0.02)


@dataclass(frozen=True)
class Answer:
    """An HTTP answer."""

    status: int
    text: str

    def document(self) -> Any:
        try:
            return json.loads(self.text)
        except ValueError:
            raise Failed(f"no JSON (status {self.status}): {self.text[:300]!r}") from None


async def http_request(
    url: str, method: str, path: str, body: Any = None, key: str | None = None, headers: dict[str, str] | None = None
) -> Answer:
    """One request to the server that `url` is on."""
    parts = urlsplit(url)
    sent = {"Accept": "application/json, text/event-stream", **(headers or {})}
    if body is not None:
        sent["Content-Type"] = "application/json"
    if key:
        sent["Authorization"] = f"Bearer {key}"

    def ask() -> Answer:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=25)
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode(), sent)
            response = connection.getresponse()
            return Answer(response.status, response.read().decode())
        finally:
            connection.close()

    return await asyncio.to_thread(ask)
