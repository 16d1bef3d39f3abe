"""Where setup.sh put the servers and clients."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Installed:
    """The folder that setup.sh printed."""

    root: Path

    @property
    def python(self) -> str:
        return str(self.root / "venv/bin/python")

    @property
    def node(self) -> str:
        return (self.root / "node").read_text().strip()

    def script(self, name: str) -> str:
        """A Python server's start script."""
        return str(self.root / "venv/bin" / name)

    def module(self, path: str) -> str:
        """A file of an npm package of the protocol's own scope."""
        return str(self.root / "npm/node_modules/@modelcontextprotocol" / path)

    @property
    def inspector(self) -> list[str]:
        """The Inspector's one-shot client, without its launcher: the same program, started 0.3 s sooner."""
        return [self.node, self.module("inspector/clients/cli/build/index.js")]
