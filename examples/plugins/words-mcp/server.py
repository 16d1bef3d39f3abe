#!/usr/bin/env python3
"""An MCP server with nothing but the standard library, run as a plugin. Its configuration comes as JSON in a variable."""

import json
import os
import sys

CONFIG = json.loads(os.environ.get("TOOLCRIB_PLUGIN_CONFIG", "{}"))
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
TOOLS = [
    {"name": "count_words", "description": "Count the words of a text", "inputSchema": TEXT},
    {"name": "sort_words", "description": "Sort the words of a text", "inputSchema": TEXT},
]


def call(name, arguments):
    words = arguments["text"].split()
    if name == "count_words":
        return f"{len(words)} words"
    return " ".join(sorted(words, key=str.lower, reverse=CONFIG.get("reverse", False)))


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "words", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params["name"], params.get("arguments", {}))}]}
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    result = answer(message["method"], message.get("params", {}))
    if result is None:
        reply["error"] = {"code": -32601, "message": f"no method {message['method']}"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
