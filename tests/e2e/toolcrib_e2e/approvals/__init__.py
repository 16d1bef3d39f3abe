"""Who may run what: questions to a person, answers that mean what was shown, rules that deny, and the record of it.

Whether a call ran is never told by its reply: it is read from the files that the built-in tools touch, and from the
ledger that the upstream server keeps (fixtures/ledger_server.py).
"""

from __future__ import annotations

import asyncio
from typing import Any

from ..installed import Installed
from ..report import Report
from . import asking, changes, doors, evidence, parked, rounds
from .bench import Setting

AT_ONCE = 4


async def run(report: Report, tools: Installed, binary: str) -> None:
    setting = Setting(report, tools, binary)
    at_once = asyncio.Semaphore(AT_ONCE)

    async def group(name: str, body: Any) -> None:
        if not report.wants(name):
            return
        async with at_once, report.test(f"{name}: starts, and comes to an end", 60):
            await body(setting, name)

    groups: dict[str, Any] = {}
    for module in (parked, asking, rounds, changes, doors, evidence):
        groups.update(module.GROUPS)
    await asyncio.gather(*(group(f"approvals/{name}", body) for name, body in groups.items()))
