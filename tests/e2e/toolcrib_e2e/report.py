"""One line per test as it ends, and the closing count. A test that failed never stops the others."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
import traceback
from collections.abc import AsyncIterator


class Failed(AssertionError):
    """A test's expectation did not hold; the message says what was seen."""


def expect(condition: object, message: str) -> None:
    if not condition:
        raise Failed(message)


def first_cause(error: BaseException) -> BaseException:
    """The clients wrap what went wrong in groups of one: the innermost error is the one worth reading."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def in_one_line(error: BaseException, limit: int = 900) -> str:
    error = first_cause(error)
    if isinstance(error, Failed):
        text = str(error)
    elif isinstance(error, TimeoutError):
        text = f"no end within the time limit {error}".strip()
    else:
        where = traceback.extract_tb(error.__traceback__)[-1:] or [None]
        at = f" at {where[0].filename.rsplit('/', 1)[-1]}:{where[0].lineno}" if where[0] else ""
        text = f"{type(error).__name__}: {error}{at}"
    text = re.sub(r"\s*\n\s*", " | ", text)
    return text if len(text) <= limit else text[:limit] + "…"


class Report:
    """Counts and prints. `only` is a regular expression that test names must contain to be run."""

    def __init__(self, only: str | None = None, verbose: bool = True) -> None:
        self.only = re.compile(only) if only else None
        self.verbose = verbose
        self.passed = 0
        self.failures: list[tuple[str, str]] = []
        self.skipped: list[tuple[str, str]] = []
        self.started = time.monotonic()

    def wants(self, group: str) -> bool:
        return self.only is None or self.only.search(group) is not None

    def ok(self, name: str, seconds: float = 0.0) -> None:
        self.passed += 1
        if self.verbose:
            print(f"ok    {name} ({seconds:.2f} s)", flush=True)

    def fail(self, name: str, why: str) -> None:
        self.failures.append((name, why))
        print(f"FAIL  {name}: {why}", flush=True)

    def skip(self, name: str, why: str) -> None:
        self.skipped.append((name, why))
        print(f"skip  {name}: {why}", flush=True)

    @contextlib.asynccontextmanager
    async def test(self, name: str, limit: float = 30.0) -> AsyncIterator[None]:
        """Runs the block as the test `name`, ended after `limit` seconds. Errors are recorded, not raised."""
        begin = time.monotonic()
        try:
            async with asyncio.timeout(limit):
                yield
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - groups of errors are no Exception
            self.fail(name, in_one_line(error))
        else:
            self.ok(name, time.monotonic() - begin)

    def close(self) -> int:
        print(flush=True)
        for name, why in self.failures:
            print(f"FAIL  {name}: {why}")
        print(f"end-to-end tests took {time.monotonic() - self.started:.0f} s")
        tail = f", {len(self.skipped)} skipped" if self.skipped else ""
        print(f"{self.passed} passed, {len(self.failures)} failed{tail}", flush=True)
        return 1 if self.failures or not self.passed else 0
