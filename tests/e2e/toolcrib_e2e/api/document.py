"""The OpenAPI document, looked at by the official validator."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from ..approvals.bench import http_request
from ..installed import Installed
from ..report import Report, expect
from .served import KEYS, serving

COMMITTED = Path(__file__).resolve().parents[4] / "docs" / "openapi.json"


async def run(report: Report, tools: Installed, binary: str, name: str) -> None:
    async with serving(report, binary, name) as served:
        async with report.test(f"{name}: what is served is what is committed"):
            answer = await http_request(served.address, "GET", "/v1/openapi.json", key=KEYS["KEY"])
            expect(answer.status == 200, f"{answer.status} {answer.text[:200]}")
            expect(json.loads(answer.text) == json.loads(COMMITTED.read_text(encoding="utf-8")), "they differ")
    async with report.test(f"{name}: the validator of the OpenAPI initiative's schema accepts it", 60):
        process = await asyncio.create_subprocess_exec(
            tools.python, "-m", "openapi_spec_validator", str(COMMITTED),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await process.communicate()
        expect(process.returncode == 0, said.decode(errors="replace")[-600:])
