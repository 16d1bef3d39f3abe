"""The two example agents, with the providers' own SDKs, against a model that is a script."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from ..installed import Installed
from ..report import Report, expect
from .model import Model
from .served import KEYS, Served, serving

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "agents"
WANTED = "It says: remember the milk"
# Something to be deferred.
CATALOG = {"server": "crane", "tools": [{"name": "lift", "description": "Lifts a load.", "inputSchema": {"type": "object"}}]}


async def run(report: Report, tools: Installed, binary: str, name: str) -> None:
    for label, disclosure, requests, found in (
        ("all tools in sight", 'enabled = "off"', 2, False),
        ("other tools behind the bridge", 'enabled = "on"', 3, False),
        ("tools shown once they are found", 'enabled = "on"\ndefer = ["read_file"]', 3, True),
    ):
        more = f"\n[disclosure]\n{disclosure}\n"
        async with serving(report, binary, name, more, catalog=CATALOG) as served:
            async with report.test(f"{name}: Python and Anthropic's SDK, {label}", 60):
                await _runs([tools.python, str(EXAMPLES / "python" / "agent.py")], served, requests, found)
            async with report.test(f"{name}: TypeScript and OpenAI's SDK, {label}", 60):
                # Modules are looked for beside the file.
                folder = served.folder / "agent"
                folder.mkdir(exist_ok=True)
                shutil.copy(EXAMPLES / "typescript" / "agent.ts", folder / "agent.mts")
                if not (folder / "node_modules").exists():
                    (folder / "node_modules").symlink_to(tools.root / "npm" / "node_modules")
                await _runs([tools.node, str(folder / "agent.mts")], served, requests, found)


async def _runs(command: list[str], served: Served, requests: int, found: bool) -> None:
    model = Model()
    try:
        process = await asyncio.create_subprocess_exec(
            *command, "what", "is", "in", "my", "notes?",
            env={
                "PATH": os.environ["PATH"], "HOME": str(served.folder), "MODEL": "scripted",
                "TOOLCRIB": served.address, "TOOLCRIB_KEY": KEYS["KEY"],
                "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none",
                "OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "none",
            },
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        expect(not model.refused, f"the provider refuses: {model.refused}")
        expect(process.returncode == 0, f"ended with {process.returncode}: {err.decode(errors='replace')[-500:]}")
        expect(out.decode().strip() == WANTED, f"said {out.decode()[:300]!r}")
        expect(model.requests == requests, f"the model was asked {model.requests} times")
        there = ["read_file" in names for names in model.shown]
        expect(there == [not found] + [True] * (requests - 1), f"what it was shown: {model.shown}")
    finally:
        model.close()
