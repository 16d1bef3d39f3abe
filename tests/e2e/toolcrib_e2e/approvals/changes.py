"""A server that changes its tool between the question and the call: what was approved is not what would run."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from ..gateway import describe
from ..report import expect
from .bench import WIPE, Bench, Setting, expect_ran, expect_refused, handle_in
from .person import ONCE, SESSION, Person


async def _reword(bench: Bench, session: Any, text: str) -> None:
    """Changes the definition, and waits until toolcrib knows."""
    bench.wording.write_text(text)
    end = time.monotonic() + 10
    while text not in (await describe(session, [WIPE]))[WIPE]["description"]:
        expect(time.monotonic() < end, "the new definition is not there after 10 s")
        await asyncio.sleep(0.02)


async def _changes(setting: Setting, name: str) -> None:
    async with setting.bench(name) as bench:
        async with bench.client("stdio", "legacy") as session:
            async with bench.test("changed between parking and approving: the approval does not cover the new one"):
                handle = handle_in(await session.call(WIPE, {"what": "a"}))
                await _reword(bench, session, "Harmless, really.")
                await bench.approvals("approve", handle)
                other = handle_in(await session.call(WIPE, {"what": "a"}))
                expect(other != handle, "the new definition is under the old request")
                expect(bench.times(WIPE, "a") == 0, f"ran {bench.ran()}")
                await bench.done("approve", other)
                expect_ran(await session.call(WIPE, {"what": "a"}))
                expect(bench.times(WIPE, "a") == 1, f"ran {bench.ran()}")
            async with bench.test("changed between approving and calling: not covered"):
                await bench.done("approve", handle_in(await session.call(WIPE, {"what": "b"})))
                await _reword(bench, session, "Quite harmless.")
                handle_in(await session.call(WIPE, {"what": "b"}))
                expect(bench.times(WIPE, "b") == 0, f"ran {bench.ran()}")
            async with bench.test("changed back: the approval that was given covers what it was given for"):
                await _reword(bench, session, "Harmless, really.")
                expect_ran(await session.call(WIPE, {"what": "b"}))
                handle_in(await session.call(WIPE, {"what": "b"}))
                expect(bench.times(WIPE, "b") == 1, f"ran {bench.ran()}")
        person = Person()
        async with bench.client("stdio", "legacy", person) as session:
            async with bench.test("changed after an approval for the session: asked again"):
                person.will(SESSION, ONCE)
                for _ in range(2):
                    expect_ran(await session.call(WIPE, {"what": "c"}))
                expect(len(person.asked) == 1, f"asked {len(person.asked)} times")
                await _reword(bench, session, "For the session.")
                expect_ran(await session.call(WIPE, {"what": "c"}))
                expect(len(person.asked) == 2, f"asked {len(person.asked)} times")
            async with bench.test("changed while the question is open: the answer does not cover the new one"):

                async def meanwhile() -> str:
                    await _reword(bench, session, "Changed under the person's eyes.")
                    return ONCE

                person.will(meanwhile)
                expect_refused(await session.call(WIPE, {"what": "d"}))
                expect(person.asked, "nobody was asked")
                expect(bench.times(WIPE, "d") == 0, f"ran {bench.ran()}")


GROUPS: dict[str, Any] = {"changes": _changes}
