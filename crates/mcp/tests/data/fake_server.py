"""A scripted MCP server over stdio, for tests. Its first argument is a JSON object that says how to behave.

Keys (all optional):
  era          "legacy" (default), "modern", "both"
  probe        what a legacy server does with server/discover: "error" (default), "die", "hang", "deaf" (reads nothing more),
               "garbage" (a reply that is no message), "late" (answers like a legacy server after 300 ms)
  startup      "hang", "garbage" (one broken line, then nothing), "exit" (status 3 and a line on stderr),
               a number (milliseconds before anything is read)
  list         "pages", "repeat", "endless", "many", "error", "bad", "nolist", "notify", "slow", "huge", "giant"
  count        tools listed by "many" (default 2000)
  list_changed whether the capability is announced (default true)
  ignore_term, ignore_eof, silent_ping   booleans
  once         a file: the fault in "startup"/"probe"/"list" happens only while it does not exist; it is created then
Every tool is a behaviour; see call().
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time

S = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
ERA = S.get("era", "legacy")
OUT = threading.Lock()
STATE = {"cancelled": [], "calls": 0, "lists": 0, "extra": [], "replies": {}, "asked": [], "subscription": None, "methods": []}
MODERN = "2026-07-28"
INFO = {"name": "fake", "version": "1.0"}

if "once" in S:
    if os.path.exists(S["once"]):
        S = {k: v for k, v in S.items() if k not in ("startup", "probe", "list")}
    else:
        open(S["once"], "w").close()


def raw(text):
    if isinstance(text, str):
        text = text.encode()
    with OUT:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()


def send(message):
    raw(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def notify(method, params=None):
    if STATE["subscription"] is not None:
        params = {**(params or {}), "_meta": {"io.modelcontextprotocol/subscriptionId": STATE["subscription"]}}
    send({"method": method, "params": params or {}})


def text(value, **more):
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}], **more}


def typed(result):
    return {"resultType": "complete", **result} if modern() else result


def modern():
    return STATE.get("era") == "modern"


def tool(name, **more):
    return {"name": name, "description": "d", "inputSchema": {"type": "object"}, **more}


TOOLS = [
    "echo", "exit", "hang", "late", "twice", "ids", "cut", "giant", "junk", "stderr", "logs", "progress", "storm", "add", "pid",
    "env", "fork", "ask", "deaf", "raw", "seen", "fail", "input", "close_output", "previous",
]


def page(params):
    how = S.get("list")
    STATE["lists"] += 1
    tools = [tool(name) for name in TOOLS] + [tool(name) for name in STATE["extra"]]
    cursor = params.get("cursor")
    if how == "pages":
        at = int(cursor or 0)
        nxt = at + 5
        return {"tools": tools[at:nxt], **({"nextCursor": str(nxt)} if nxt < len(tools) else {})}
    if how == "repeat":
        return {"tools": [tool("a" if cursor is None else "b")], "nextCursor": "same"}
    if how == "endless":
        return {"tools": [], "nextCursor": str(int(cursor or 0) + 1)}
    if how == "many":
        return {"tools": [{"name": "t%d" % n, "inputSchema": {"type": "object"}} for n in range(S.get("count", 2000))]}
    if how == "bad":
        return {"tools": [tool("good"), {"name": "bad", "inputSchema": 5}, 7, tool("good", description="again"), {"inputSchema": {}}]}
    if how == "nolist":
        return {"items": []}
    if how == "giant":
        return {"tools": [tool("big", description="x" * 300000), tool("good")]}
    if how == "huge":
        return {"tools": [tool("big", description="x" * 3000000)]}
    if how == "notify":
        notify("notifications/tools/list_changed")
    if how == "slow":
        time.sleep(0.3)
    return {"tools": tools}


def call(ident, params):
    name = params.get("name")
    args = params.get("arguments") or {}
    meta = params.get("_meta") or {}
    STATE["calls"] += 1

    def done(result):
        send({"id": ident, "result": typed(result)})

    if name == "echo":
        done(text(args, isError=False, structuredContent=args, _meta={"seen": meta}))
    elif name == "exit":
        when = args.get("when", "before")
        if when == "after":
            done(text("bye"))
        elif when == "half":
            raw('{"jsonrpc":"2.0","id":%d,"res' % ident)
        if "signal" in args:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), args["signal"])
        os._exit(args.get("code", 1))
    elif name == "hang":
        pass
    elif name == "late":
        threading.Timer(args["ms"] / 1000, lambda: done(text("late"))).start()
    elif name == "twice":
        done(text("first"))
        done(text("second"))
    elif name == "ids":
        for wrong in ({"id": str(ident)}, {"id": float(ident) + 0.5}, {"id": ident + 100000}, {"id": -1}, {"id": True}, {}):
            send({**wrong, "result": typed(text("wrong"))})
        raw('{"jsonrpc":"2.0","id":%d.0,"result":{}}\n' % ident)
        done(text("right"))
    elif name == "cut":
        whole = json.dumps({"jsonrpc": "2.0", "id": ident, "result": typed(text("whole"))}) + "\n"
        raw(whole[: args["at"]])
        os._exit(0)
    elif name == "giant":
        first = args.get("first", "id")
        filler = b"x" * 65536
        raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"x":"' % ident if first == "id" else b'{"result":{"content":[],"x":"')
        for _ in range(args["bytes"] // 65536):
            raw(filler)
        raw('"}}\n' if first == "id" else '"},"jsonrpc":"2.0","id":%d}\n' % ident)
    elif name == "junk":
        raw(b"\xef\xbb\xbf\xff\xfe\x00\x80 partial utf-8 \xc3\n\r\n   \n\x1b[31mbanner\x1b[0m\r\n{\n[1,2\n{}\n[]\nnull\n{\"jsonrpc\":\"2.0\"}\n")
        raw("Server listening on port 3000\n" * args.get("lines", 1))
        whole = json.dumps({"jsonrpc": "2.0", "id": ident, "result": typed(text("clean"))})
        raw("\ufeff" + whole + "\r\n")
    elif name == "stderr":
        sys.stderr.buffer.write((b"noise " * 20 + b"\n") * (args["bytes"] // 121))
        sys.stderr.buffer.write(b"the end\n")
        sys.stderr.buffer.flush()
        done(text("ok"))
    elif name == "logs":
        for n in range(args["count"]):
            notify("notifications/message", {"level": "info", "data": n})
        done(text("ok"))
    elif name == "progress":
        token = meta.get("progressToken")
        for n in range(args["count"]):
            notify("notifications/progress", {"progressToken": token, "progress": n, "total": args["count"], "message": "m%d" % n})
        notify("notifications/progress", {"progressToken": 987654, "progress": 1})
        done(text({"token": token}))
        notify("notifications/progress", {"progressToken": token, "progress": 999})
    elif name == "storm":
        for _ in range(args["count"]):
            notify("notifications/tools/list_changed")
        done(text("ok"))
    elif name == "add":
        STATE["extra"].append(args["name"])
        notify("notifications/tools/list_changed")
        done(text("ok"))
    elif name == "pid":
        done(text({"pid": os.getpid(), "parent": os.getppid()}))
    elif name == "env":
        done(text(dict(os.environ)))
    elif name == "fork":
        # One grandchild in the group that ignores SIGTERM, one that left the group.
        stay = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import signal,time;signal.signal(15,signal.SIG_IGN);time.sleep(600)"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        left = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time;time.sleep(600)"], start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        done(text({"pids": [os.getpid(), stay.pid, left.pid]}))
    elif name == "ask":
        for n, method in enumerate(["ping", "roots/list", "sampling/createMessage", "elicitation/create"]):
            STATE["asked"].append("s%d" % n)
            send({"id": "s%d" % n, "method": method, "params": {}})
        STATE["asker"] = ident
    elif name == "deaf":
        done(text("ok"))
        time.sleep(600)
    elif name == "raw":
        raw(args["text"].replace("$ID", str(ident)))
    elif name == "seen":
        done(text({"cancelled": STATE["cancelled"], "calls": STATE["calls"], "lists": STATE["lists"], "methods": STATE["methods"]}))
    elif name == "fail":
        send({"id": ident, "error": {"code": -32000, "message": "it is broken", "data": {"why": [1]}}})
    elif name == "input":
        send({"id": ident, "result": {"resultType": "input_required", "requestState": "s", "inputRequests": {}}})
    elif name == "close_output":
        os.close(1)
        time.sleep(600)
    else:
        send({"id": ident, "error": {"code": -32602, "message": "Unknown tool: %s" % name}})


def discover(ident):
    if ERA != "legacy":
        STATE["era"] = "modern"
        send({"id": ident, "result": {
            "resultType": "complete", "supportedVersions": [MODERN], "ttlMs": 0, "cacheScope": "private",
            "capabilities": {"tools": {"listChanged": S.get("list_changed", True)}}, "instructions": "be nice",
            "_meta": {"io.modelcontextprotocol/serverInfo": INFO}}})
        return
    how = S.get("probe", "error")
    if how == "die":
        sys.stderr.write("unexpected message\n")
        sys.stderr.flush()
        os._exit(1)
    if how == "deaf":
        time.sleep(600)
    if how == "garbage":
        raw("what?\n")
    if how == "late":
        time.sleep(0.3)
    if how in ("error", "late"):
        send({"id": ident, "error": {"code": -32600, "message": "not initialized"}})


def handle(message):
    method, ident, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        if ident in STATE["asked"]:
            STATE["replies"][ident] = "ok" if "result" in message else message["error"]["code"]
            if len(STATE["replies"]) == len(STATE["asked"]):
                send({"id": STATE["asker"], "result": typed(text(STATE["replies"]))})
        return
    STATE["methods"].append(method)
    if method == "notifications/cancelled":
        STATE["cancelled"].append(params.get("requestId"))
    elif method == "server/discover":
        discover(ident)
    elif method == "initialize" and ERA != "modern":
        STATE["era"] = "legacy"
        send({"id": ident, "result": {
            "protocolVersion": S.get("version", params["protocolVersion"]),
            "capabilities": {"tools": {"listChanged": S.get("list_changed", True)}}, "serverInfo": INFO, "instructions": "be nice"}})
    elif ident is None:
        pass
    elif modern() and "io.modelcontextprotocol/protocolVersion" not in (params.get("_meta") or {}):
        send({"id": ident, "error": {"code": -32602, "message": "no version"}})
    elif method == "ping":
        if not S.get("silent_ping"):
            send({"id": ident, "result": {}})
    elif method == "tools/list":
        if S.get("list") == "error":
            send({"id": ident, "error": {"code": -32603, "message": "no list today"}})
        else:
            send({"id": ident, "result": typed(page(params))})
    elif method == "tools/call":
        call(ident, params)
    elif method == "subscriptions/listen" and modern():
        STATE["subscription"] = ident
        notify("notifications/subscriptions/acknowledged", {"notifications": params.get("notifications")})
    else:
        send({"id": ident, "error": {"code": -32601, "message": "Method not found"}})


def main():
    if S.get("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    startup = S.get("startup")
    if startup == "hang":
        time.sleep(600)
    elif startup == "garbage":
        raw('{"jsonrpc": oops\n')
        time.sleep(600)
    elif startup == "exit":
        sys.stderr.write("cannot start: API_KEY is hunter2-secret\n")
        sys.exit(3)
    elif startup is not None:
        time.sleep(startup / 1000)
    for line in sys.stdin.buffer:
        if line.strip():
            handle(json.loads(line))
    while S.get("ignore_eof"):
        time.sleep(1)


main()
