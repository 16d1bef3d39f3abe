"""The official Inspector: its one-shot client, and `mcpdo`, which holds a connection while commands come and go."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from .installed import Installed
from .processes import clients_gone
from .report import Failed
from .scratch import Scratch
from .session import Reply

# The exit code of both programs for "the tool answered with isError".
TOOL_ERROR = 5


async def run_json(line: list[str], scratch: Scratch, env: dict[str, str], seconds: float = 40.0) -> tuple[int, Any]:
    """Runs a program and reads the JSON document that it prints."""
    process = await asyncio.create_subprocess_exec(
        *line,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=env,
        cwd=scratch.root,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        raise Failed(f"no end within {seconds} s: {' '.join(line[2:])[:300]}") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    code = process.returncode or 0
    try:
        document = json.loads(out)
    except ValueError:
        document = None
    if not isinstance(document, dict) or code not in (0, TOOL_ERROR):
        raise Failed(f"the Inspector ended with {code}: {(err or out).decode(errors='replace')[-600:]}")
    return code, document


def called(code: int, result: dict[str, Any]) -> Reply:
    if (code == TOOL_ERROR) != bool(result.get("isError")):
        raise Failed(f"the Inspector ended with {code} for {json.dumps(result)[:300]}")
    return Reply(result=result)


class Inspector:
    """The one-shot client: every request is a process and a connection of its own."""

    def __init__(
        self,
        tools: Installed,
        scratch: Scratch,
        era: str,
        *,
        url: str | None = None,
        command: list[str] | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        self.program = tools.inspector
        self.scratch = scratch
        self.era = era
        self.url = url
        self.command = command or []
        self.env = env or {}

    async def run(self, *words: str) -> tuple[int, dict[str, Any]]:
        options = [*words, "--protocol-era", self.era, "--connect-timeout", "40000", "--format", "json", "-q"]
        if self.url:
            line = [*self.program, self.url, "--transport", "http", *options]
        else:
            passed = [item for key, value in self.env.items() for item in ("-e", f"{key}={value}")]
            line = [*self.program, *options, *passed, "--", *self.command]
        env = {**self.scratch.environment(), "MCP_CATALOG_PATH": str(self.scratch.root / "inspector.json")}
        code, document = await run_json(line, self.scratch, env)
        if "result" not in document:
            raise Failed(f"the Inspector printed {json.dumps(document)[:300]}")
        return code, document["result"]

    async def tools(self) -> list[dict[str, Any]]:
        return (await self.run("--method", "tools/list"))[1]["tools"]

    async def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        given = json.dumps(arguments, ensure_ascii=False)
        return called(*await self.run("--method", "tools/call", "--tool-name", tool, "--tool-args-json", given))


class HeldConnection:
    """`mcpdo`: one connection for all requests, so that a stdio server is started once."""

    def __init__(self, tools: Installed, scratch: Scratch) -> None:
        self.program = [tools.node, tools.module("inspector/clients/mcpdo/build/mcp-bin.js"), "--format", "json"]
        self.scratch = scratch
        self.env = {
            **scratch.environment(),
            "MCP_INSPECTOR_DAEMON_DIR": str(scratch.root / "mcpdo"),
            "MCP_INSPECTOR_DAEMON_TOKEN": scratch.mark,
            "MCP_INSPECTOR_SECRET_STORE": "memory",
        }

    async def run(self, *words: str) -> tuple[int, dict[str, Any]]:
        return await run_json([*self.program, "--connection", "held", *words], self.scratch, self.env)

    async def tools(self) -> list[dict[str, Any]]:
        return (await self.run("tools/list"))[1]["tools"]

    async def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        given = json.dumps(arguments, ensure_ascii=False)
        return called(*await self.run("tools/call", "--tool-name", tool, "--tool-args-json", given))


@contextlib.asynccontextmanager
async def held_connection(
    tools: Installed, scratch: Scratch, era: str, command: list[str], env: dict[str, str]
) -> AsyncIterator[HeldConnection]:
    """Starts the command, connects in the given era, and ends both afterwards."""
    held = HeldConnection(tools, scratch)
    config = scratch.root / "mcpdo.json"
    entry = {"command": command[0], "args": command[1:], "env": env}
    config.write_text(json.dumps({"mcpServers": {"held": entry}}))
    start = [*held.program, "--config", str(config), "connect", "held", "--era", era, "--elicit", "off"]
    start += ["--connect-timeout", "40000"]
    try:
        _, connected = await run_json(start, scratch, held.env)
        if connected.get("protocolEra") != era:
            raise Failed(f"the Inspector negotiated {connected.get('protocolEra')}, asked for {era}")
        yield held
    finally:
        stop = await asyncio.create_subprocess_exec(
            *held.program,
            "daemon",
            "stop",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=held.env,
        )
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 10)
        await clients_gone(scratch.mark, 10)
