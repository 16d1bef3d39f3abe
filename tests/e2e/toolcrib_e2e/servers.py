"""The seven real servers, as an `mcpServers` entry and as something to start directly."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .installed import Installed
from .scratch import GIT_ENVIRONMENT, Scratch

FIXTURES = Path(__file__).parent.parent / "fixtures"
# Set on purpose in one server's entry: it must arrive there.
CONFIGURED = {"E2E_CONFIGURED": "configured value"}
# Tools that server-everything offers only to clients that can answer questions of the server.
CONDITIONAL = {
    "get-roots-list",
    "trigger-sampling-request",
    "trigger-sampling-request-async",
    "trigger-elicitation-request",
    "trigger-elicitation-request-async",
    "trigger-url-elicitation",
}


@dataclass(frozen=True)
class ServerEntry:
    """One entry of an `mcpServers` file."""

    name: str
    command: str
    args: list[str]
    env: dict[str, str] = field(default_factory=dict)
    modern: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    def as_config(self) -> dict[str, Any]:
        return {"command": self.command, "args": self.args, "env": self.env, **self.extra}


def mark_of(scratch: Scratch, server: str) -> str:
    """What a server's process carries in its environment (E2E_SERVER)."""
    return f"{scratch.mark}:{server}"


def real_servers(tools: Installed, scratch: Scratch, names: list[str] | None = None) -> list[ServerEntry]:
    """The servers, working on the scratch folder. `names` keeps some of them."""

    def node(name: str, *args: str, **env: str) -> ServerEntry:
        script = tools.module(f"server-{name}/dist/index.js")
        return ServerEntry(name, tools.node, [script, *args], {"E2E_SERVER": mark_of(scratch, name), **env})

    def python(name: str, *args: str, **env: str) -> ServerEntry:
        script = tools.script(f"mcp-server-{name}")
        marked = {"E2E_SERVER": mark_of(scratch, name), **env}
        return ServerEntry(name, tools.python, [script, *args], marked, modern=True)

    every = [
        node("everything", **CONFIGURED),
        node("filesystem", str(scratch.files)),
        node("memory", MEMORY_FILE_PATH=str(scratch.memory)),
        node("sequential-thinking", DISABLE_THOUGHT_LOGGING="true"),
        python("git", "--repository", str(scratch.repo), **GIT_ENVIRONMENT),
        python("time", "--local-timezone", "Etc/UTC"),
        # Without a Node in PATH the server always takes the same one of its two ways to read a page.
        python("fetch", "--allow-private-ips", PATH=str(tools.root / "venv/bin")),
    ]
    return every if names is None else [entry for entry in every if entry.name in names]


def fixture(script: str, name: str, scratch: Scratch, *args: str, **extra: Any) -> ServerEntry:
    """A server of our own (fixtures/), written to misbehave."""
    env = {"E2E_SERVER": mark_of(scratch, name), "PYTHONDONTWRITEBYTECODE": "1"}
    return ServerEntry(name, sys.executable, ["-I", str(FIXTURES / script), *args], env, extra=extra)


def write_config(scratch: Scratch, entries: list[ServerEntry], file: str = "mcp.json") -> Path:
    """An `.mcp.json` as people have it."""
    path = scratch.root / file
    path.write_text(json.dumps({"mcpServers": {entry.name: entry.as_config() for entry in entries}}, indent=2))
    return path
