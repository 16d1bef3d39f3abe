"""A plugin that is code within a program: the example that embeds one, as an MCP server, with the official client, both eras."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ..installed import Installed
from ..report import Report, expect
from ..scratch import Scratch
from ..session import open_stdio


async def run(report: Report, tools: Installed, binary: str, name: str) -> None:
    program = Path(binary).parent / "examples" / "plugin_factory"
    for era in ("legacy", "modern"):
        scratch = Scratch(name.replace("/", "-"))
        try:
            async with report.test(f"{name}/{era}: found, described, called, the optional tool is not there", 60):
                expect(program.exists(), f"{program} is not built; build with --examples")
                with scratch.log.open("a") as log:
                    async with open_stdio(str(program), ["--serve"], scratch.environment(), era, log) as session:
                        found = await session.call("tool_search", {"queries": ["count one up"]})
                        expect("count" in found.text and "reset_count" not in found.text, found.text)
                        described = await session.call("tool_describe", {"names": ["count"]})
                        expect("Count one up and tell the number" in described.text, described.text)
                        replies = await asyncio.gather(
                            *(session.call("tool_call", {"name": "count", "arguments": {"call": n}}) for n in range(20))
                        )
                        numbers = sorted(int(reply.text) for reply in replies)
                        expect(numbers == list(range(1, 21)), f"counted {numbers}")
                        refused = await session.call("tool_call", {"name": "reset_count", "arguments": {}})
                        expect(refused.failed and "no tool" in refused.text, refused.text)
        finally:
            scratch.remove()
