"""What schemathesis cannot make up by itself: names of tools that there are. Half of the good calls get one, so that the call
path is tested and not only the door.
"""

from __future__ import annotations

from typing import Any

import schemathesis

TOOLS = ("read_file", "list_directory", "search_text", "find_files", "current_time", "write_file", "tool_search", "tool_call")
ARGUMENTS: tuple[Any, ...] = (
    {"path": "notes.txt"}, {"path": "."}, {"path": ".", "pattern": "milk"}, {"name": "read_file", "arguments": {"path": "notes.txt"}},
)  # fmt: skip


def _real(call: Any, turn: int) -> None:
    if isinstance(call, dict) and isinstance(call.get("name"), str):
        # How long a tool takes is not what is tested here.
        call.pop("timeout_ms", None)
        if turn % 2:
            call["name"] = TOOLS[turn // 2 % len(TOOLS)]
            if turn % 3:
                call["arguments"] = ARGUMENTS[turn // 3 % len(ARGUMENTS)]


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    good = case.meta is None or case.meta.generation.mode.is_positive
    if good and isinstance(case.body, dict) and case.operation.path in ("/v1/calls", "/v1/explain"):
        turn = len(repr(case.body))
        calls = case.body.get("calls")
        for place, call in enumerate(calls if isinstance(calls, list) else [case.body]):
            _real(call, turn + place)
    # Nor how long nothing comes.
    if good and isinstance(case.query, dict):
        case.query.pop("wait_ms", None)
    return case
