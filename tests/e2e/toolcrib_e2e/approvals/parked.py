"""Clients that cannot show questions: the call is refused and parked, and a person approves it somewhere else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import AsyncIterator
from typing import Any

from ..gateway import Listening, call
from ..processes import kill
from ..report import expect
from ..session import Session, open_http
from .bench import (
    DENIED,
    DONE,
    LOOK,
    PUT,
    WIPE,
    Bench,
    Setting,
    expect_ran,
    expect_refused,
    handle_in,
    http_request,
    until,
)
from .person import DENY, NEVER, ONCE, Person

OPERATOR, CALLER = "operator-key-1b2c3d4e5f", "caller-key-9a8b7c6d5e"


async def _parks(bench: Bench, session: Any, what: str) -> str:
    """A call of the upstream's destructive tool, which must be parked."""
    reply = await session.call(WIPE, {"what": what})
    expect(bench.times(WIPE, what) == 0, "it ran without approval")
    return handle_in(reply)


def _terminal(door: str, era: str) -> Any:
    async def body(setting: Setting, name: str) -> None:
        async with setting.bench(name) as bench, bench.client(door, era) as session:
            await _once(bench, session)
            await _denied(bench, session)
            await _bound(bench, session)
            await _session_reach(bench, session, door)
            await _race(bench, session)
            await _misuse(bench, session)

    return body


async def _once(bench: Bench, session: Any) -> None:
    async with bench.test("parked, listed, shown, approved: the same call runs once"):
        handle = await _parks(bench, session, "once")
        waiting = await bench.waiting()
        expect([row["id"] for row in waiting] == [handle], f"listed {waiting}")
        shown = await bench.done("show", handle)
        for key, wanted in (("id", handle), ("exposed", WIPE), ("state", "pending"), ("arguments", '{"what":"once"}')):
            expect(shown.get(key) == wanted, f"{key} is {shown.get(key)!r}, not {wanted!r}")
        expect("once" in shown["description"] and "ledger" in shown["description"], shown["description"])
        expect(shown["expires_at_ms"] > shown["created_at_ms"], "it never expires")
        again = handle_in(await session.call(WIPE, {"what": "once"}))
        expect(again == handle, "the same call again is another request")
        await bench.done("approve", handle, "--for", "once")
        expect(await bench.waiting() == [], "still listed")
        expect_ran(await session.call(WIPE, {"what": "once"}))
        expect(bench.times(WIPE, "once") == 1, f"ran {bench.ran()}")
        other = handle_in(await session.call(WIPE, {"what": "once"}))
        expect(other != handle, "the used request is open again")
        expect(bench.times(WIPE, "once") == 1, f"ran {bench.ran()}")
    async with bench.test("the built-in tools that write and run commands are parked, too"):
        for tool, arguments in (
            ("write_file", bench.writing("parked.txt")),
            ("run_command", bench.touching("parked.txt")),
            ("edit_file", {"path": str(bench.file("poem.txt")), "old_text": "line 1\n", "new_text": "changed\n"}),
        ):
            reply = await call(session, tool, arguments)
            handle = handle_in(reply)
            expect(not bench.file("parked.txt").exists(), f"{tool} ran without approval")
            await bench.done("approve", handle)
            expect_ran(await call(session, tool, arguments))
            if tool != "edit_file":
                expect(bench.file("parked.txt").exists(), f"{tool} did not run")
                bench.file("parked.txt").unlink()


async def _denied(bench: Bench, session: Any) -> None:
    async with bench.test("denied: the call does not run, and asks again later"):
        handle = await _parks(bench, session, "denied")
        await bench.done("deny", handle)
        after = handle_in(await session.call(WIPE, {"what": "denied"}))
        expect(after != handle, "the denied request is open again")
        expect((await bench.done("show", handle))["state"] == "denied", "not recorded as denied")
        expect(bench.times(WIPE, "denied") == 0, "it ran")
    async with bench.test("denied for always: refused from then on, and nobody is asked"):
        reply = await call(session, "run_command", bench.touching("never.txt"))
        await bench.done("deny", handle_in(reply), "--for", "always")
        before = len(await bench.waiting())
        for arguments in (bench.touching("never.txt"), bench.touching("never-2.txt")):
            reply = await call(session, "run_command", arguments)
            expect_refused(reply)
            expect("approvals approve" not in reply.text, f"asks again: {reply.text[:300]}")
        expect(len(await bench.waiting()) == before, "there is a new request")
        expect(not bench.file("never.txt").exists() and not bench.file("never-2.txt").exists(), "it ran")
        (forbidding,) = [grant for grant in await bench.grants() if grant["tool"] == "builtin/run_command"] or [None]
        expect(forbidding and forbidding["allow"] is False, f"grants: {await bench.grants()}")
        await bench.done("revoke", forbidding["id"])
        handle_in(await call(session, "run_command", bench.touching("never.txt")))


async def _bound(bench: Bench, session: Any) -> None:
    async with bench.test("an approval covers the arguments that were shown and no others"):
        await bench.done("approve", await _parks(bench, session, "this"))
        for changed in ({"what": "that"}, {"what": "this "}, {"what": "this", "more": "x"}, {"what": "This"}):
            expect_refused(await session.call(WIPE, changed))
        expect_refused(await session.call("write_file", bench.writing("this")))
        expect([line for line in bench.ran() if line["arguments"].get("what", "").strip().lower() == "this"] == [], "it ran")
        expect_ran(await session.call(WIPE, {"what": "this"}))
        expect(bench.times(WIPE, "this") == 1, f"ran {bench.ran()}")


async def _session_reach(bench: Bench, session: Any, door: str) -> None:
    async with bench.test("--for session: every such call of this session, until it is revoked"):
        handle = await _parks(bench, session, "session")
        if "session" not in (await bench.done("show", handle))["offers"]:
            expect(door == "http" and session.era == "modern", "the session is not offered")
            ended = await bench.approvals("approve", handle, "--for", "session")
            expect(ended.code != DONE, "approved for a session that there is not")
            return
        await bench.done("approve", handle, "--for", "session")
        for _ in range(3):
            expect_ran(await session.call(WIPE, {"what": "session"}))
        (granted,) = [grant for grant in await bench.grants() if grant["reach"] == "session"]
        await bench.done("revoke", granted["id"])
        handle_in(await session.call(WIPE, {"what": "session"}))
        expect(bench.times(WIPE, "session") == 3, f"ran {bench.ran()}")
        expect((await bench.approvals("revoke", granted["id"])).code != DONE, "revoked twice")


async def _race(bench: Bench, session: Any) -> None:
    async with bench.test("of several approvals of one request at once exactly one is recorded, for one run", 40):
        handle = await _parks(bench, session, "race")
        ended = await asyncio.gather(*(bench.approvals("approve", handle) for _ in range(4)))
        codes = [one.code for one in ended]
        expect(codes.count(DONE) == 1, f"ended with {codes}: {[one.err[-100:] for one in ended]}")
        granted = [grant for grant in await bench.grants() if grant["request"] == handle]
        expect(len(granted) == 1, f"granted {granted}")
        replies = await asyncio.gather(*(session.call(WIPE, {"what": "race"}) for _ in range(6)))
        expect([reply.failed for reply in replies].count(False) == 1, f"ran {[reply.text[:60] for reply in replies]}")
        expect(bench.times(WIPE, "race") == 1, f"ran {bench.ran()}")
    async with bench.test("of approvals and denials of one request at once exactly one counts", 40):
        handle = await _parks(bench, session, "both")
        ended = await asyncio.gather(*(bench.approvals(word, handle) for word in ("approve", "deny")))
        expect([one.code for one in ended].count(DONE) == 1, f"ended with {[(one.code, one.err[-100:]) for one in ended]}")
        approved = (await bench.done("show", handle))["state"] == "approved"
        expect(approved == (ended[0].code == DONE), "the one that was told so is not the one that counts")
        reply = await session.call(WIPE, {"what": "both"})
        expect(reply.failed != approved, f"approved is {approved}: {reply.text[:200]}")
        expect(bench.times(WIPE, "both") == approved, f"ran {bench.ran()}")


async def _misuse(bench: Bench, session: Any) -> None:
    async with bench.test("what is not offered, not there or answered already is refused"):
        handle = await _parks(bench, session, "misuse")
        for words in (
            ("approve", handle, "--for", "always"),
            ("approve", handle, "--pattern", "7", "--for", "session"),
            ("approve", "no-such-request"),
            ("deny", "no-such-request"),
            ("show", "no-such-request"),
            ("revoke", "no-such-grant"),
            ("revoke", ""),
            # The start of a handle is enough, but not the start of several.
            ("approve", ""),
        ):
            ended = await bench.approvals(*words)
            expect(ended.code != DONE and ended.err.strip(), f"{words}: ended with {ended.code}, {ended.err[-200:]!r}")
        expect([row["id"] for row in await bench.waiting()].count(handle) == 1, "it is not open any more")
        await bench.done("deny", handle)
        expect((await bench.approvals("approve", handle)).code != DONE, "approved after it was denied")
        expect_refused(await session.call(WIPE, {"what": "misuse"}))
        expect(bench.times(WIPE, "misuse") == 0, f"ran {bench.ran()}")


# --- no trust, all trust ----------------------------------------------------------------------------------------------


async def _untrusted(setting: Setting, name: str) -> None:
    sections = {"permissions": {"allow": ["read_file", "mcp:ledger/look"]}}
    async with setting.bench(name, trust="none", **sections) as bench, bench.client("stdio", "legacy") as session:
        async with bench.test("every call asks but those that a rule allows"):
            expect_ran(await session.call("read_file", {"path": str(bench.file("poem.txt"))}))
            expect_ran(await session.call(LOOK, {"what": "a"}))
            handle_in(await session.call("current_time", {}))
            handle_in(await session.call(PUT, {"what": "none"}))
            expect(bench.times(PUT, "none") == 0, "it ran")
        async with bench.test("--for always lasts beyond the session, until it is revoked", 40):
            handle = handle_in(await session.call(PUT, {"what": "always"}))
            await bench.done("approve", handle, "--for", "always")
            expect_ran(await session.call(PUT, {"what": "always"}))
            async with bench.client("stdio", "modern") as other:
                expect_ran(await other.call(PUT, {"what": "always"}))
                handle_in(await other.call(PUT, {"what": "always, and more"}))
            (granted,) = [grant for grant in await bench.grants() if grant["request"] == handle]
            await bench.done("revoke", granted["id"])
            handle_in(await session.call(PUT, {"what": "always"}))
            expect(bench.times(PUT, "always") == 2, f"ran {bench.ran()}")
        async with bench.test("--pattern: the wider one that was offered, and nothing beyond it"):
            handle = handle_in(await session.call(PUT, {"what": "wide"}))
            offered = (await bench.done("show", handle))["patterns"]
            expect({"kind": "any"} in offered, f"offered {offered}")
            number = str(offered.index({"kind": "any"}) + 1)
            await bench.done("approve", handle, "--for", "always", "--pattern", number)
            expect_ran(await session.call(PUT, {"what": "anything"}))
            handle_in(await session.call(WIPE, {"what": "anything"}))
            expect(bench.times(WIPE, "anything") == 0, "another tool was covered")


async def _scratch(setting: Setting, name: str) -> None:
    """Writing inside the folders that are declared for it asks nobody; a way out of them does."""
    async with setting.bench(name) as bench:
        inside = bench.files / "inside"
        inside.mkdir()
        (inside / "way-out").symlink_to(bench.files)
        bench.configure(permissions={"scratch": [str(inside)]})
        async with bench.client("stdio", "legacy") as session, bench.test("write_file within permissions.scratch runs"):
            expect_ran(await session.call("write_file", bench.writing("inside/note.txt")))
            expect(bench.file("inside/note.txt").exists(), "not written")
            for path in ("outside.txt", "inside/../outside.txt", "inside/way-out/outside.txt", "insider.txt"):
                expect_refused(await session.call("write_file", bench.writing(path)))
            expect(not list(bench.files.glob("*side*.txt")), "written outside")


async def _watch(setting: Setting, name: str) -> None:
    """With `approvals.elicitation` off a client is not asked even if it could be; `watch` tells whoever is to answer."""
    approvals = {"elicitation": False, "per_minute": 3, "most_open": 2}
    async with setting.bench(name, approvals=approvals) as bench:
        person = Person(ONCE)
        async with bench.client("stdio", "legacy", person) as session:
            async with bench.test("watch prints a request as it comes, and one that waits already"):
                first = await _parks(bench, session, "waits already")
                watching = await asyncio.create_subprocess_exec(
                    *(bench.toolcrib.binary, "approvals", "watch", "--json", "--config", str(bench.toolcrib.config)),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    env=bench.toolcrib.scratch.environment(),
                    cwd=bench.toolcrib.scratch.home,
                )
                try:
                    expect(watching.stdout, "no output")
                    seen = [json.loads(await asyncio.wait_for(watching.stdout.readline(), 10))["id"]]
                    second = await _parks(bench, session, "comes later")
                    seen.append(json.loads(await asyncio.wait_for(watching.stdout.readline(), 10))["id"])
                    expect(seen == [first, second], f"saw {seen}, not {[first, second]}")
                finally:
                    watching.kill()
                    await watching.wait()
                expect(not person.asked, "the client was asked")
            async with bench.test("no more questions are open than are allowed"):
                reply = await session.call(WIPE, {"what": "one too many"})
                expect_refused(reply)
                expect(len(await bench.waiting()) == 2, f"open: {await bench.waiting()}")
                expect(bench.times(WIPE, "one too many") == 0, "it ran")
            async with bench.test("no more questions a minute are put than are allowed"):
                reply = await session.call(WIPE, {"what": "waits already"})
                expect_refused(reply)
                expect("minute" in reply.text, f"does not say so: {reply.text[:300]}")


# --- restarts ---------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _served(bench: Bench, key: str | None = None) -> AsyncIterator[tuple[Listening, Session]]:
    async with bench.toolcrib.listening() as listening, open_http(listening.url, "legacy", key=key) as session:
        await bench.up(session)
        yield listening, session


async def _killed(bench: Bench, body: Any) -> Any:
    """Runs the body against a server that is killed right after."""
    done: list[Any] = []
    try:
        async with _served(bench) as (listening, session):
            done.append(await body(session))
            listening.process.send_signal(signal.SIGKILL)
            await listening.process.wait()
    except Exception:
        # The client may report the loss of its server in any way it likes.
        if not done:
            raise
    return done[0]


async def _restart(setting: Setting, name: str) -> None:
    async with setting.bench(name) as bench:
        async with bench.test("parked, killed, approved, started: the call runs once", 40):
            handle = await _killed(bench, lambda session: _parks(bench, session, "before"))
            await bench.done("approve", handle)
            async with _served(bench) as (_, session):
                expect_ran(await session.call(WIPE, {"what": "before"}))
                handle_in(await session.call(WIPE, {"what": "before"}))
                expect(bench.times(WIPE, "before") == 1, f"ran {bench.ran()}")
        async with bench.test("parked, killed, started, approved: the call runs once, also over one more kill", 40):
            handle = await _killed(bench, lambda session: _parks(bench, session, "after"))

            async def approved(session: Session) -> None:
                # Of another session, and so another request; an approval for once is the user's, whatever the session.
                await _parks(bench, session, "after")
                await bench.done("approve", handle)
                expect_ran(await session.call(WIPE, {"what": "after"}))

            await _killed(bench, approved)
            async with _served(bench) as (_, session):
                handle_in(await session.call(WIPE, {"what": "after"}))
                expect(bench.times(WIPE, "after") == 1, f"ran {bench.ran()}")


async def _killed_asking(setting: Setting, name: str) -> None:
    async with setting.bench(name) as bench:
        async with bench.test("killed while a question is open: nothing ran, and it can be approved afterwards", 40):
            person = Person(NEVER)
            with contextlib.suppress(Exception):
                async with bench.client("stdio", "legacy", person) as session:
                    call_ = asyncio.create_task(session.call(WIPE, {"what": "open"}))
                    await until(lambda: person.asked, "the question")
                    kill([bench.toolcrib.pid()])
                    await call_
            expect(person.asked and bench.times(WIPE, "open") == 0, f"asked {person.asked}, ran {bench.ran()}")
            (request,) = await bench.waiting()
            await bench.done("approve", request["id"])
            async with bench.client("stdio", "legacy", Person(DENY)) as session:
                expect_ran(await session.call(WIPE, {"what": "open"}))
                expect_refused(await session.call(WIPE, {"what": "open"}))
            expect(bench.times(WIPE, "open") == 1, f"ran {bench.ran()}")
        async with bench.test("asked to end while a question is open: ends in good time, and nothing ran", 40):
            person = Person(NEVER)
            begin = 0.0
            with contextlib.suppress(Exception):
                async with bench.client("stdio", "legacy", person) as session:
                    call_ = asyncio.create_task(session.call(WIPE, {"what": "ending"}))
                    await until(lambda: person.asked, "the question")
                    pid = bench.toolcrib.pid()
                    begin = time.monotonic()
                    kill([pid], signal.SIGTERM)
                    await call_
            expect(begin and time.monotonic() - begin < 12, f"took {time.monotonic() - begin:.1f} s")
            expect(bench.times(WIPE, "ending") == 0, f"ran {bench.ran()}")


async def _repeats(setting: Setting, name: str) -> None:
    """With calls.duplicates_ms as it is by default: a destructive call that just ran is not run again by a model that
    goes in circles, and is run again for a person who approves it again."""
    async with setting.bench(name, calls={}) as bench, bench.client("stdio", "legacy") as session:
        async with bench.test("approved twice, it runs twice"):
            for times in (1, 2):
                await bench.done("approve", handle_in(await session.call(WIPE, {"what": "approved"})))
                expect_ran(await session.call(WIPE, {"what": "approved"}))
                expect(bench.times(WIPE, "approved") == times, f"ran {bench.ran()}")
    async with setting.bench(name, trust="all", calls={}) as bench, bench.client("stdio", "legacy") as session:
        async with bench.test("approved by nobody, it runs once"):
            for _ in range(3):
                await session.call(WIPE, {"what": "unasked"})
            expect(bench.times(WIPE, "unasked") == 1, f"ran {bench.ran()}")
            expect_ran(await session.call(WIPE, {"what": "another"}))


# --- over HTTP --------------------------------------------------------------------------------------------------------


async def _operators(setting: Setting, name: str) -> None:
    async with setting.bench(name, gateway={"keys": [CALLER], "operator_keys": [OPERATOR]}) as bench:
        async with _served(bench, CALLER) as (listening, session):
            url = listening.url

            async def ask(method: str, path: str, body: Any = None, key: str | None = OPERATOR) -> Any:
                return await http_request(url, method, path, body, key)

            approve = {"answer": "approve", "reach": "once"}
            async with bench.test("only operators see and answer what waits"):
                handle = await _parks(bench, session, "http")
                for method, path, body in (
                    ("GET", "/v1/approvals", None),
                    ("POST", f"/v1/approvals/{handle}", approve),
                    ("GET", "/v1/grants", None),
                    ("GET", "/v1/audit", None),
                    ("GET", "/v1/stats", None),
                ):
                    answer = await ask(method, path, body, CALLER)
                    expect(answer.status == 403, f"{method} {path} as a caller: {answer.status} {answer.text[:200]}")
                    answer = await ask(method, path, body, None)
                    expect(answer.status == 401, f"{method} {path} without a key: {answer.status}")
                expect(handle_in(await session.call(WIPE, {"what": "http"})) == handle, "it is not open any more")
            async with bench.test("an operator approves over HTTP: the call runs once"):
                listed = await ask("GET", "/v1/approvals")
                expect(listed.status == 200 and handle in listed.text, f"{listed.status} {listed.text[:300]}")
                answered = await ask("POST", f"/v1/approvals/{handle}", approve)
                expect(answered.status == 200, f"{answered.status} {answered.text[:300]}")
                again = await ask("POST", f"/v1/approvals/{handle}", approve)
                expect(again.status in (404, 409), f"answered twice: {again.status} {again.text[:300]}")
                expect_ran(await session.call(WIPE, {"what": "http"}))
                handle_in(await session.call(WIPE, {"what": "http"}))
                expect(bench.times(WIPE, "http") == 1, f"ran {bench.ran()}")
            async with bench.test("answers that are none are refused, and the request stays open"):
                handle = await _parks(bench, session, "garbage")
                for body in ({}, {"answer": "yes"}, {"answer": "approve"}, {"answer": "approve", "reach": "always"}, []):
                    answer = await ask("POST", f"/v1/approvals/{handle}", body)
                    expect(400 <= answer.status < 500, f"{body}: {answer.status} {answer.text[:200]}")
                answer = await ask("POST", "/v1/approvals/no-such-request", approve)
                expect(answer.status == 404, f"an unknown request: {answer.status}")
                expect(await _parks(bench, session, "garbage") == handle, "it is not open any more")
            async with bench.test("another caller's approval is not mine"):
                handle = await _parks(bench, session, "mine")
                expect((await ask("POST", f"/v1/approvals/{handle}", approve)).status == 200, "not approved")
                async with open_http(url, "legacy", key=OPERATOR) as other:
                    handle_in(await other.call(WIPE, {"what": "mine"}))
                expect(bench.times(WIPE, "mine") == 0, "it ran for somebody else")
                expect_ran(await session.call(WIPE, {"what": "mine"}))
            async with bench.test("POST /v1/calls is parked and approved like any other call"):
                given = {"name": WIPE, "arguments": {"what": "api"}}
                refused = await ask("POST", "/v1/calls", given, CALLER)
                expect(refused.status == 403, f"{refused.status} {refused.text[:300]}")
                (request,) = [row for row in await bench.waiting() if '"api"' in row["arguments"]]
                expect(request["id"] in refused.text, f"no handle in {refused.text[:400]}")
                expect((await ask("POST", f"/v1/approvals/{request['id']}", approve)).status == 200, "not approved")
                ran = await ask("POST", "/v1/calls", given, CALLER)
                expect(ran.status == 200 and ran.document()["outcome"] == "ok", f"{ran.status} {ran.text[:300]}")
                expect((await ask("POST", "/v1/calls", given, CALLER)).status == 403, "it ran twice")
                expect(bench.times(WIPE, "api") == 1, f"ran {bench.ran()}")


async def _command_line(setting: Setting, name: str) -> None:
    async with setting.bench(name) as bench:
        async with bench.test("`call` with nobody to ask ends with 3 and the handle; approved, it runs once"):
            given = json.dumps({"what": "cli"})
            ended = await bench.command("call", WIPE, given)
            expect(ended.code == DENIED, f"ended with {ended.code}: {ended.err[-300:]}")
            (request,) = await bench.waiting()
            expect(request["id"] in ended.err + ended.out, f"no handle in {ended.err[-400:]}")
            await bench.done("approve", request["id"])
            ended = await bench.command("call", WIPE, given)
            expect(ended.code == DONE, f"ended with {ended.code}: {ended.err[-300:]}")
            expect((await bench.command("call", WIPE, given)).code == DENIED, "it ran twice")
            expect(bench.times(WIPE, "cli") == 1, f"ran {bench.ran()}")


GROUPS: dict[str, Any] = {
    "restart": _restart,
    **{f"terminal/{door}/{era}": _terminal(door, era) for door, era in (("stdio", "legacy"), ("http", "modern"))},
    "operators": _operators,
    "untrusted": _untrusted,
    "scratch": _scratch,
    "command-line": _command_line,
    "watch": _watch,
    "restart-asking": _killed_asking,
    "repeats": _repeats,
}
