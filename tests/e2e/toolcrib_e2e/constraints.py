"""What providers refuse in a tool list, as the documentation and issue threads of the providers tell it (collected in the
reference on standards, sections 4.1 to 4.6 and the table of 4.9). Written from that text alone: it shares nothing with
the renderer, so that a mistake there is found here.

`problems(target, payload)` says what the target would refuse, or drop without a word, in the `tools` of a request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

CLAUDE = ("anthropic", "bedrock")
OPENAI = ("openai-chat", "openai-responses", "deepseek", "xai", "groq", "mistral")
GEMINI = ("gemini", "gemini-parameters")

# 4.1: most tools in one request.
MOST_TOOLS = {"openai-chat": 128, "openai-responses": 128, "deepseek": 128, "groq": 128, "xai": 200, "gemini": 512, "gemini-parameters": 512}
PLAIN_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
GEMINI_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
PLAIN_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
# 4.4: "OpenAPI-3.0 subset … Unknown fields are errors."
GEMINI_FIELDS = {
    "type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties",
    "required", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "example",
    "anyOf", "propertyOrdering", "default",
}
# 4.6: "only type (string or array), anyOf, items, description, enum, properties, required survive".
OLLAMA_FIELDS = {"type", "anyOf", "items", "description", "enum", "properties", "required"}
STRICT_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
LOOKAROUND = re.compile(r"\(\?<?[=!]|\\[1-9]|\\b")
SCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
ONE_SCHEMA = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties",
    "unevaluatedItems",
)


def declarations(target: str, tools: list[dict[str, Any]]) -> Iterator[tuple[str, str | None, Any, dict[str, Any]]]:
    """Name, description, schema and the whole entry of every tool of ours in a payload."""
    for tool in tools:
        if target in GEMINI:
            for entry in tool.get("functionDeclarations", []):
                key = "parametersJsonSchema" if target == "gemini" else "parameters"
                # A function without arguments may leave them out.
                yield entry["name"], entry.get("description"), entry.get(key, {"type": "object", "properties": {}}), entry
        elif target == "bedrock":
            if "toolSpec" in tool:
                entry = tool["toolSpec"]
                yield entry["name"], entry.get("description"), entry["inputSchema"]["json"], entry
        elif target == "anthropic":
            if "input_schema" in tool:
                yield tool["name"], tool.get("description"), tool["input_schema"], tool
        elif target == "openai-responses":
            for entry in tool["tools"] if tool.get("type") == "namespace" else [tool]:
                if entry.get("type") == "function":
                    yield entry["name"], entry.get("description"), entry["parameters"], entry
        else:
            entry = tool["function"]
            yield entry["name"], entry.get("description"), entry["parameters"], entry


def problems(target: str, tools: list[dict[str, Any]]) -> list[str]:
    """Everything in a tool list that the target refuses or silently drops."""
    found: list[str] = []
    names: set[str] = set()
    count = 0
    for name, description, schema, entry in declarations(target, tools):
        # What is loaded by search is not in the request's own list.
        count += not entry.get("defer_loading")
        strict = entry.get("strict") is True
        bad = [f"{name}: {text}" for text in named(target, name, description)]
        if name in names:
            bad.append(f"{name}: a second tool of this name")
        names.add(name)
        rules = Rules(target, strict)
        bad += [f"{name}{text}" for text in rules.root(schema)]
        found += bad
    limit = MOST_TOOLS.get(target)
    if limit is not None and count > limit:
        found.append(f"{count} tools, at most {limit}")
    return found


def named(target: str, name: str, description: str | None) -> Iterator[str]:
    if target in GEMINI:
        if not GEMINI_NAME.fullmatch(name):
            yield "the name"
    elif target == "ollama":
        if not name:
            yield "the name"
    elif not PLAIN_NAME.fullmatch(name):
        yield "the name"
    if target == "bedrock" and not description:
        yield "an empty description"  # 4.1: min length 1
    if target in GEMINI and not description:
        yield "no description"
    if target == "openai-chat" and description is not None and len(description) > 1024:
        yield f"a description of {len(description)} characters"


class Rules:
    """The column of the table in 4.9 for one target."""

    def __init__(self, target: str, strict: bool) -> None:
        self.target = target
        self.strict = strict
        self.claude = target in CLAUDE
        self.openai = target in ("openai-chat", "openai-responses")
        self.gemini = target in GEMINI
        self.parameters = target == "gemini-parameters"
        self.ollama = target == "ollama"

    def root(self, schema: Any) -> Iterator[str]:
        if not isinstance(schema, dict):
            yield ": the schema is no object"
            return
        if schema.get("type") != "object":
            yield ": the root is not of type object"
        if not isinstance(schema.get("properties"), dict):
            yield ": the root has no properties"
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                yield f": {key} at the root"
        if self.openai or self.gemini:
            for key in ("enum", "not"):
                if key in schema:
                    yield f": {key} at the root"
        if "$schema" in json.dumps(list(keys_of(schema))):
            yield ": $schema"
        yield from self.node(schema, "", True)

    def node(self, schema: Any, at: str, root: bool) -> Iterator[str]:
        if isinstance(schema, bool):
            # Row "boolean sub-schema": fine for Claude only.
            if not self.claude or self.strict:
                yield f"{at}: a boolean for a schema"
            return
        if not isinstance(schema, dict):
            yield f"{at}: no schema"
            return
        yield from self.keywords(schema, at, root)
        for key in SCHEMA_MAPS:
            value = schema.get(key)
            if value is None:
                continue
            if not isinstance(value, dict):
                yield f"{at}/{key}: no object"
                continue
            for name, inner in value.items():
                yield from self.node(inner, f"{at}/{key}/{name}", False)
        for key in SCHEMA_LISTS:
            value = schema.get(key)
            if value is None:
                continue
            if not isinstance(value, list) or not value:
                yield f"{at}/{key}: no list of schemas"
                continue
            for index, inner in enumerate(value):
                yield from self.node(inner, f"{at}/{key}/{index}", False)
        for key in ONE_SCHEMA:
            inner = schema.get(key)
            closing = key in ("additionalProperties", "unevaluatedProperties", "unevaluatedItems")
            if inner is None or (closing and isinstance(inner, bool)):
                continue
            yield from self.node(inner, f"{at}/{key}", False)

    def keywords(self, schema: dict[str, Any], at: str, root: bool) -> Iterator[str]:
        target, strict = self.target, self.strict
        types = schema.get("type")
        listed = types if isinstance(types, list) else [] if types is None else [types]
        if types is not None and (not listed or any(word not in TYPES for word in listed)):
            yield f"{at}: type {types!r}"
        yield from self.references(schema, at)
        # Rows "array without items" and "object without properties".
        if not self.claude or strict:
            if "array" in listed and "items" not in schema:
                yield f"{at}: an array without items"
            if "object" in listed and "properties" not in schema:
                yield f"{at}: an object without properties"
        # Row "odd property key": at the root for Claude, anywhere for Gemini and strict modes.
        if isinstance(schema.get("properties"), dict) and not self.ollama and (root or not self.claude or strict):
            for key in schema["properties"]:
                if not PLAIN_KEY.fullmatch(key):
                    yield f"{at}: the key {key!r}"
        required = schema.get("required")
        if required is not None and (
            not isinstance(required, list) or len(set(required)) != len(required) or not all(isinstance(n, str) for n in required)
        ):
            yield f"{at}: required {required!r}"
        # Row "required names an undefined property".
        if (self.gemini or strict or self.ollama or target in ("mistral", "deepseek", "xai", "groq")) and isinstance(required, list):
            for name in required:
                if name not in schema.get("properties", {}):
                    yield f"{at}: requires {name!r}, which is not declared"
        enum = schema.get("enum")
        if enum is not None:
            if not isinstance(enum, list) or not enum:
                yield f"{at}: enum {enum!r}"
            elif self.gemini and not all(isinstance(value, str) for value in enum):
                yield f"{at}: an enum of other values than text"
        if self.parameters:
            yield from self.openapi(schema, at)
        if self.target == "gemini":
            # `?` and R of the column "Gemini JSON Schema": lower it anyway.
            for key in ("oneOf", "allOf", "not", "if", "patternProperties", "propertyNames", "const", "$schema"):
                if key in schema:
                    yield f"{at}: {key}"
            if any(isinstance(schema.get(key), (int, float)) for key in ("exclusiveMinimum", "exclusiveMaximum")):
                yield f"{at}: an exclusive bound"
        if self.ollama:
            for key in schema.keys() - OLLAMA_FIELDS:
                yield f"{at}: {key}, which is dropped without a word"
        if strict:
            yield from self.strictly(schema, at, listed)

    def references(self, schema: dict[str, Any], at: str) -> Iterator[str]:
        # Rows "local $ref", "recursion", "remote $ref": accepted by some, refused by enough.
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            if key in schema:
                yield f"{at}: {key}"
        for key in ("$schema", "$id", "id" if "type" not in schema and isinstance(schema.get("id"), str) else "$id"):
            if key in schema:
                yield f"{at}: {key}"

    def openapi(self, schema: dict[str, Any], at: str) -> Iterator[str]:
        for key in schema.keys() - GEMINI_FIELDS:
            yield f"{at}: the unknown field {key}"
        types = schema.get("type")
        if isinstance(types, list) or types == "null":
            yield f"{at}: type {types!r}"
        if types is None and "anyOf" not in schema:
            yield f"{at}: no type"
        if "enum" in schema and types != "string":
            yield f"{at}: an enum of type {types!r}"
        if types == "string" and schema.get("format") not in (None, "date-time", "enum"):
            yield f"{at}: the format {schema['format']!r} for text"

    def strictly(self, schema: dict[str, Any], at: str, types: list[str]) -> Iterator[str]:
        # 4.6: those of the shape of OpenAI have modes of its kind; DeepSeek's takes fewer formats and no lengths.
        openai, deepseek = not self.claude, self.target == "deepseek"
        if "object" in types:
            if schema.get("additionalProperties") is not False:
                yield f"{at}: an object that is not closed"
            if openai and set(schema.get("required", [])) != set(schema.get("properties", {})):
                yield f"{at}: a property that is not required"
        if not types and not any(key in schema for key in ("anyOf", "enum", "const")):
            yield f"{at}: no type"
        refused = {"oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties", "propertyNames"}
        if openai:
            refused |= {"allOf"} | (set() if deepseek else {"default"})
        if deepseek:
            refused |= {"minLength", "maxLength"}
        if self.claude:
            refused |= {
                "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
                "maxItems", "uniqueItems", "contains",
            }
            if schema.get("minItems", 0) not in (0, 1):
                yield f"{at}: minItems {schema['minItems']}"
        for key in schema.keys() & refused:
            yield f"{at}: {key} in a strict tool"
        allowed = STRICT_FORMATS if self.claude else STRICT_FORMATS - {"uri"}
        if deepseek:
            allowed = {"email", "hostname", "ipv4", "ipv6", "uuid"}
        if "format" in schema and schema["format"] not in allowed:
            yield f"{at}: the format {schema['format']!r} in a strict tool"
        if LOOKAROUND.search(schema.get("pattern", "")):
            yield f"{at}: the pattern {schema['pattern']!r} in a strict tool"


def keys_of(schema: Any) -> Iterator[str]:
    """The keywords of a schema and of those in it, not the names of properties."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            yield key
            if key in SCHEMA_MAPS and isinstance(value, dict):
                for inner in value.values():
                    yield from keys_of(inner)
            elif key in SCHEMA_LISTS and isinstance(value, list):
                for inner in value:
                    yield from keys_of(inner)
            elif key in ONE_SCHEMA:
                yield from keys_of(value)


def strict_budget(target: str, tools: list[dict[str, Any]]) -> list[str]:
    """4.2: limits of Anthropic's strict mode for all strict tools of a request; 4.3: OpenAI's for each tool."""
    found = []
    strict = [(name, schema) for name, _, schema, entry in declarations(target, tools) if entry.get("strict") is True]
    if target in CLAUDE:
        optional = sum(optional_of(schema) for _, schema in strict)
        unions = sum(unions_of(schema) for _, schema in strict)
        for what, count, limit in (("strict tools", len(strict), 20), ("optional parameters", optional, 24), ("unions", unions, 16)):
            if count > limit:
                found.append(f"{count} {what}, at most {limit}")
    return found


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", []), schema.get("items")]
        for one in inner:
            yield from nodes(one)


def optional_of(schema: Any) -> int:
    return sum(len(set(node.get("properties", {})) - set(node.get("required", []))) for node in nodes(schema))


def unions_of(schema: Any) -> int:
    return sum(isinstance(node.get("type"), list) or "anyOf" in node for node in nodes(schema))
