"""Plugins from outside: the page that teaches them, one of each kind, and what may go wrong with them."""

from __future__ import annotations

from ..installed import Installed
from ..report import Report
from . import faults, kinds, page


async def run(report: Report, tools: Installed, binary: str) -> None:
    for name, body in (("plugins/page", page.run), ("plugins/kinds", kinds.run), ("plugins/faults", faults.run)):
        if report.wants(name):
            await body(report, tools, binary, name)
