"""A model that is a script: speaks Anthropic's Messages and OpenAI's Chat Completions, and is as strict about what it is sent as
they are, where that matters for tools.

Asked anything, it first looks for a tool where it has `tool_search`, then reads two files at once, one of which there is not, and
then says what it got. The list of tools may only grow at its end from request to request; anything else would cost the prompt cache.
"""

from __future__ import annotations

import http.server
import json
import threading
from typing import Any

CALLS = (
    [("tool_search", {"queries": ["read a file"]})],
    [("read_file", {"path": "notes.txt"}), ("read_file", {"path": "nothing.txt"})],
)


class Refused(Exception):
    """What a provider answers with 400."""


def _need(condition: object, why: str) -> None:
    if not condition:
        raise Refused(why)


def _steps(names: set[str], turn: int) -> list[list[tuple[str, dict[str, Any]]]]:
    """What it calls, turn by turn; what it calls now must be there."""
    steps = [step for step in CALLS if step[0][0] != "tool_search" or "tool_search" in names]
    for name, _ in steps[turn] if turn < len(steps) else []:
        _need(name in names, f"{name} is not among the tools: {sorted(names)}")
    return steps


def _turn(messages: list[Any]) -> int:
    return sum(1 for message in messages if message["role"] == "assistant")


def anthropic(request: dict[str, Any]) -> dict[str, Any]:
    """`POST /v1/messages`"""
    messages = request["messages"]
    for tool in request["tools"]:
        _need(tool.keys() <= {"name", "description", "input_schema", "type", "cache_control", "defer_loading"}, f"{tool}")
        _need(tool["input_schema"]["type"] == "object", f"{tool['name']} takes no object")
    names = {tool["name"] for tool in request["tools"]}
    results: dict[str, Any] = {}
    for before, message in zip(messages, messages[1:], strict=False):
        _need(before["role"] != message["role"], "two messages of one role follow each other")
        if message["role"] == "user":
            asked = [block["id"] for block in before["content"] if block["type"] == "tool_use"]
            told = [block["tool_use_id"] for block in message["content"]]
            _need(asked == told, f"asked {asked}, told {told}")
            results.update((block["tool_use_id"], block) for block in message["content"])
    turn = _turn(messages)
    steps = _steps(names, turn)
    if turn < len(steps):
        content: list[dict[str, Any]] = [{"type": "text", "text": "Let me see."}]
        for place, (name, arguments) in enumerate(steps[turn]):
            content.append({"type": "tool_use", "id": f"toolu_{turn}{place}", "name": name, "input": arguments})
        reason = "tool_use"
    else:
        good, bad = results[f"toolu_{turn - 1}0"], results[f"toolu_{turn - 1}1"]
        _need(bad.get("is_error") is True and not good.get("is_error"), f"{good} {bad}")
        content = [{"type": "text", "text": f"It says: {_text(good['content'])}"}]
        reason = "end_turn"
    return {
        "id": f"msg_{turn}", "type": "message", "role": "assistant", "model": request["model"], "content": content,
        "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def openai(request: dict[str, Any]) -> dict[str, Any]:
    """`POST /v1/chat/completions`"""
    messages = request["messages"]
    for tool in request["tools"]:
        _need(tool["type"] == "function" and tool["function"]["parameters"]["type"] == "object", f"{tool}")
    names = {tool["function"]["name"] for tool in request["tools"]}
    open_calls: list[str] = []
    results: dict[str, str] = {}
    for message in messages:
        if message["role"] == "tool":
            _need(message["tool_call_id"] in open_calls, f"nobody asked for {message['tool_call_id']}")
            open_calls.remove(message["tool_call_id"])
            results[message["tool_call_id"]] = _text(message["content"])
        else:
            _need(not open_calls, f"no answer to {open_calls}")
            open_calls = [call["id"] for call in message.get("tool_calls") or []]
    _need(not open_calls, f"no answer to {open_calls}")
    turn = _turn(messages)
    steps = _steps(names, turn)
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if turn < len(steps):
        message["tool_calls"] = [
            {"id": f"call_{turn}{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for place, (name, arguments) in enumerate(steps[turn])
        ]
        reason = "tool_calls"
    else:
        _need("nothing.txt" in results[f"call_{turn - 1}1"], f"{results}")
        message["content"] = f"It says: {results[f'call_{turn - 1}0']}"
        reason = "stop"
    return {
        "id": f"chatcmpl-{turn}", "object": "chat.completion", "created": 1, "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip


class Model:
    """Serves both on a port of the kernel's choice until closed. `refused` is what it had to refuse."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.requests = 0
        # The names of the tools, request by request.
        self.shown: list[list[str]] = []
        self._tools: list[Any] = []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # noqa: N802 - the base class names it
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.requests += 1
                try:
                    model._grown(request["tools"])
                    answer, status = (anthropic if self.path.endswith("/messages") else openai)(request), 200
                except (Refused, KeyError, TypeError) as error:
                    model.refused.append(f"{type(error).__name__}: {error}")
                    answer, status = {"type": "error", "error": {"type": "invalid_request_error", "message": str(error)}}, 400
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _grown(self, tools: list[Any]) -> None:
        self.shown.append([tool["name"] if "name" in tool else tool["function"]["name"] for tool in tools])
        _need(tools[: len(self._tools)] == self._tools, f"the tools changed: {self.shown[-2:]}")
        self._tools = tools

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
