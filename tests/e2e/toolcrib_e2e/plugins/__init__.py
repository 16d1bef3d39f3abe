"""Plugins from outside: the page that teaches them, one of each kind, and what may go wrong with them."""

from __future__ import annotations

from ..installed import Installed
from ..report import Report
from . import factory, faults, kinds, page, shown


async def run(report: Report, tools: Installed, binary: str) -> None:
    groups = {"page": page.run, "kinds": kinds.run, "factory": factory.run, "faults": faults.run, "shown": shown.run}
    for name, body in ((f"plugins/{group}", body) for group, body in groups.items()):
        if report.wants(name):
            await body(report, tools, binary, name)
