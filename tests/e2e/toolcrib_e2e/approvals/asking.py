"""Questions through the client (elicitation): what each answer does, and that waiting for one holds nothing up."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from ..gateway import call
from ..report import expect
from ..session import ERAS
from .bench import LOGIN, LOOK, PUT, WIPE, Bench, Setting, expect_ran, expect_refused, handle_in, until
from .person import ALWAYS, BROKEN, CANCEL, DECLINE, DENY, FORBID, NEVER, ONCE, SESSION, Person, choose, values

# A call that does not wait for the person is answered within this, in seconds.
AT_ONCE = 1.0
# Contents of a form that are no answer to the question.
GARBAGE: list[tuple[str, Any]] = [
    ("a word that was not offered", {"answer": "sure, go ahead"}),
    ("no text", {"answer": True}),
    ("nothing", {}),
    ("another field", {"approve": ONCE}),
    ("a list", {"answer": [ONCE]}),
]


def _asking(door: str, era: str) -> Any:
    async def body(setting: Setting, name: str) -> None:
        # Something that is asked about and destroys nothing: only such calls may be approved for always.
        async with setting.bench(name, permissions={"ask": ["mcp:ledger/put"]}) as bench:
            person = Person()
            async with bench.client(door, era, person) as session:
                await _answers(bench, session, person)
                await _refusals(bench, session, person)
                await _session(bench, session, person, door, era)
                await _always(bench, session, person, door, era)
                await _never(bench, session, person)
            expect(person.trouble is None, f"the person's client failed: {person.trouble}")

    return body


async def _answers(bench: Bench, session: Any, person: Person) -> None:
    async with bench.test("what is not dangerous runs unasked"):
        person.will(DENY)
        for tool, arguments in (
            (LOOK, {"what": "a"}),
            (LOGIN, {"user": "ada", "password": "-"}),
            ("current_time", {}),
            ("read_file", {"path": str(bench.file("poem.txt"))}),
        ):
            expect_ran(await session.call(tool, arguments))
        expect(not person.asked, f"asked {person.asked}")
    async with bench.test("the question says what will happen"):
        person.will(DENY)
        await session.call("write_file", bench.writing("shown.txt", "what is written"))
        question = person.first
        for word in ("write_file", str(bench.file("shown.txt")), "what is written"):
            expect(word in question.message, f"no {word} in {question.message}")
        offered = values(question.requested_schema)
        expect({ONCE, DENY, FORBID} <= set(offered), f"offered {offered}")
        person.will(DENY)
        await session.call(WIPE, {"what": "shown"})
        offered = values(person.first.requested_schema)
        expect(ALWAYS not in offered, f"offered for what destroys something: {offered}")
    for door, made in (("by name", session.call), ("through the bridge", lambda *given: call(session, *given))):
        async with bench.test(f"approved once, the tool runs once ({door})"):
            person.will(ONCE, DENY)
            name = f"once-{door.replace(' ', '-')}.txt"
            expect_ran(await made("write_file", bench.writing(name, "first\n")))
            expect(bench.file(name).read_text() == "first\n", "the file was not written")
            bench.file(name).unlink()
            expect_refused(await made("write_file", bench.writing(name, "first\n")))
            expect(len(person.asked) == 2, f"asked {len(person.asked)} times for two calls")
            expect(not bench.file(name).exists(), "a use that was denied ran")
    async with bench.test("a server's destructive tool runs once when approved"):
        person.will(ONCE)
        expect_ran(await session.call(WIPE, {"what": "once"}))
        expect(len(person.asked) == 1, f"asked {len(person.asked)} times")
        expect(bench.times(WIPE, "once") == 1, f"ran {bench.ran()}")


async def _refusals(bench: Bench, session: Any, person: Person) -> None:
    for answer in (DENY, DECLINE, CANCEL):
        async with bench.test(f"{answer}: nothing runs"):
            person.will(answer)
            expect_refused(await session.call("write_file", bench.writing(f"{answer}.txt")))
            expect_refused(await session.call(WIPE, {"what": answer}))
            expect_refused(await call(session, "run_command", bench.touching(f"{answer}.txt")))
            expect(len(person.asked) == 3, f"asked {len(person.asked)} times")
            expect(not bench.file(f"{answer}.txt").exists(), "the file is there")
            expect(bench.times(WIPE, answer) == 0, "the server was called")
    for what, content in GARBAGE:
        async with bench.test(f"a form with {what}: nothing runs"):
            person.will(content)
            expect_refused(await session.call(WIPE, {"what": what}))
            expect(person.asked, "nobody was asked")
            expect(bench.times(WIPE, what) == 0, "the server was called")
    async with bench.test("an approval with another field beside it: nothing runs"):

        async def more() -> Any:
            return {**choose(person.first.requested_schema, ONCE), "reach": "always"}

        person.will(more)
        expect_refused(await session.call(WIPE, {"what": "more"}))
        expect(bench.times(WIPE, "more") == 0, "the server was called")
    async with bench.test("a client that fails to ask: nothing runs"):
        person.will(BROKEN)
        if session.era == "legacy":
            expect_refused(await session.call(WIPE, {"what": "broken"}))
        else:
            # The client gives up before it sends the call again.
            reply = await session.call(WIPE, {"what": "broken"})
            expect(reply.error is not None, f"it went on: {reply.text[:200]}")
        expect(bench.times(WIPE, "broken") == 0, "the server was called")


async def _session(bench: Bench, session: Any, person: Person, door: str, era: str) -> None:
    async with bench.test("approved for the session, the same call is not asked about again"):
        person.will(DENY)
        await session.call(WIPE, {"what": "for the session"})
        if SESSION not in values(person.first.requested_schema):
            # Requests of the modern era stand alone: over HTTP there is no session to hold on to.
            expect((door, era) == ("http", "modern"), "the session is not offered")
            return
        person.will(SESSION)
        for _ in range(3):
            expect_ran(await session.call(WIPE, {"what": "for the session"}))
        expect(len(person.asked) == 1, f"asked {len(person.asked)} times for three calls")
        expect(bench.times(WIPE, "for the session") == 3, f"ran {bench.ran()}")
    async with bench.test("approved for the session, other arguments are asked about"):
        person.will(DENY)
        expect_refused(await session.call(WIPE, {"what": "for the session, and more"}))
        expect(len(person.asked) == 1, f"asked {len(person.asked)} times")
        expect(bench.times(WIPE, "for the session, and more") == 0, "the server was called")
    async with bench.test("approved for the session and a folder: whatever is written there"):
        person.will(f"{SESSION}_1")
        expect_ran(await session.call("write_file", bench.writing("inner/one.txt")))
        pattern = next(grant["pattern"] for grant in await bench.grants() if grant["tool"] == "builtin/write_file")
        expect(pattern == {"kind": "within", "root": str(bench.file("inner"))}, f"granted {pattern}")
        expect_ran(await session.call("write_file", bench.writing("inner/two.txt")))
        expect(len(person.asked) == 1, f"asked {len(person.asked)} times for two calls")
        for path in ("three.txt", "inner/../four.txt", "inner-too.txt"):
            person.will(DENY)
            expect_refused(await session.call("write_file", bench.writing(path)))
            expect(len(person.asked) == 1 and not bench.file(path).exists(), f"{path} was covered")
    if door == "http":
        return
    async with bench.test("approved for the session, another session is asked"):
        other = Person(DENY)
        async with bench.client(door, era, other) as second:
            expect_refused(await second.call(WIPE, {"what": "for the session"}))
        expect(len(other.asked) == 1, f"asked {len(other.asked)} times")


async def _always(bench: Bench, session: Any, person: Person, door: str, era: str) -> None:
    async with bench.test("approved for always, no call like it is asked about until that is revoked", 40):
        person.will(ALWAYS)
        for _ in range(2):
            expect_ran(await session.call(PUT, {"what": "always"}))
        expect(len(person.asked) == 1, f"asked {len(person.asked)} times for two calls")
        if door == "stdio":
            other = Person(DENY)
            async with bench.client(door, era, other) as second:
                expect_ran(await second.call(PUT, {"what": "always"}))
            expect(not other.asked, "asked again in another session")
        granted = [grant for grant in await bench.grants() if grant["tool"] == "mcp:ledger/put"]
        expect(len(granted) == 1 and granted[0]["reach"] == "always", f"granted {granted}")
        await bench.done("revoke", granted[0]["id"])
        before = bench.times(PUT, "always")
        person.will(DENY)
        expect_refused(await session.call(PUT, {"what": "always"}))
        expect(len(person.asked) == 1, f"asked {len(person.asked)} times after the grant was revoked")
        expect(bench.times(PUT, "always") == before, "it ran after the grant was revoked")


async def _never(bench: Bench, session: Any, person: Person) -> None:
    async with bench.test("never: refused from then on, whatever the arguments, and nobody is asked"):
        person.will(FORBID)
        for what in ("never", "never", "never with this"):
            expect_refused(await session.call(WIPE, {"what": what}))
            expect(bench.times(WIPE, what) == 0, "it ran")
        expect(len(person.asked) == 1, f"asked {len(person.asked)} times for three calls")


def _unanswered(door: str) -> Any:
    """A person who never answers. (In the modern era a call ends with its question, so that nobody waits.)"""

    async def body(setting: Setting, name: str) -> None:
        async with setting.bench(name, approvals={"wait_ms": 700}) as bench:
            person = Person(NEVER)
            async with bench.client(door, "legacy", person) as session, bench.test("denied in time, and parked"):
                begin = time.monotonic()
                reply = await session.call(WIPE, {"what": "late"})
                took = time.monotonic() - begin
                expect(0.6 < took < 5, f"refused after {took:.2f} s")
                handle = handle_in(reply)
                expect(bench.times(WIPE, "late") == 0, "the server was called")
                expect([row["id"] for row in await bench.waiting()] == [handle], "it is not parked")
                await bench.done("approve", handle)
                person.will(DENY)
                expect_ran(await session.call(WIPE, {"what": "late"}))
                expect_refused(await session.call(WIPE, {"what": "late"}))
                expect(bench.times(WIPE, "late") == 1, f"ran {bench.ran()}")

    return body


def _waiting(door: str) -> Any:
    async def body(setting: Setting, name: str) -> None:
        async with setting.bench(name) as bench:
            answer = asyncio.Event()

            async def later() -> str:
                await answer.wait()
                return ONCE

            person = Person(later)
            async with bench.client(door, "legacy", person) as session:
                async with bench.test("while one call waits for its answer, others are answered at once"):
                    first = asyncio.create_task(session.call(WIPE, {"what": "waits"}))
                    await until(lambda: person.asked, "the question")
                    for tool, arguments in ((PUT, {"what": "beside"}), (LOOK, {"what": "beside"}), ("current_time", {})):
                        begin = time.monotonic()
                        expect_ran(await session.call(tool, arguments))
                        took = time.monotonic() - begin
                        expect(took < AT_ONCE, f"{tool} took {took:.2f} s beside a call that waits")
                    expect(not first.done(), "the first call did not wait")
                    expect(bench.times(WIPE, "waits") == 0, "it ran without an answer")
                    answer.set()
                    expect_ran(await first)
                    expect(bench.times(WIPE, "waits") == 1, f"ran {bench.ran()}")
                async with bench.test("one call's answer is not another's"):
                    release = asyncio.Event()

                    async def held() -> str:
                        await release.wait()
                        return DENY

                    person.will(held, ONCE)
                    denied = asyncio.create_task(session.call(WIPE, {"what": "denied"}))
                    await until(lambda: person.asked, "the first question")
                    expect_ran(await session.call(WIPE, {"what": "approved"}))
                    release.set()
                    expect_refused(await denied)
                    expect(bench.times(WIPE, "denied") == 0 and bench.times(WIPE, "approved") == 1, f"ran {bench.ran()}")
                async with bench.test("the terminal answers a question that a client has open"):
                    person.will(NEVER)
                    open_one = asyncio.create_task(session.call(WIPE, {"what": "answered elsewhere"}))
                    await until(lambda: person.asked, "the question")
                    (request,) = await bench.waiting()
                    await bench.done("approve", request["id"])
                    expect_ran(await open_one)
                    expect(bench.times(WIPE, "answered elsewhere") == 1, f"ran {bench.ran()}")

                await _contested(bench, session, person)

    return body


async def _contested(bench: Bench, session: Any, person: Person) -> None:
    """What happens around an open question."""
    async with bench.test("two equal calls at once and one approval: one of them runs"):
        both = asyncio.Event()

        async def together() -> str:
            if len(person.asked) == 2:
                both.set()
            await both.wait()
            return ONCE

        # The answer to the second question comes too late for the same request, so that it is put once more.
        person.will(together, together, DENY)
        replies = await asyncio.gather(*(session.call(WIPE, {"what": "twins"}) for _ in range(2)))
        expect(sorted(reply.failed for reply in replies) == [False, True], f"{[reply.text[:200] for reply in replies]}")
        expect(bench.times(WIPE, "twins") == 1, f"ran {bench.ran()}")
    async with bench.test("cancelled by the client while the question is open: an approval runs nothing by itself"):
        person.will(NEVER, DENY)
        waits = asyncio.create_task(session.call(WIPE, {"what": "cancelled"}))
        await until(lambda: person.asked, "the question")
        waits.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waits
        (request,) = [row for row in await bench.waiting() if '"cancelled"' in row["arguments"]]
        await bench.done("approve", request["id"])
        expect_ran(await session.call(PUT, {"what": "time goes by"}))
        expect(bench.times(WIPE, "cancelled") == 0, "it ran although nobody waits for it")
        # The approval is there for the next call that is the same.
        expect_ran(await session.call(WIPE, {"what": "cancelled"}))
        expect(bench.times(WIPE, "cancelled") == 1, f"ran {bench.ran()}")
    async with bench.test("denied by a new rule while the question is open: an approval does not help"):

        async def meanwhile() -> str:
            bench.configure(permissions={"deny": ["mcp:ledger/wipe"]})
            end = time.monotonic() + 10
            while "permissions.deny" not in (await session.call(WIPE, {"what": f"{len(person.asked)}"})).text:
                expect(time.monotonic() < end, "the new rule is not in force after 10 s")
                await asyncio.sleep(0.05)
            return ONCE

        person.will(meanwhile)
        expect_refused(await session.call(WIPE, {"what": "denied meanwhile"}))
        expect(bench.times(WIPE, "denied meanwhile") == 0, "it ran against a rule that denies")


GROUPS: dict[str, Any] = {
    **{f"asking/{door}/{era}": _asking(door, era) for door in ("stdio", "http") for era in ERAS},
    **{f"unanswered/{door}": _unanswered(door) for door in ("stdio", "http")},
    **{f"waiting/{door}": _waiting(door) for door in ("stdio", "http")},
}
