"""toolcrib with the configuration that docs/api.md shows, serving its API."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..gateway import Toolcrib, leaving_nothing
from ..report import Report, expect
from ..scratch import Scratch

PAGE = Path(__file__).resolve().parents[4] / "docs" / "api.md"
KEYS = {"KEY": "key-of-the-agent-41d0", "APPROVER": "key-of-the-boss-9c33", "OPERATOR": "key-of-the-operator-7be2"}


def configuration() -> str:
    """The page's only block of TOML."""
    found = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    expect(len(found) == 1, f"{len(found)} configurations in {PAGE}")
    return str(found[0])


@dataclass
class Served:
    """A gateway that serves, and its folder of files."""

    address: str
    folder: Path


@contextlib.asynccontextmanager
async def serving(
    report: Report, binary: str, name: str, more: str = "", catalog: dict[str, Any] | None = None
) -> AsyncIterator[Served]:
    scratch = Scratch("api")
    async with leaving_nothing(report, name, scratch):
        config = scratch.home / "toolcrib.toml"
        config.write_text(configuration() + more, encoding="utf-8")
        (scratch.home / "notes.txt").write_text("remember the milk\n", encoding="utf-8")
        options = []
        if catalog is not None:
            path = scratch.root / "catalog.json"
            path.write_text(json.dumps(catalog), encoding="utf-8")
            options = ["--catalog", str(path)]
        toolcrib = Toolcrib(binary, scratch, config, options, trust=None, variables=KEYS)
        async with toolcrib.listening() as listening:
            parts = urlsplit(listening.url)
            yield Served(f"http://{parts.netloc}", scratch.home)
