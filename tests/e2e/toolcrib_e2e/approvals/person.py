"""A person in front of a client: answers questions as told beforehand, and keeps what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.types import ElicitResult, ErrorData

from ..report import expect

FIELD = "answer"
# The words of the form. A number behind one of them means a wider pattern.
ONCE, SESSION, ALWAYS, DENY, FORBID = "approve_once", "approve_session", "approve_always", "deny", "never"
DECLINE, CANCEL = "decline", "cancel"
NEVER, BROKEN = "never answers", "broken"


def values(schema: dict[str, Any]) -> list[str]:
    """The choices of a question's one required field."""
    expect(schema.get("type") == "object", f"the form is no object: {schema}")
    expect(list(schema.get("properties", {})) == [FIELD], f"the form's fields: {schema}")
    expect(schema.get("required") == [FIELD], f"the form's required fields: {schema}")
    field = schema["properties"][FIELD]
    expect(field.get("type") == "string", f"the answer is no text: {field}")
    return field["enum"]


def choose(schema: dict[str, Any], wanted: str) -> dict[str, Any]:
    """The form filled in."""
    expect(wanted in values(schema), f"no {wanted!r} among {values(schema)}")
    return {FIELD: wanted}


class Person:
    """Gives the answers in order: one of the words above, a dict (sent as the form's content), or a function to wait
    for first, whose result is the answer. Declines what is asked beyond them."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []
        self.trouble: BaseException | None = None

    @property
    def first(self) -> Any:
        """The first question."""
        expect(self.asked, "nobody was asked")
        return self.asked[0]

    def will(self, *answers: Any) -> None:
        """From now on."""
        self.answers = list(answers)
        self.asked.clear()

    async def __call__(self, _context: Any, question: Any) -> ElicitResult | ErrorData:
        self.asked.append(question)
        try:
            return await self._answer(question)
        except Exception as error:
            self.trouble = error
            raise

    async def _answer(self, question: Any) -> ElicitResult | ErrorData:
        answer = self.answers.pop(0) if self.answers else DECLINE
        if callable(answer):
            first: Callable[[], Awaitable[Any]] = answer
            answer = await first()
        if answer == NEVER:
            await asyncio.Event().wait()
        if answer == BROKEN:
            return ErrorData(code=-32603, message="the form cannot be shown")
        if answer in (DECLINE, CANCEL):
            return ElicitResult(action=answer)
        content = answer if isinstance(answer, dict) else choose(question.requested_schema, answer)
        return ElicitResult(action="accept", content=content)
