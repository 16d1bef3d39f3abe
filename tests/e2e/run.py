#!/usr/bin/env python3
"""Runs the end-to-end tests. Start it with the Python that setup.sh installed:

    tools=$(tests/e2e/setup.sh)
    "$tools/venv/bin/python" tests/e2e/run.py --tools "$tools" --bin target/debug/toolcrib

`--direct` tests the servers and this harness without toolcrib. `--only REGEX` runs the groups whose name matches:
api, approvals, categories, payloads, plugins, direct, through, commands, faults, and parts of them such as "through/http/modern" or
"faults/garbage".
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

from toolcrib_e2e import direct  # noqa: E402
from toolcrib_e2e.installed import Installed  # noqa: E402
from toolcrib_e2e.report import Report  # noqa: E402
from toolcrib_e2e.scratch import Website  # noqa: E402


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="end-to-end tests of toolcrib with real servers and clients")
    parser.add_argument("--tools", type=Path, required=True, help="the folder that setup.sh printed")
    parser.add_argument("--bin", type=Path, help="the toolcrib binary to test")
    parser.add_argument("--direct", action="store_true", help="only the servers themselves, without toolcrib")
    parser.add_argument("--only", metavar="REGEX", help="only groups with a matching name")
    given = parser.parse_args()
    if not given.direct and given.bin is None:
        parser.error("name the binary with --bin, or test without it with --direct")
    if given.bin is not None and not given.bin.is_file():
        parser.error(f"no such file: {given.bin}")
    return given


async def run(given: argparse.Namespace, report: Report) -> None:
    tools = Installed(given.tools.resolve())
    if not given.direct:
        from toolcrib_e2e import api, approvals, categories, payloads, plugins

        await payloads.run(report, tools, str(given.bin.resolve()))
        await approvals.run(report, tools, str(given.bin.resolve()))
        await api.run(report, tools, str(given.bin.resolve()))
        await categories.run(report, tools, str(given.bin.resolve()))
        await plugins.run(report, tools, str(given.bin.resolve()))
        if given.only and given.only.startswith(("approvals", "api", "categories", "payloads", "plugins")):
            # The others need to know what the real servers answer; these do not.
            return
    website = Website()
    reference = await direct.run(report, tools, website.url)
    if given.direct:
        return
    from toolcrib_e2e import commands, faults, through

    binary = str(given.bin.resolve())
    names = await through.run(report, tools, binary, website.url, reference)
    if names:
        await commands.run(report, tools, binary, website.url, reference, names)
        await faults.run(report, tools, binary, website.url, names)


def main() -> int:
    given = arguments()
    # The clients log what they tolerate; a test says what is wrong in its own line.
    logging.disable(logging.CRITICAL)
    report = Report(given.only)
    try:
        asyncio.run(asyncio.wait_for(run(given, report), 900))
    except TimeoutError:
        report.fail("the whole run", "no end within 900 s")
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
