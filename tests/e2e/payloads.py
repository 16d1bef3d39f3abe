#!/usr/bin/env python3
"""Renders every tool list of a folder for every target and checks the payloads with the official SDKs and against the
providers' documented constraints. Start it with the Python that setup.sh installed:

    "$tools/venv/bin/python" tests/e2e/payloads.py --bin target/debug/toolcrib --catalogs FOLDER
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

from toolcrib_e2e import payloads  # noqa: E402
from toolcrib_e2e.installed import Installed  # noqa: E402
from toolcrib_e2e.report import Report  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description="payloads of any tool lists, checked")
    parser.add_argument("--bin", type=Path, required=True, help="the toolcrib binary")
    parser.add_argument("--catalogs", type=Path, required=True, help="a folder of tool lists, *.json")
    given = parser.parse_args()
    report = Report(None, verbose=False)
    asyncio.run(payloads.run(report, Installed(Path(".")), str(given.bin.resolve()), given.catalogs.resolve()))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
