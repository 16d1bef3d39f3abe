"""Rules that deny, through every door: the tool by its name, the bridge, the command line, the JSON API. Each with a call
beside it that the same rules let through, made the same way."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ..gateway import call
from ..report import expect
from ..session import Session, open_http
from .bench import DENIED, DONE, FAILED, LOOK, PUT, WIPE, Bench, Setting, http_request

DOORS = ("direct", "bridge", "cli", "api")
DENIED_STATUS, UNKNOWN_STATUS = 403, 404


@dataclass(frozen=True)
class Said:
    """What came back through a door."""

    ok: bool
    text: str
    # The exit code or HTTP status; 0 where there is none.
    code: int = 0


@dataclass
class Doors:
    bench: Bench
    session: Session
    url: str

    async def through(self, door: str, tool: str, arguments: dict[str, Any]) -> Said:
        if door in ("direct", "bridge"):
            made = self.session.call(tool, arguments) if door == "direct" else call(self.session, tool, arguments)
            reply = await made
            return Said(not reply.failed, reply.text)
        if door == "cli":
            ended = await self.bench.command("call", tool, json.dumps(arguments), *self.trust)
            return Said(ended.code == DONE, ended.err + ended.out, ended.code)
        answer = await http_request(self.url, "POST", "/v1/calls", {"name": tool, "arguments": arguments})
        ok = answer.status == 200 and answer.document().get("outcome") == "ok"
        return Said(ok, answer.text, answer.status)

    @property
    def trust(self) -> list[str]:
        level = self.bench.toolcrib.trust
        return ["--trust", level] if level else []


async def _each_door(bench: Bench, body: Any) -> None:
    async with bench.toolcrib.listening() as listening, open_http(listening.url, "legacy") as session:
        await bench.up(session)
        doors = Doors(bench, session, listening.url)
        for door in DOORS:
            await body(bench, doors, door)


async def _deny(setting: Setting, name: str) -> None:
    private = "private"
    async with setting.bench(name, trust="all") as bench:
        (bench.files / private).mkdir()
        bench.configure(
            permissions={
                "deny": ["run_command(rm:*)", "mcp:ledger/wipe", f"write_file({bench.files / private}/*)"],
                # A rule that denies wins over one that allows, and over --trust all.
                "allow": ["*"],
                "rules": [
                    {
                        "tool": "mcp:ledger/put",
                        "action": "deny",
                        "when": [{"argument": "what", "op": "starts_with", "value": "secret"}],
                    }
                ],
            }
        )
        await _each_door(bench, _denied)


async def _denied(bench: Bench, doors: Doors, door: str) -> None:
    victim = bench.file(f"victim-{door}.txt")
    victim.write_text("still here\n")
    removing: list[dict[str, Any]] = [
        {"command": "rm", "args": [str(victim)]},
        {"command": "rm", "args": ["-rf", "--", str(victim)]},
        {"command": "/bin/rm", "args": [str(victim)]},
        {"command": "env", "args": ["rm", str(victim)]},
        {"command": "sh", "args": ["-c", f"rm '{victim}'"]},
        {"command": "sh", "args": ["-c", f"true && rm '{victim}'"]},
    ]
    # Starting a process for each would take longer than all the rest.
    some = removing if door != "cli" else removing[::2]
    async with bench.test(f"{door}: a command that a rule denies never runs, another one does"):
        for arguments in some:
            said = await doors.through(door, "run_command", arguments)
            expect(not said.ok, f"{arguments}: {said.text[:200]}")
            expect(victim.exists(), f"{arguments} ran")
            _told(door, said)
        beside = bench.file(f"beside-{door}.txt")
        said = await doors.through(door, "run_command", {"command": "touch", "args": [str(beside)]})
        expect(said.ok and beside.exists(), f"touch did not run: {said.text[:300]}")
    async with bench.test(f"{door}: a path that a rule denies is never written, another one is"):
        for path in (f"private/{door}.txt", f"private/../private/{door}.txt"):
            said = await doors.through(door, "write_file", bench.writing(path))
            expect(not said.ok and not list((bench.files / "private").iterdir()), f"{path}: {said.text[:200]}")
        said = await doors.through(door, "write_file", bench.writing(f"open-{door}.txt"))
        expect(said.ok and bench.file(f"open-{door}.txt").exists(), f"not written: {said.text[:300]}")
    async with bench.test(f"{door}: a server's tool that a rule denies is never called, another one is"):
        said = await doors.through(door, WIPE, {"what": door})
        expect(not said.ok and bench.times(WIPE, door) == 0, f"it ran: {said.text[:200]}")
        said = await doors.through(door, PUT, {"what": door})
        expect(said.ok and bench.times(PUT, door) == 1, f"put did not run: {said.text[:300]}")
    async with bench.test(f"{door}: a condition on an argument denies that argument and no other"):
        said = await doors.through(door, PUT, {"what": f"secret {door}"})
        expect(not said.ok and bench.times(PUT, f"secret {door}") == 0, f"it ran: {said.text[:200]}")
        _told(door, said)
        said = await doors.through(door, PUT, {"what": f"no secret {door}"})
        expect(said.ok and bench.times(PUT, f"no secret {door}") == 1, f"put did not run: {said.text[:300]}")


def _told(door: str, said: Said) -> None:
    if door == "cli":
        expect(said.code == DENIED, f"ended with {said.code}: {said.text[:200]}")
    if door == "api":
        expect(said.code == DENIED_STATUS, f"status {said.code}: {said.text[:200]}")


async def _plan(setting: Setting, name: str) -> None:
    """Plan mode: only what changes nothing runs, whatever is allowed."""
    permissions = {"plan": True, "allow": ["*"]}
    async with setting.bench(name, trust="all", permissions=permissions) as bench:

        async def planned(bench: Bench, doors: Doors, door: str) -> None:
            async with bench.test(f"{door}: in plan mode nothing is changed, reading goes on"):
                for tool, arguments in (
                    ("write_file", bench.writing("planned.txt")),
                    ("run_command", bench.touching("planned.txt")),
                    (PUT, {"what": "planned"}),
                    (WIPE, {"what": "planned"}),
                ):
                    said = await doors.through(door, tool, arguments)
                    expect(not said.ok, f"{tool} ran: {said.text[:200]}")
                expect(not bench.file("planned.txt").exists(), "a file was written")
                expect(not [line for line in bench.ran() if line["arguments"]["what"] == "planned"], f"ran {bench.ran()}")
                said = await doors.through(door, "read_file", {"path": str(bench.file("poem.txt"))})
                expect(said.ok and "line 7" in said.text, f"reading: {said.text[:300]}")
                # What a server says of itself never loosens a rule: `look` only claims that it changes nothing.
                said = await doors.through(door, LOOK, {"what": "planned"})
                expect(not said.ok and not bench.ran(), f"look ran: {said.text[:200]}")

        await _each_door(bench, planned)


async def _hidden(setting: Setting, name: str) -> None:
    """A tool that policy takes away answers like one that never was."""
    async with setting.bench(name, trust="all", policy={"deny": ["mcp:ledger/put"]}) as bench:

        async def hidden(bench: Bench, doors: Doors, door: str) -> None:
            async with bench.test(f"{door}: a hidden tool answers like an unknown one, and does not run"):
                unknown = await doors.through(door, "ledger__pux", {"what": door})
                taken = await doors.through(door, PUT, {"what": door})
                expect(not taken.ok and not unknown.ok, f"it ran: {taken.text[:200]}")
                expect(bench.times(PUT, door) == 0, f"ran {bench.ran()}")
                expect(taken.code == unknown.code, f"told apart by {taken.code} and {unknown.code}")
                if door == "api":
                    expect(taken.code == UNKNOWN_STATUS, f"status {taken.code}: {taken.text[:200]}")
                if door == "cli":
                    expect(taken.code == FAILED, f"ended with {taken.code}: {taken.text[:200]}")
                said = _comparable(door, taken.text, PUT), _comparable(door, unknown.text, "ledger__pux")
                expect(said[0] == said[1], f"told apart by {said[0][:300]!r} and {said[1][:300]!r}")
                beside = await doors.through(door, LOOK, {"what": f"beside {door}"})
                expect(beside.ok and bench.times(LOOK, f"beside {door}") == 1, f"look did not run: {beside.text[:300]}")

        await _each_door(bench, hidden)


def _comparable(door: str, text: str, name: str) -> str:
    """Without what tells two calls of one tool apart."""
    if door == "api":
        answer = json.loads(text)
        text = json.dumps({key: answer[key] for key in answer if key not in ("call_id", "timings_us")})
    return text.replace(name, "TOOL")


GROUPS: dict[str, Any] = {"doors/deny": _deny, "doors/plan": _plan, "doors/hidden": _hidden}
