"""Tool lists rendered for every target: taken by the official SDKs, within what the providers' documentation allows, and
with a way back that is the identity, for names and keys of any kind."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import constraints, sdks
from .installed import Installed
from .report import Report, expect

FIXTURES = Path(__file__).parent.parent / "fixtures"
TARGETS = (
    "anthropic", "openai-chat", "openai-responses", "gemini", "gemini-parameters", "bedrock", "mistral", "ollama",
    "deepseek", "xai", "groq",
)
# A model of each family that has something of its own, and how its deferred tools are loaded.
MODELS = {
    "anthropic": [("claude-opus-5", "search"), ("claude-haiku-4-5", "bridge")],
    "openai-responses": [("gpt-5.4", "search"), ("gpt-4.1", "bridge"), ("grok-4", "bridge")],
    "openai-chat": [("gpt-5", "bridge"), ("google/gemini-3-pro", "bridge")],
    "bedrock": [("us.anthropic.claude-opus-5-v1:0", "bridge")],
    "gemini": [("gemini-3-pro", "bridge")],
    "ollama": [("a-model-of-our-own", "bridge")],
}
EVERYTHING = """
[payloads]
strict = ["*"]
programmatic = ["*ping*"]
eager_streaming = ["*"]
asynchronous = ["*weigh*"]
output_schemas = true
cache = "1h"
"""


class Assembler:
    """Runs `toolcrib assemble`."""

    def __init__(self, binary: str, home: Path) -> None:
        self.binary = binary
        self.home = home
        self.numbers = itertools.count()
        # Each is short and busy.
        self.at_once = asyncio.Semaphore(4)

    async def assemble(self, target: str, catalogs: list[Path], *more: str, config: str = "") -> dict[str, Any]:
        # A file of its own: others are read while this one is written.
        file = self.home / f"{next(self.numbers)}.toml"
        file.write_text(config)
        words = [self.binary, "assemble", "--for", target, "--json", "--config", str(file), *more]
        for catalog in catalogs:
            words += ["--catalog", str(catalog.resolve())]
        async with self.at_once:
            process = await asyncio.create_subprocess_exec(
                *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=self.home,
                env={"HOME": str(self.home), "PATH": "/usr/bin:/bin"},
            )
            out, err = await asyncio.wait_for(process.communicate(), 60)
        expect(process.returncode == 0, f"exit code {process.returncode}: {err.decode()[-400:]}")
        return json.loads(out)


def definitions(catalog: Path) -> list[dict[str, Any]]:
    value = json.loads(catalog.read_text())
    return value["tools"] if isinstance(value, dict) else value


def entries(payload: list[dict[str, Any]], target: str) -> Iterator[str]:
    """The names in a payload, of deferred tools as well."""
    for name, _, _, _ in constraints.declarations(target, payload):
        yield name


def check(target: str, assembled: dict[str, Any], given: list[dict[str, Any]], many: bool) -> None:
    """All that holds for a tool set that is rendered whole."""
    payload = assembled["tools"]
    sdks.tools(target, payload, assembled.get("mcp_servers"))
    found = constraints.problems(target, payload) + constraints.strict_budget(target, payload)
    # Too many tools are told, not cut.
    told = "too_many" in assembled
    found = [text for text in found if not (many and told and text.endswith("at most " + str(constraints.MOST_TOOLS.get(target))))]
    expect(not found, f"{len(found)} problems, the first: {found[:3]}")
    # Every tool is there, or refused and named; the built-in tools are there beside those of the catalogs.
    ids = {identity: name for name, identity in assembled["name_map"].items()}
    expect(len(ids) == len(assembled["name_map"]), "two names lead to one tool")
    own = {source_name(identity) for identity in ids if identity.startswith("static:")}
    traced = {source_name(entry.get("id") or "") for entry in assembled["trace"]}
    refused = {refusal["tool"] for refusal in assembled.get("refused", [])}
    shown = list(entries(payload, target))
    for tool in given:
        expect(tool["name"] in own | traced, f"{tool['name']!r} is neither in the name map nor in the trace")
    for name in assembled["name_map"]:
        expect(name in shown or name in refused, f"{name!r} is in the name map, and not in the payload")
    # A call by the name in the payload leads to one tool, and to the one it was made from: no other is called so.
    for name in shown:
        expect(name in assembled["name_map"], f"{name!r} leads to no tool")
    expect(len(set(shown)) == len(shown), "two tools of one name")
    by_own = {ids[identity]: source_name(identity) for identity in ids if identity.startswith("static:")}
    written: dict[str, list[str]] = {}
    for tool in given:
        written.setdefault(tool["name"], []).append(words(tool.get("description")))
    for name, description, _, _ in constraints.declarations(target, payload):
        if name in by_own and any(written[by_own[name]]):
            begin = words(description)[:40]
            expect(any(text.startswith(begin) or begin.startswith(text) for text in written[by_own[name]]), f"{name!r} is described as another tool: {begin}")
    for exposed, keys in assembled.get("key_maps", {}).items():
        back(keys, exposed)


def words(text: str | None) -> str:
    """The letters and digits of a text: what is left of it whatever was cleaned or added."""
    return "".join(c for c in text or "" if c.isalnum())


def source_name(identity: str) -> str:
    return identity.split("/", 1)[1] if "/" in identity else identity


def back(keys: dict[str, Any], where: str) -> None:
    """A key map is a way back: no two new names for one key, and no new name that is the old name of another."""
    names = keys.get("names", {})
    expect(len(set(names.values())) == len(names), f"{where}: two names for one key in {names}")
    expect(not set(names) & set(names.values()), f"{where}: a name that is another key's in {names}")
    for new in names:
        expect(constraints.PLAIN_KEY.fullmatch(new) is not None, f"{where}: the new name {new!r}")
    for name, inner in keys.get("inner", {}).items():
        back(inner, f"{where}/{name}")
    for part in ("values", "items"):
        if keys.get(part):
            back(keys[part], f"{where}/{part}")


async def run(report: Report, tools: Installed, binary: str, folder: Path | None = None) -> None:
    """The catalogs of ours, or those of a folder."""
    if not report.wants("payloads"):
        return
    catalogs = sorted((folder or FIXTURES / "catalogs").glob("*.json"))
    with tempfile.TemporaryDirectory() as home:
        assembler = Assembler(binary, Path(home))
        async with asyncio.TaskGroup() as group:
            for target in TARGETS:
                group.create_task(one(report, assembler, target, catalogs))
        if folder is None:
            await turns(report)


async def one(report: Report, assembler: Assembler, target: str, catalogs: list[Path]) -> None:
    """One target: every catalog alone and all together, plain and with every wish, and by models."""
    cases: list[tuple[str, list[Path], list[str], str]] = [
        (catalog.stem, [catalog], ["--disclosure", "off"], "") for catalog in catalogs
    ]
    cases.append(("all", catalogs, ["--disclosure", "off"], ""))
    model = MODELS.get(target, [("gpt-5", "bridge")])[0][0]
    cases += [
        (f"{catalog.stem}, every wish", [catalog], ["--disclosure", "off", "--model", model], EVERYTHING) for catalog in catalogs
    ]
    for name, files, flags, config in cases:
        async with report.test(f"payloads/{target}/{name}", 120):
            assembled = await assembler.assemble(target, files, *flags, config=config)
            given = [tool for file in files for tool in definitions(file)]
            check(target, assembled, given, len(files) > 1)
            if config:
                strictness(target, assembled)
    for model, loading in MODELS.get(target, []):
        for how in ("auto", "provider"):
            async with report.test(f"payloads/{target}/{model}/{how}", 120):
                config = f'[payloads]\nloading = "{how}"\ncache = "5m"\n'
                assembled = await assembler.assemble(target, catalogs, "--disclosure", "on", "--model", model, config=config)
                loaded_by_search(target, assembled, loading, how, model)


def strictness(target: str, assembled: dict[str, Any]) -> None:
    """Every tool that was to be strict is, or it is said why not."""
    verdicts = assembled.get("strict", [])
    if target.startswith("gemini"):
        # One mode for the whole request.
        mode = assembled.get("tool_config", {}).get("functionCallingConfig", {}).get("mode")
        on = bool(verdicts) and all(verdict["strict"] for verdict in verdicts)
        expect((mode == "VALIDATED") == on, f"the mode is {mode}, the verdicts {verdicts[:2]}")
        sdks.tool_config(assembled.get("tool_config"))
        expect(on or all(verdict.get("reason") for verdict in verdicts), "a refusal without a reason")
        return
    flags = {name for name, _, _, entry in constraints.declarations(target, assembled["tools"]) if entry.get("strict") is True}
    own = {identity: name for name, identity in assembled["name_map"].items()}
    said = {verdict["tool"] for verdict in verdicts if verdict["strict"]}
    expect(len(said) == len(flags), f"{len(said)} tools are said to be strict, {len(flags)} are")
    expect(all(verdict.get("reason") for verdict in verdicts if not verdict["strict"]), "a refusal without a reason")
    refused = len(assembled.get("refused", []))
    expect(len(verdicts) + refused >= len(own), f"{len(verdicts)} verdicts on {len(own)} tools")


def loaded_by_search(target: str, assembled: dict[str, Any], loading: str, how: str, model: str) -> None:
    """Deferred tools are where the model can load them, or behind the bridge."""
    payload = assembled["tools"]
    sdks.tools(target, payload)
    found = constraints.problems(target, payload)
    expect(not found, f"{found[:3]}")
    want = "provider_search" if loading == "search" and how == "provider" else loading
    expect(assembled["loading"] == want, f"loading is {assembled['loading']}, not {want}")
    text = json.dumps(payload)
    bridged = "tool_call" in text and "tool_describe" in text
    expect(bridged == (want == "bridge"), f"the bridge is {'there' if bridged else 'missing'}")
    tokens = assembled["tokens"]
    expect(tokens["counter"].startswith(("estimate", "exact")), f"counter {tokens['counter']!r}")
    expect(0 < tokens["shown"] < tokens["eager"], f"tokens {tokens}")
    known = assembled["model"]["known"]
    expect(known == ("of-our-own" not in model), f"known is {known}")
    expect(known or any("not known" in note for note in assembled["notes"]), "nothing says that the model is unknown")
    if target == "anthropic" and want != "bridge":
        first = next(index for index, tool in enumerate(payload) if tool.get("defer_loading"))
        expect(first > 0 and all(tool.get("defer_loading") for tool in payload[first:]), "deferred tools come last")
        expect("cache_control" in payload[first - 1], "the mark is on the last tool that is not deferred")
        expect(sum("cache_control" in tool for tool in payload) == 1, "one mark")


async def turns(report: Report) -> None:
    """Turns and their answers, as the library writes them for every target, are messages to the SDKs."""
    for target, written in json.loads((FIXTURES / "turns.json").read_text()).items():
        async with report.test(f"payloads/turns/{target}"):
            sdks.messages(target, written)
    for target, entry in json.loads((FIXTURES / "hosted.json").read_text()).items():
        # xAI takes such servers in the shape of OpenAI's other interface.
        shape = "openai-responses" if target == "xai" else target
        async with report.test(f"payloads/hosted/{target}"):
            sdks.tools(shape, entry["tools"], entry["mcp_servers"])
