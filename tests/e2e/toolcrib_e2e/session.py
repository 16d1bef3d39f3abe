"""The official Python client, with the replies kept as they came over the wire."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TextIO

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import ElicitationFnT
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

MODERN = "2026-07-28"
ERAS = ("legacy", "modern")
Progress = Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass
class Reply:
    """What came back: a result as raw JSON, or a protocol error."""

    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    @property
    def failed(self) -> bool:
        return self.error is not None or bool(self.result and self.result.get("isError"))

    @property
    def text(self) -> str:
        """All text of the reply, for messages and searches."""
        if self.error is not None:
            return str(self.error.get("message"))
        blocks = (self.result or {}).get("content") or []
        return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))

    @property
    def comparable(self) -> Any:
        return self.result if self.error is None else {"protocol error": self.error}


_replies: contextvars.ContextVar[list[Any] | None] = contextvars.ContextVar("replies", default=None)


class Session:
    """One connection. Every request goes through the official client's own methods, its checks included."""

    def __init__(self, client: Client) -> None:
        self.client = client
        dispatcher = client.session._dispatcher  # noqa: SLF001 - the only place where replies are seen whole
        send = dispatcher.send_raw_request

        async def recording(method: str, *args: Any, **kwargs: Any) -> Any:
            raw = await send(method, *args, **kwargs)
            kept = _replies.get()
            # The client makes requests of its own in between, such as one for the schema of a result.
            if kept is not None and method in ("tools/list", "tools/call"):
                kept.append((method, raw))
            return raw

        dispatcher.send_raw_request = recording

    @property
    def era(self) -> str:
        return "modern" if self.client.protocol_version >= MODERN else "legacy"

    async def tools(self) -> list[dict[str, Any]]:
        """Every page of tools/list, as raw JSON."""
        found: list[dict[str, Any]] = []
        cursor = None
        for _ in range(1000):
            kept: list[Any] = []
            token = _replies.set(kept)
            try:
                page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            finally:
                _replies.reset(token)
            found.extend(kept[-1][1]["tools"])
            cursor = page.next_cursor
            if not cursor:
                return found
        raise RuntimeError("tools/list never came to an end")

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        seconds: float = 30.0,
        progress: Progress | None = None,
    ) -> Reply:
        kept: list[Any] = []
        token = _replies.set(kept)
        try:
            await self.client.call_tool(
                tool, arguments, read_timeout_seconds=seconds, progress_callback=progress
            )
        except MCPError as error:
            return Reply(error={"code": error.code, "message": error.message})
        finally:
            _replies.reset(token)
        # The last one: in the modern era a call that asks the user something is sent again with the answer.
        return Reply(result=[raw for method, raw in kept if method == "tools/call"][-1])


@contextlib.asynccontextmanager
async def open_stdio(
    command: str,
    args: list[str],
    env: dict[str, str],
    era: str,
    log: TextIO,
    cwd: str | None = None,
    person: ElicitationFnT | None = None,
) -> AsyncIterator[Session]:
    """Starts a program and connects to it over its standard streams. Its stderr goes to `log`. With a `person` the
    client says that it can show questions, and passes them on to it."""
    parameters = StdioServerParameters(command=command, args=args, env=env, cwd=cwd)
    async with Client(
        stdio_client(parameters, errlog=log), mode=_mode(era), read_timeout_seconds=60, elicitation_callback=person
    ) as client:
        yield Session(client)


@contextlib.asynccontextmanager
async def open_http(
    url: str, era: str, person: ElicitationFnT | None = None, key: str | None = None
) -> AsyncIterator[Session]:
    headers = {"Authorization": f"Bearer {key}"} if key else None
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(
            transport, mode=_mode(era), read_timeout_seconds=60, elicitation_callback=person
        ) as client:
            yield Session(client)


def _mode(era: str) -> str:
    # "auto" asks for the newest and falls back: callers check `Session.era` when they need the modern one.
    return "legacy" if era == "legacy" else "auto"
