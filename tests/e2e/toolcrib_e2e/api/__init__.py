"""The JSON API from outside: its document, its page, its robustness, and agents that use it."""

from __future__ import annotations

from ..installed import Installed
from ..report import Report
from . import agents, document, fuzzing, page


async def run(report: Report, tools: Installed, binary: str) -> None:
    for name, body in (
        ("api/document", document.run),
        ("api/page", page.run),
        ("api/agents", agents.run),
        ("api/fuzzing", fuzzing.run),
    ):
        if report.wants(name):
            await body(report, tools, binary, name)
