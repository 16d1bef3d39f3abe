"""schemathesis against the running API: it makes up requests from the document, good and bad ones, and holds the answers
against it. Seeded and bounded; longer by hand: `schemathesis run …` as below with another seed and more examples.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from ..installed import Installed
from ..report import Report, expect
from .served import KEYS, serving

HERE = Path(__file__).resolve().parents[2] / "fuzz"
SEED, EXAMPLES, SECONDS = "20261130", "12", 40


async def run(report: Report, tools: Installed, binary: str, name: str) -> None:
    async with serving(report, binary, name) as served:
        async with report.test(f"{name}: no answer that the document does not promise, and none of 500 and above", 120):
            process = await asyncio.create_subprocess_exec(
                tools.script("schemathesis"), "--config-file", str(HERE / "schemathesis.toml"), "run",
                f"{served.address}/v1/openapi.json", "--seed", SEED, "--max-examples", EXAMPLES, "--max-time", str(SECONDS),
                cwd=served.folder,
                env={
                    "PATH": os.environ["PATH"], "HOME": str(served.folder), "NO_COLOR": "1", "COLUMNS": "160",
                    "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE),
                    "PYTHONDONTWRITEBYTECODE": "1", "OPERATOR": KEYS["OPERATOR"],
                    "TOOLCRIB": served.address,
                },
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            said, _ = await process.communicate()
            text = said.decode(errors="replace")
            expect(process.returncode == 0, text[-4000:])
            expect("No issues found" in text or "passed" in text, f"it tested nothing: {text[-500:]}")
