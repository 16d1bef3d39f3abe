"""The official SDKs' own types and validators, applied to a request's `tools` and to the messages of a turn.

Where an SDK only has typed dictionaries, pydantic validates against them, and what comes out must equal what went in: a
key that the SDK does not know would be missing. Bedrock is checked against the service model in botocore.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Iterable
from typing import Any


class Refused(Exception):
    """An SDK does not take the value; the message is the SDK's own, shortened."""


def tools(target: str, payload: list[dict[str, Any]], servers: list[dict[str, Any]] | None = None) -> None:
    """Raises Refused if the SDK of the target does not take these tools."""
    _guarded(lambda: _TOOLS[target](payload, servers))


def messages(target: str, turn: list[dict[str, Any]]) -> None:
    """Raises Refused if the SDK of the target does not take these messages: a model's turn and the answers to it."""
    _guarded(lambda: _MESSAGES[target](turn))


def tool_config(config: dict[str, Any] | None) -> None:
    """Raises Refused if Gemini's SDK does not take what goes beside the tools."""

    def check() -> None:
        from google.genai import types

        types.ToolConfig.model_validate(config or {})

    _guarded(check)


def _guarded(check: Callable[[], None]) -> None:
    try:
        check()
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - every SDK has errors of its own
        raise Refused(f"{type(error).__name__}: {error}"[:600]) from error


@functools.cache
def _adapter(name: str) -> Any:
    from pydantic import TypeAdapter

    if name == "anthropic":
        from anthropic.types import ToolUnionParam as kind
    elif name == "anthropic-beta":
        from anthropic.types.beta import BetaToolUnionParam as kind
    elif name == "anthropic-server":
        from anthropic.types.beta import BetaRequestMCPServerURLDefinitionParam as kind
    elif name == "anthropic-message":
        from anthropic.types import MessageParam as kind
    elif name == "chat":
        from openai.types.chat import ChatCompletionFunctionToolParam as kind
    elif name == "chat-message":
        from openai.types.chat import ChatCompletionMessageParam as kind
    elif name == "responses":
        from openai.types.responses import ToolParam as kind
    elif name == "responses-item":
        from openai.types.responses import ResponseInputItemParam as kind
    else:
        raise KeyError(name)
    return TypeAdapter(kind)


def _plain(value: Any) -> Any:
    """Lazy iterables, as pydantic makes them of `Iterable[…]`, as lists. Walking them is what validates them."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, Iterable):
        return [_plain(inner) for inner in value]
    return value


def _typed(name: str, values: Iterable[Any]) -> None:
    for value in values:
        read = _plain(_adapter(name).validate_python(value))
        if read != value:
            raise Refused(f"{name}: the SDK does not know all of {_difference(value, read)}")


def _difference(given: Any, read: Any, at: str = "") -> str:
    if isinstance(given, dict) and isinstance(read, dict):
        for key in given:
            if key not in read:
                return f"{at}/{key}"
            if given[key] != read[key]:
                return _difference(given[key], read[key], f"{at}/{key}")
    if isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        for index, (one, other) in enumerate(zip(given, read, strict=True)):
            if one != other:
                return _difference(one, other, f"{at}/{index}")
    return f"{at} {str(given)[:120]}"


def _anthropic(payload: list[dict[str, Any]], servers: list[dict[str, Any]] | None) -> None:
    beta = [tool for tool in payload if tool.get("type") == "mcp_toolset"]
    _typed("anthropic", [tool for tool in payload if tool not in beta])
    _typed("anthropic-beta", beta)
    _typed("anthropic-server", servers or [])


def _chat(payload: list[dict[str, Any]], _: Any) -> None:
    _typed("chat", payload)


def _responses(payload: list[dict[str, Any]], _: Any) -> None:
    _typed("responses", payload)


def _gemini(payload: list[dict[str, Any]], _: Any) -> None:
    from google.genai import types

    # The models of this SDK forbid what they do not know.
    types.GenerateContentConfig(tools=payload)
    for tool in payload:
        types.Tool.model_validate(tool)


@functools.cache
def _bedrock_model() -> Any:
    import botocore.loaders
    import botocore.model

    data = botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    return botocore.model.ServiceModel(data, "bedrock-runtime").operation_model("Converse").input_shape


def _converse(request: dict[str, Any]) -> None:
    from botocore.validate import ParamValidator

    report = ParamValidator().validate({"modelId": "m", **request}, _bedrock_model())
    if report.has_errors():
        raise Refused(report.generate_report()[:600])


def _bedrock(payload: list[dict[str, Any]], _: Any) -> None:
    # The service refuses an empty list, and so does nobody who leaves it out.
    if payload:
        _converse({"toolConfig": {"tools": payload}})


def _mistral(payload: list[dict[str, Any]], _: Any) -> None:
    from mistralai.client import models

    for tool in payload:
        read = models.Tool.model_validate(tool).model_dump(exclude_none=True)
        # The SDK fills in its own default.
        read["function"].setdefault("strict", False)
        given = {**tool, "function": {"strict": False, **tool["function"]}}
        if read != given:
            raise Refused(f"mistral: {_difference(given, read)}")


def _ollama(payload: list[dict[str, Any]], _: Any) -> None:
    from ollama import Tool

    for tool in payload:
        read = Tool.model_validate(tool).model_dump(exclude_none=True)
        # The SDK's own model of a property is smaller than what the server reads (it has no anyOf and no nesting), so
        # only what it knows is compared.
        given = {**tool, "function": dict(tool["function"])}
        for one, other in ((given, read), (given["function"], read["function"])):
            for key in ("type", "name", "description"):
                if one.get(key) != other.get(key):
                    raise Refused(f"ollama: {key} is read as {other.get(key)!r}")
        if list(given["function"]["parameters"]["properties"]) != list(read["function"]["parameters"]["properties"] or {}):
            raise Refused("ollama: other properties")


_TOOLS: dict[str, Callable[[list[dict[str, Any]], Any], None]] = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
    "gemini-parameters": _gemini,
    "bedrock": _bedrock,
    "mistral": _mistral,
    "ollama": _ollama,
    # These take OpenAI's SDK.
    "deepseek": _chat,
    "xai": _chat,
    "groq": _chat,
}


def _gemini_messages(turn: list[dict[str, Any]]) -> None:
    from google.genai import types

    for content in turn:
        types.Content.model_validate(content)


def _bedrock_messages(turn: list[dict[str, Any]]) -> None:
    def with_bytes(value: Any) -> Any:
        # The SDK takes bytes, which it sends in base 64.
        if isinstance(value, dict):
            return {
                key: base64.b64decode(inner) if key == "bytes" and isinstance(inner, str) else with_bytes(inner)
                for key, inner in value.items()
            }
        return [with_bytes(inner) for inner in value] if isinstance(value, list) else value

    _converse({"messages": with_bytes(turn)})


def _mistral_messages(turn: list[dict[str, Any]]) -> None:
    from mistralai.client import models

    for message in turn:
        kind = models.ToolMessage if message["role"] == "tool" else models.AssistantMessage
        read = kind.model_validate(message)
        for call in getattr(read, "tool_calls", None) or []:
            if not (call.id and len(call.id) == 9 and call.id.isalnum()):
                raise Refused(f"mistral: the id {call.id!r}")


def _ollama_messages(turn: list[dict[str, Any]]) -> None:
    from ollama import Message

    for message in turn:
        # The SDK keeps an image in a model of its own, which it writes as the text in base 64 that the server reads.
        given = {**message, "images": [{"value": image} for image in message["images"]]} if "images" in message else message
        read = Message.model_validate(given).model_dump(exclude_none=True)
        if read != message:
            raise Refused(f"ollama: {_difference(message, read)}")


def _chat_messages(turn: list[dict[str, Any]]) -> None:
    _typed("chat-message", turn)


_MESSAGES: dict[str, Callable[[list[dict[str, Any]]], None]] = {
    "anthropic": lambda turn: _typed("anthropic-message", turn),
    "openai-chat": _chat_messages,
    "openai-responses": lambda turn: _typed("responses-item", turn),
    "gemini": _gemini_messages,
    "gemini-parameters": _gemini_messages,
    "bedrock": _bedrock_messages,
    "mistral": _mistral_messages,
    "ollama": _ollama_messages,
    "deepseek": _chat_messages,
    "xai": _chat_messages,
    "groq": _chat_messages,
}
