"""Which processes belong to a run: found by a mark in their environment, whatever group or session they are in."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Found:
    pid: int
    server: str
    command: str


def marked(mark: str, servers_only: bool = False) -> list[Found]:
    """Living processes whose environment holds the mark. `server` is what follows it (E2E_SERVER=MARK:NAME)."""
    found = []
    needle = mark.encode()
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            environment = (entry / "environ").read_bytes()
            if needle not in environment or _state(entry) in "ZX":
                continue
            server = ""
            for variable in environment.split(b"\0"):
                if variable.startswith(b"E2E_SERVER=" + needle + b":"):
                    server = variable.rsplit(b":", 1)[1].decode()
            if servers_only and not server:
                continue
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            found.append(Found(int(entry.name), server, command))
    return found


def _state(entry: Path) -> str:
    return (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]


def servers_of(mark: str, server: str) -> list[int]:
    """The processes of one server, without the guard that toolcrib puts between itself and a server."""
    found = marked(mark, servers_only=True)
    return [process.pid for process in found if process.server == server and " __guard " not in process.command]


def kill(pids: list[int], number: int = signal.SIGKILL) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


async def none_left(mark: str, seconds: float) -> list[Found]:
    """Waits until no server of the run is left; answers with those that are still there at the end."""
    until = time.monotonic() + seconds
    while True:
        left = marked(mark, servers_only=True)
        if not left or time.monotonic() > until:
            return left
        await asyncio.sleep(0.05)


async def clients_gone(mark: str, seconds: float) -> None:
    """Waits for the processes of a run that are no servers, then ends them."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(not found.server for found in marked(mark)):
        await asyncio.sleep(0.05)
    kill([found.pid for found in marked(mark) if not found.server])


def end_all(mark: str) -> None:
    """Ends whatever a run left behind. Only processes with this run's mark."""
    kill([found.pid for found in marked(mark)])


def peak_memory(pid: int) -> int:
    """The most resident memory that a process ever had, in bytes; 0 when it is gone."""
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
