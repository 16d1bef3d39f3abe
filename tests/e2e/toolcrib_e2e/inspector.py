"""The official Inspector as a one-shot client."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from .installed import Installed
from .report import Failed
from .scratch import Scratch
from .session import Reply

# The Inspector's exit code for "the tool answered with isError".
TOOL_ERROR = 5


class Inspector:
    """Runs the Inspector against a URL, or against a command that it starts itself."""

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

    async def run(self, *words: str, seconds: float = 40.0) -> tuple[int, dict[str, Any]]:
        options = [*words, "--protocol-era", self.era, "--format", "json", "-q"]
        if self.url:
            line = [*self.program, self.url, "--transport", "http", *options]
        else:
            passed = [item for key, value in self.env.items() for item in ("-e", f"{key}={value}")]
            line = [*self.program, *options, *passed, "--", *self.command]
        environment = {
            **self.scratch.environment(),
            "MCP_CATALOG_PATH": str(self.scratch.root / "inspector.json"),
        }
        process = await asyncio.create_subprocess_exec(
            *line,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            cwd=self.scratch.root,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), seconds)
        except TimeoutError:
            raise Failed(f"the Inspector did not end within {seconds} s: {' '.join(words)}") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        try:
            document = json.loads(out)
        except ValueError:
            document = None
        if not isinstance(document, dict) or "result" not in document:
            raise Failed(f"the Inspector ended with {process.returncode}: {err.decode(errors='replace')[-600:]}")
        return process.returncode or 0, document["result"]

    async def tools(self) -> list[dict[str, Any]]:
        return (await self.run("--method", "tools/list"))[1]["tools"]

    async def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        given = json.dumps(arguments, ensure_ascii=False)
        code, result = await self.run("--method", "tools/call", "--tool-name", tool, "--tool-args-json", given)
        if (code == TOOL_ERROR) != bool(result.get("isError")) or code not in (0, TOOL_ERROR):
            raise Failed(f"the Inspector ended with {code} for {json.dumps(result)[:300]}")
        return Reply(result=result)
