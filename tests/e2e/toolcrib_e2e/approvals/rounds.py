"""Questions of the modern era (2026-07-28), request by request: a call ends with its question, and is sent again with
the answer and the state that came with the question. What an impatient or dishonest client makes of that runs nothing
twice, nothing else, and nothing for somebody else."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from ..gateway import Listening
from ..report import expect
from ..session import MODERN, open_http
from .bench import PUT, WIPE, Answer, Bench, Setting, http_request
from .person import DENY, ONCE, choose

ANN, BOB = "key-of-ann-77aa55cc", "key-of-bob-11bb33dd"
META = "io.modelcontextprotocol"


class Rounds:
    """A client of the modern era with a key, that says it can show forms."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = key

    async def post(self, name: str, arguments: dict[str, Any], **more: Any) -> Answer:
        meta = {f"{META}/protocolVersion": MODERN, f"{META}/clientCapabilities": {"elicitation": {"form": {}}}}
        params = {"_meta": meta, "name": name, "arguments": arguments, **more}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Accept": "application/json",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
        }
        return await http_request(self.url, "POST", "/mcp", body, self.key, headers)

    async def ask(self, what: str, tool: str = WIPE) -> Asked:
        """A first call, which must end with a question."""
        answer = await self.post(tool, {"what": what})
        result = answer.document().get("result") or {}
        expect(result.get("resultType") == "input_required", f"no question: {answer.status} {answer.text[:300]}")
        (key,) = result["inputRequests"]
        request = result["inputRequests"][key]
        expect(request["method"] == "elicitation/create", f"asks by {request['method']}")
        return Asked(what, key, request["params"], result["requestState"])


class Asked:
    def __init__(self, what: str, key: str, params: dict[str, Any], state: str) -> None:
        self.what = what
        self.key = key
        self.params = params
        self.state = state

    def replying(self, wanted: str = ONCE, key: str | None = None, state: str | None = None) -> dict[str, Any]:
        """What is sent along when the call is sent again."""
        reply = {"action": "accept", "content": choose(self.params["requestedSchema"], wanted)}
        return self.sending(reply, key, state)

    def sending(self, reply: Any, key: str | None = None, state: str | None = None) -> dict[str, Any]:
        return {"inputResponses": {key or self.key: reply}, "requestState": state or self.state}


def ran(answer: Answer) -> bool:
    result = answer.document().get("result") or {}
    return result.get("resultType") == "complete" and not result.get("isError")


def expect_not_run(bench: Bench, answer: Answer, what: str) -> None:
    expect(not ran(answer), f"it succeeded: {answer.text[:300]}")
    expect(bench.times(WIPE, what) == 0, f"ran {bench.ran()}")


async def _rounds(setting: Setting, name: str) -> None:
    async with setting.bench(name, gateway={"keys": [ANN, BOB]}) as bench, bench.toolcrib.listening() as listening:
        async with open_http(listening.url, "modern", key=ANN) as session:
            await bench.up(session)
        ann, bob = Rounds(listening.url, ANN), Rounds(listening.url, BOB)
        await _honest(bench, ann)
        await _refusals(bench, ann)
        await _changed(bench, ann, bob)
        await _terminal(bench, ann)


async def _honest(bench: Bench, ann: Rounds) -> None:
    async with bench.test("asked, sent again with the answer: it runs once, however often that is replayed"):
        asked = await ann.ask("once")
        expect(bench.times(WIPE, "once") == 0, "it ran without an answer")
        answer = await ann.post(WIPE, {"what": "once"}, **asked.replying())
        expect(ran(answer), f"it was not run: {answer.text[:300]}")
        for _ in range(3):
            answer = await ann.post(WIPE, {"what": "once"}, **asked.replying())
            expect(not ran(answer), f"replayed: {answer.text[:300]}")
        expect(bench.times(WIPE, "once") == 1, f"ran {bench.ran()}")
    async with bench.test("sent again several times at once: it runs once"):
        asked = await ann.ask("at once")
        answers = await asyncio.gather(
            *(ann.post(WIPE, {"what": "at once"}, **asked.replying()) for _ in range(8))
        )
        expect([ran(answer) for answer in answers].count(True) == 1, f"ran {[answer.text[:80] for answer in answers]}")
        expect(bench.times(WIPE, "at once") == 1, f"ran {bench.ran()}")
    async with bench.test("through the bridge, too"):
        arguments = {"name": WIPE, "arguments": {"what": "bridge"}}
        first = (await ann.post("tool_call", arguments)).document()["result"]
        expect(first["resultType"] == "input_required", f"no question: {first}")
        (key,) = first["inputRequests"]
        asked = Asked("bridge", key, first["inputRequests"][key]["params"], first["requestState"])
        for times in (1, 1):
            await ann.post("tool_call", arguments, **asked.replying())
            expect(bench.times(WIPE, "bridge") == times, f"ran {bench.ran()}")


async def _refusals(bench: Bench, ann: Rounds) -> None:
    replies: list[tuple[str, Any]] = [
        ("declined", {"action": "decline"}),
        ("cancelled", {"action": "cancel"}),
        ("cancelled with a form", {"action": "cancel", "content": {"answer": ONCE}}),
        ("accepted without a form", {"action": "accept"}),
        ("a word that was not offered", {"action": "accept", "content": {"answer": "yes"}}),
        ("no text", {"action": "accept", "content": {"answer": True}}),
        ("no object", "accept"),
        ("nothing", {}),
    ]
    async with bench.test("answers that refuse, and those that are none: nothing runs"):
        for what, reply in replies:
            asked = await ann.ask(what)
            answer = await ann.post(WIPE, {"what": what}, **asked.sending(reply))
            expect_not_run(bench, answer, what)
        asked = await ann.ask("denied")
        expect_not_run(bench, await ann.post(WIPE, {"what": "denied"}, **asked.replying(DENY)), "denied")
        # A person has said no: an approval that comes after it does not count.
        expect_not_run(bench, await ann.post(WIPE, {"what": "denied"}, **asked.replying()), "denied")


async def _changed(bench: Bench, ann: Rounds, bob: Rounds) -> None:
    async with bench.test("sent again with another argument, or as another tool: nothing runs"):
        asked = await ann.ask("shown")
        for what in ("changed", "shown ", ""):
            expect_not_run(bench, await ann.post(WIPE, {"what": what}, **asked.replying()), what)
        answer = await ann.post("write_file", bench.writing("other.txt"), **asked.replying())
        expect(not ran(answer) and not bench.file("other.txt").exists(), f"wrote a file: {answer.text[:200]}")
        expect(bench.times(WIPE, "shown") == 0, f"ran {bench.ran()}")
    async with bench.test("with a state that is not the one given: nothing runs"):
        asked, other = await ann.ask("sealed"), await ann.ask("sealed, too")
        middle = len(asked.state) // 2
        flipped = "A" if asked.state[middle] != "A" else "B"
        for state in (
            asked.state[:middle] + flipped + asked.state[middle + 1 :],
            asked.state[:-1],
            asked.state + "A",
            other.state,
            "{}",
            "x",
        ):
            answer = await ann.post(WIPE, {"what": "sealed"}, **asked.replying(state=state))
            expect_not_run(bench, answer, "sealed")
        answer = await ann.post(WIPE, {"what": "sealed"}, inputResponses=asked.replying()["inputResponses"])
        expect_not_run(bench, answer, "sealed")
        answer = await ann.post(WIPE, {"what": "sealed"}, **asked.replying(key="another key"))
        expect_not_run(bench, answer, "sealed")
    async with bench.test("somebody else's state does not count, and leaves the question as it was"):
        asked = await ann.ask("of ann")
        answer = await bob.post(WIPE, {"what": "of ann"}, **asked.replying())
        expect_not_run(bench, answer, "of ann")
        answer = await bob.post(WIPE, {"what": "of ann"}, **asked.replying(DENY))
        expect_not_run(bench, answer, "of ann")
        answer = await ann.post(WIPE, {"what": "of ann"}, **asked.replying())
        expect(ran(answer), f"ann's own answer does not count: {answer.text[:300]}")
        # What ann approved is not approved for bob.
        expect(not ran(await bob.post(WIPE, {"what": "of ann"})), "it ran for bob")
        expect(bench.times(WIPE, "of ann") == 1, f"ran {bench.ran()}")


async def _terminal(bench: Bench, ann: Rounds) -> None:
    async with bench.test("a question that nobody answered is parked; the terminal approves it"):
        asked = await ann.ask("terminal")
        (request,) = [row for row in await bench.waiting() if '"terminal"' in row["arguments"]]
        await bench.done("approve", request["id"])
        answer = await ann.post(WIPE, {"what": "terminal"})
        expect(ran(answer), f"it was not run: {answer.text[:300]}")
        answer = await ann.post(WIPE, {"what": "terminal"}, **asked.replying())
        expect(not ran(answer), f"the client's answer came second: {answer.text[:300]}")
        expect(bench.times(WIPE, "terminal") == 1, f"ran {bench.ran()}")


async def _restart(setting: Setting, name: str) -> None:
    async with setting.bench(name, gateway={"keys": [ANN, BOB]}) as bench:

        async def served(listening: Listening) -> Rounds:
            async with open_http(listening.url, "modern", key=ANN) as session:
                await bench.up(session)
            return Rounds(listening.url, ANN)

        async with bench.test("asked, killed, started, sent again: it runs at most once, and can be approved", 40):
            async with bench.toolcrib.listening() as listening:
                asked = await (await served(listening)).ask("killed")
                listening.process.send_signal(signal.SIGKILL)
                await listening.process.wait()
            async with bench.toolcrib.listening() as listening:
                ann = await served(listening)
                answer = await ann.post(WIPE, {"what": "killed"}, **asked.replying())
                if not ran(answer):
                    # A state of the process that died need not be known: then the question is put again.
                    asked = await ann.ask("killed")
                    answer = await ann.post(WIPE, {"what": "killed"}, **asked.replying())
                expect(ran(answer), f"it was not run: {answer.text[:300]}")
                expect(not ran(await ann.post(WIPE, {"what": "killed"}, **asked.replying())), "it ran again")
                expect(ran(await ann.post(PUT, {"what": "unasked"})), "what is not dangerous does not run")
                expect(bench.times(WIPE, "killed") == 1, f"ran {bench.ran()}")


GROUPS: dict[str, Any] = {"rounds": _rounds, "rounds-restart": _restart}
