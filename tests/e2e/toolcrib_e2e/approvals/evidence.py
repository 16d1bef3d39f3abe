"""What is kept of calls: the journal and its checks, statistics, metrics; and that no secret is in any of it."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from ..gateway import call
from ..report import expect
from ..session import Session, open_http
from .bench import (
    DENIED,
    DONE,
    FAIL,
    FAILED,
    LOGIN,
    PASSWORD,
    PUT,
    TOKEN,
    WIPE,
    Bench,
    Setting,
    expect_ran,
    expect_refused,
    handle_in,
    http_request,
)
from .person import DENY, ONCE, Person

OPERATOR = "operator-key-1b2c3d4e5f"
# Doors as the journal names them.
DIRECT, BRIDGE, HTTP, CLI = "direct", "bridge", "http", "cli"


async def _evidence(setting: Setting, name: str) -> None:
    permissions = {"ask": ["mcp:ledger/login"], "deny": ["run_command(rm:*)"]}
    async with setting.bench(name, gateway={"operator_keys": [OPERATOR]}, permissions=permissions) as bench:
        # A log that says all it can.
        bench.toolcrib.options = ["-vvvv"]
        person = Person()
        said: list[str] = []
        async with (
            bench.toolcrib.listening() as listening,
            open_http(listening.url, "legacy", person) as session,
            open_http(listening.url, "legacy") as alone,
        ):
            await bench.up(session)
            expected: Counter[tuple[str, str, str]] = Counter()
            async with bench.test("calls of every kind through every door", 40):
                await _calls(bench, session, alone, person, listening.url, expected, said)
            async with bench.test("statistics count them"):
                ended = await bench.command("stats", "--json")
                expect(ended.code == DONE, f"ended with {ended.code}: {ended.err[-300:]}")
                said.append(ended.out)
                _counted(ended.document(), expected)
            async with bench.test("/metrics is what Prometheus reads, and counts them"):
                answer = await http_request(listening.url, "GET", "/metrics")
                expect(answer.status == 200, f"{answer.status} {answer.text[:200]}")
                said.append(answer.text)
                _metrics(answer.text, expected)
            async with bench.test("operators read the journal and the statistics over HTTP"):
                for path in ("/v1/audit?limit=1000", "/v1/stats", "/v1/approvals", "/v1/grants", "/v1/breakers"):
                    answer = await http_request(listening.url, "GET", path, key=OPERATOR)
                    expect(answer.status == 200, f"{path}: {answer.status} {answer.text[:200]}")
                    answer.document()
                    said.append(answer.text)
        await _journal(bench, expected, said)
        await _tampering(bench)
        async with bench.test("no secret is in any output, in the log, or in the store"):
            for words in (("list", "--all"), ("grants",)):
                said.append((await bench.approvals(*words)).out)
            for row in await bench.waiting("--all"):
                said.append((await bench.approvals("show", row["id"])).out)
                said.append((await bench.command("approvals", "show", row["id"])).out)
            said += [question.message for question in person.asked]
            places = {f"output {number}": text.encode() for number, text in enumerate(said)}
            places["log"] = bench.toolcrib.scratch.log.read_bytes()
            for path in bench.database.parent.rglob("*"):
                if path.is_file():
                    places[path.name] = path.read_bytes()
            expect("state.db" in places, f"no database among {sorted(places)}")
            expect(any(PASSWORD in str(line) for line in bench.ran()), "the tool never got the password")
            for place, content in places.items():
                for secret in (PASSWORD, TOKEN, OPERATOR):
                    at = content.find(secret.encode())
                    expect(at < 0, f"{secret} in {place}: {content[max(0, at - 100) : at + 60]!r}")


async def _calls(
    bench: Bench,
    session: Session,
    alone: Session,
    person: Person,
    url: str,
    expected: Counter[tuple[str, str, str]],
    said: list[str],
) -> None:
    """Makes calls, and notes how the journal must have them."""

    def note(tool: str, door: str, outcome: str) -> None:
        expected[tool, door, outcome] += 1

    async def api(tool: str, arguments: dict[str, Any]) -> Any:
        return await http_request(url, "POST", "/v1/calls", {"name": tool, "arguments": arguments})

    for _ in range(3):
        expect_ran(await session.call(PUT, {"what": "kept"}))
        note("mcp:ledger/put", DIRECT, "ok")
    expect_ran(await call(session, PUT, {"what": "kept"}))
    note("mcp:ledger/put", BRIDGE, "ok")
    answer = await api(PUT, {"what": "kept"})
    expect(answer.status == 200, f"{answer.status} {answer.text[:200]}")
    note("mcp:ledger/put", HTTP, "ok")
    ended = await bench.command("call", PUT, json.dumps({"what": "kept"}))
    expect(ended.code == DONE, f"ended with {ended.code}: {ended.err[-300:]}")
    note("mcp:ledger/put", CLI, "ok")

    expect_ran(await session.call("read_file", {"path": str(bench.file("poem.txt"))}))
    note("builtin/read_file", DIRECT, "ok")

    # A failure that tells a secret of the server and one of the caller: the caller may read it, the journal may not.
    expect_refused(await session.call(FAIL, {"user": "ada", "password": PASSWORD}))
    note("mcp:ledger/fail", DIRECT, "tool_error")
    ended = await bench.command("call", FAIL, json.dumps({"user": "ada", "password": PASSWORD}))
    expect(ended.code == FAILED, f"ended with {ended.code}: {ended.err[-300:]}")
    note("mcp:ledger/fail", CLI, "tool_error")

    person.will(ONCE, DENY)
    given = {"user": "ada", "password": PASSWORD}
    expect_ran(await session.call(LOGIN, given))
    note("mcp:ledger/login", DIRECT, "ok")
    expect_refused(await call(session, LOGIN, given))
    note("mcp:ledger/login", BRIDGE, "denied")
    expect(len(person.asked) == 2, f"asked {len(person.asked)} times")
    parked = await alone.call(LOGIN, given)
    said.append(parked.text)
    note("mcp:ledger/login", DIRECT, "denied")
    await bench.done("approve", handle_in(parked))
    expect_ran(await alone.call(LOGIN, given))
    note("mcp:ledger/login", DIRECT, "ok")

    # An approval by an operator, taken back before it is used.
    handle = handle_in(await alone.call(LOGIN, {"user": "bob", "password": PASSWORD}))
    note("mcp:ledger/login", DIRECT, "denied")
    approve = {"answer": "approve", "reach": "session"}
    answer = await http_request(url, "POST", f"/v1/approvals/{handle}", approve, key=OPERATOR)
    expect(answer.status == 200, f"{answer.status} {answer.text[:200]}")
    said.append(answer.text)
    (granted,) = [grant for grant in await bench.grants() if grant["request"] == handle]
    await bench.done("revoke", granted["id"])

    for made, door in ((alone.call(WIPE, {"what": "x"}), DIRECT), (call(alone, WIPE, {"what": "x"}), BRIDGE)):
        handle_in(await made)
        note("mcp:ledger/wipe", door, "denied")
    expect((await api(WIPE, {"what": "x"})).status == 403, "it ran")
    note("mcp:ledger/wipe", HTTP, "denied")
    expect((await bench.command("call", WIPE, json.dumps({"what": "x"}))).code == DENIED, "it ran")
    note("mcp:ledger/wipe", CLI, "denied")
    expect_refused(await session.call("run_command", {"command": "rm", "args": [str(bench.file("poem.txt"))]}))
    note("builtin/run_command", DIRECT, "denied")

    # An empty object is no text, and neither is a list; a number would be put right.
    for given in ({"what": []}, {"what": {}, "more": {}}):
        expect_refused(await session.call(PUT, given))
        note("mcp:ledger/put", DIRECT, "invalid")
    expect_refused(await call(session, "ledger__no_such_tool", {}))
    note("ledger__no_such_tool", BRIDGE, "invalid")


async def _journal(bench: Bench, expected: Counter[tuple[str, str, str]], said: list[str]) -> None:
    records: list[dict[str, Any]] = []
    async with bench.test("audit has every call with its outcome, once"):
        ended = await bench.command("audit", "--json", "--limit", "1000")
        expect(ended.code == DONE, f"ended with {ended.code}: {ended.err[-300:]}")
        said += [ended.out, (await bench.command("audit")).out]
        records = lines(ended.out)
        ends = [record for record in records if record["kind"] == "outcome"]
        found = Counter((record.get("tool") or record["name"], record["door"], record["outcome"]) for record in ends)
        # The bridge's own tools are used while waiting for the servers.
        asked = Counter({key: count for key, count in found.items() if not key[0].startswith(("bridge", "tool_"))})
        missing, extra = expected - asked, asked - expected
        expect(not missing and not extra, f"missing {dict(missing)}, too many {dict(extra)}")
    async with bench.test("what may change something was announced before it ran"):
        announced = {(record["run"], record["call"]): record["seq"] for record in records if record["kind"] == "intent"}
        for record in records:
            if record["kind"] == "outcome" and record["mutating"] and record["outcome"] in ("ok", "tool_error"):
                key = (record["run"], record["call"])
                expect(announced.get(key, record["seq"]) < record["seq"], f"no intent before {record}")
    async with bench.test("questions and answers are recorded, and by whose leave a call ran"):
        kinds = Counter(record["kind"] for record in records)
        for kind in ("asked", "answered"):
            expect(kinds[kind] > 0, f"no {kind} among {dict(kinds)}")
        for record in records:
            if record["kind"] == "outcome" and record.get("tool") == "mcp:ledger/login" and record["outcome"] == "ok":
                expect(record.get("authority"), f"nobody's leave: {record}")
    async with bench.test("answers from the terminal and from operators are recorded"):
        answered = [record for record in records if record["kind"] == "answered"]
        for by in ("client", "terminal", "http:"):
            expect([record for record in answered if by in json.dumps(record)], f"nothing by {by} in {answered}")
    async with bench.test("what was granted and is taken back is recorded"):
        expect([record for record in records if record["kind"] == "grant"], "no record of a grant that was revoked")
    async with bench.test("audit filters, exports and verifies"):
        for words, wanted in (
            (["--outcome", "denied"], lambda record: record.get("outcome") == "denied"),
            (["--tool", "mcp:ledger/put"], lambda record: record.get("tool") == "mcp:ledger/put"),
            (["--tool", "mcp:ledger/"], lambda record: (record.get("tool") or "").startswith("mcp:ledger/")),
        ):
            ended = await bench.command("audit", "--json", "--limit", "1000", *words)
            found = [record["seq"] for record in lines(ended.out)]
            expect(found == [record["seq"] for record in records if wanted(record)], f"{words}: {found}")
        some = lines((await bench.command("audit", "--json", "--limit", "3")).out)
        expect([record["seq"] for record in some] == [record["seq"] for record in records[-3:]], f"the last three: {some}")
        target = bench.toolcrib.scratch.root / "export.jsonl"
        ended = await bench.command("audit", "--export", str(target))
        expect(ended.code == DONE, f"ended with {ended.code}: {ended.err[-300:]}")
        exported = target.read_text()
        said.append(exported)
        expect(lines(exported) == records, "the export is not what audit prints")
        expect((await bench.command("audit", "--export", str(target))).code != DONE, "an export was written over")
        ended = await bench.command("audit", "--verify", "--json")
        expect(ended.code == DONE, f"ended with {ended.code}: {ended.err[-300:]}")
        said.append(ended.out)
        expect(ended.document()["records"] == len(records), f"verified {ended.out[:200]}, not {len(records)}")


async def _tampering(bench: Bench) -> None:
    ways = [
        ("a changed record", "UPDATE journal SET record = replace(record, 'denied', 'ok') WHERE seq = :seq"),
        ("a record taken out", "DELETE FROM journal WHERE seq = :seq"),
        ("another time", "UPDATE journal SET record = replace(record, '\"at_ms\":1', '\"at_ms\":2') WHERE seq = :seq"),
        ("another hash", "UPDATE journal SET hash = replace(hash, substr(hash, 1, 1), 'x') WHERE seq = :seq"),
        ("a column that is searched by", "UPDATE journal SET outcome = 'ok' WHERE seq = :seq"),
    ]
    root = bench.toolcrib.scratch.root
    config = json.loads(bench.toolcrib.config.read_text())
    for number, (what, change) in enumerate(ways):
        async with bench.test(f"{what} is found out"):
            copy = root / f"tampered-{number}" / "state.db"
            copy.parent.mkdir()
            _copy(bench.database, copy)
            with sqlite3.connect(copy) as database:
                (seq,) = database.execute("SELECT min(seq) FROM journal WHERE outcome = 'denied'").fetchone()
                changed = database.execute(change, {"seq": seq}).rowcount
            database.close()
            expect(changed == 1, f"changed {changed} rows")
            path = copy.parent / "toolcrib.json"
            path.write_text(json.dumps({**config, "store": {"path": str(copy)}}))
            ended = await bench.toolcrib.command("audit", "--verify", "--config", str(path))
            expect(ended.code == FAILED, f"ended with {ended.code}: {ended.out[-200:]} {ended.err[-200:]}")
            expect(str(seq) in ended.err, f"does not say where: {ended.err[-200:]}")


def _copy(database: Path, target: Path) -> None:
    source, copy = sqlite3.connect(f"file:{database}?mode=ro", uri=True), sqlite3.connect(target)
    with source, copy:
        source.backup(copy)
    source.close()
    copy.close()


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# --- figures ----------------------------------------------------------------------------------------------------------


def _of_tools(expected: Counter[tuple[str, str, str]]) -> Counter[tuple[str, str]]:
    """By tool and outcome, whatever door; only what led to a tool."""
    found: Counter[tuple[str, str]] = Counter()
    for (tool, _, outcome), count in expected.items():
        if "/" in tool:
            found[tool, outcome] += count
    return found


def _counted(document: Any, expected: Counter[tuple[str, str, str]]) -> None:
    by_tool = {row["tool"]: row for row in document["tools"]}
    for (tool, outcome), count in _of_tools(expected).items():
        expect(tool in by_tool, f"no {tool} among {sorted(by_tool)}")
        row = by_tool[tool]
        seen = row["ok"] if outcome == "ok" else row["failed"].get(outcome)
        expect(seen == count, f"{tool}: {outcome} {seen} times, not {count}: {row}")


SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? (\S+)(?: -?\d+)?$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)')


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Reads the text format of Prometheus, strictly."""
    expect(text.endswith("\n"), "no newline at the end")
    types: dict[str, str] = {}
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            expect(family not in types, f"the type of {family} twice")
            expect(kind in ("counter", "gauge", "histogram", "summary", "untyped"), line)
            types[family] = kind
            continue
        if not line or line.startswith("#"):
            continue
        match = SAMPLE.match(line)
        expect(match, f"not read: {line!r}")
        metric, labels, value = match.groups()
        pairs = LABEL.findall(labels or "")
        expect(LABEL.sub("", labels or "") == "", f"labels not read: {line!r}")
        family = re.sub(r"_(bucket|sum|count)$", "", metric)
        expect(metric in types or types.get(family) in ("histogram", "summary"), f"no type for {line!r}")
        key = (metric, tuple(sorted(pairs)))
        expect(key not in found, f"twice: {line!r}")
        found[key] = float(value)
    return found


def _metrics(text: str, expected: Counter[tuple[str, str, str]]) -> None:
    """The serving process's own counters: without the calls that the command line made."""
    found = samples(text)
    served = Counter({key: count for key, count in expected.items() if key[1] != CLI})
    for (tool, outcome), count in _of_tools(served).items():
        seen = sum(
            value
            for (metric, labels), value in found.items()
            if metric.endswith("_total") and ("tool", tool) in labels and ("outcome", outcome) in labels
        )
        expect(seen == count, f"{tool}: {outcome} {seen:.0f} times, not {count}")


GROUPS: dict[str, Any] = {"evidence": _evidence}
