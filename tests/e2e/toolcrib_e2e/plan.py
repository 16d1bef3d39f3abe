"""The calls that are made directly and through the gateway, every tool at least once.

Within a server the order matters: later calls see what earlier ones changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .scratch import Scratch


@dataclass(frozen=True)
class Call:
    server: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    # Kinds of text in the result that differ from one run to the next (see equality.py).
    volatile: tuple[str, ...] = ()
    # Says which of several calls of one tool this is.
    note: str = ""
    # Made by every client although the tool was called before: later calls depend on it, or it shows what the first
    # call does not. The Inspector, which is a process for each call, leaves out the other repetitions.
    essential: bool = False

    @property
    def label(self) -> str:
        return f"{self.server}/{self.tool}" + (f" ({self.note})" if self.note else "")


def calls(scratch: Scratch, website: str) -> list[Call]:
    return [
        *_everything(),
        *_filesystem(str(scratch.files)),
        *_memory(),
        *_sequential_thinking(),
        *_git(str(scratch.repo)),
        *_time(),
        *_fetch(website),
    ]


def without_repetitions(planned: list[Call]) -> list[Call]:
    """Every tool once, and the essential calls."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for call in planned:
        if call.essential or (call.server, call.tool) not in seen:
            kept.append(call)
        seen.add((call.server, call.tool))
    return kept


def _everything() -> list[Call]:
    s = "everything"
    return [
        Call(s, "echo", {"message": "Grüße, 東京 🦀 \"quoted\" \\ end"}),
        Call(s, "echo", {"message": "separators \u2028 \u2029 \x85 and \x00"}, note="separators"),
        Call(s, "get-annotated-message", {"messageType": "error", "includeImage": True}),
        Call(s, "get-annotated-message", {"messageType": "debug"}, note="no image"),
        Call(s, "get-env", {}, volatile=("environment",)),
        Call(s, "get-resource-links", {"count": 3}),
        Call(s, "get-resource-reference", {"resourceType": "Text", "resourceId": 1}, volatile=("clock",)),
        Call(s, "get-resource-reference", {"resourceType": "Blob", "resourceId": 2}, ("clock", "blob"), "blob"),
        Call(s, "get-structured-content", {"location": "Chicago"}),
        Call(s, "get-sum", {"a": 2.5, "b": -40}),
        Call(s, "get-tiny-image", {}),
        Call(s, "gzip-file-as-resource", {"name": "x.gz", "data": "data:text/plain,hello", "outputType": "resource"}),
        Call(s, "gzip-file-as-resource", {"name": "y.gz", "data": "data:text/plain,hello"}, note="link"),
        Call(s, "toggle-simulated-logging", {}),
        Call(s, "toggle-simulated-logging", {}, note="off again"),
        Call(s, "toggle-subscriber-updates", {}),
        Call(s, "toggle-subscriber-updates", {}, note="off again"),
        Call(s, "trigger-long-running-operation", {"duration": 0.4, "steps": 2}),
        Call(s, "simulate-research-query", {"topic": "cranes"}, note="fails: needs a task"),
    ]


def _filesystem(root: str) -> list[Call]:
    s = "filesystem"
    edit = {"path": f"{root}/new/made.txt", "edits": [{"oldText": "second", "newText": "2nd"}]}
    return [
        Call(s, "list_allowed_directories", {}),
        Call(s, "list_directory", {"path": root}),
        Call(s, "list_directory_with_sizes", {"path": root, "sortBy": "size"}),
        Call(s, "directory_tree", {"path": root}),
        Call(s, "search_files", {"path": root, "pattern": "**/*.md"}),
        Call(s, "get_file_info", {"path": f"{root}/poem.txt"}, volatile=("clock",)),
        Call(s, "read_file", {"path": f"{root}/poem.txt", "head": 3}),
        Call(s, "read_text_file", {"path": f"{root}/grüße.txt"}),
        Call(s, "read_text_file", {"path": f"{root}/poem.txt", "tail": 2}, note="tail"),
        Call(s, "read_media_file", {"path": f"{root}/pixel.png"}),
        Call(s, "read_multiple_files", {"paths": [f"{root}/inner/note.md", f"{root}/absent.txt"]}),
        Call(s, "create_directory", {"path": f"{root}/new"}),
        Call(s, "write_file", {"path": f"{root}/new/made.txt", "content": "first\nsecond\n"}),
        Call(s, "edit_file", {**edit, "dryRun": True}, note="dry run"),
        Call(s, "edit_file", edit, essential=True),
        Call(s, "move_file", {"source": f"{root}/new/made.txt", "destination": f"{root}/new/moved.txt"}),
        Call(s, "read_text_file", {"path": f"{root}/new/moved.txt"}, note="moved"),
        Call(s, "read_text_file", {"path": f"{root}/absent.txt"}, note="fails: absent", essential=True),
        Call(s, "read_text_file", {"path": "/etc/hostname"}, note="fails: outside"),
    ]


def _memory() -> list[Call]:
    s = "memory"
    ada = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    engine = {"name": "Engine", "entityType": "machine", "observations": []}
    relation = {"from": "Ada", "to": "Engine", "relationType": "programs"}
    return [
        Call(s, "read_graph", {}, note="empty"),
        Call(s, "create_entities", {"entities": [ada, engine]}),
        Call(s, "create_relations", {"relations": [relation]}),
        Call(s, "add_observations", {"observations": [{"entityName": "Engine", "contents": ["brass", "steam"]}]}),
        Call(s, "read_graph", {}, essential=True),
        Call(s, "search_nodes", {"query": "steam"}),
        Call(s, "open_nodes", {"names": ["Ada", "Nobody"]}),
        Call(s, "delete_observations", {"deletions": [{"entityName": "Engine", "observations": ["steam"]}]}),
        Call(s, "delete_relations", {"relations": [relation]}),
        Call(s, "delete_entities", {"entityNames": ["Ada"]}),
        Call(s, "read_graph", {}, note="after deletions"),
    ]


def _sequential_thinking() -> list[Call]:
    thought = {"thought": "One", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}
    last = {"thought": "Two", "nextThoughtNeeded": False, "thoughtNumber": 2, "totalThoughts": 2}
    s = "sequential-thinking"
    return [Call(s, "sequentialthinking", thought), Call(s, "sequentialthinking", last, note="last")]


def _git(repo: str) -> list[Call]:
    s = "git"
    at = {"repo_path": repo}
    return [
        Call(s, "git_status", at),
        Call(s, "git_diff_unstaged", at),
        Call(s, "git_add", {**at, "files": ["a.txt"]}),
        Call(s, "git_diff_staged", {**at, "context_lines": 1}),
        Call(s, "git_reset", at),
        Call(s, "git_add", {**at, "files": ["."]}, note="again", essential=True),
        Call(s, "git_commit", {**at, "message": "Third"}),
        Call(s, "git_log", {**at, "max_count": 2}),
        Call(s, "git_show", {**at, "revision": "HEAD"}),
        Call(s, "git_diff", {**at, "target": "HEAD~1"}),
        Call(s, "git_create_branch", {**at, "branch_name": "side", "base_branch": "main"}),
        Call(s, "git_branch", {**at, "branch_type": "local"}),
        Call(s, "git_checkout", {**at, "branch_name": "side"}),
        Call(s, "git_checkout", {**at, "branch_name": "nowhere"}, note="fails: no such branch"),
    ]


def _time() -> list[Call]:
    s = "time"
    convert = {"source_timezone": "Etc/UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}
    return [
        Call(s, "get_current_time", {"timezone": "Asia/Tokyo"}, volatile=("clock",)),
        Call(s, "convert_time", convert, volatile=("date",)),
        Call(s, "get_current_time", {"timezone": "Moon/Base"}, note="fails: no such zone"),
    ]


def _fetch(website: str) -> list[Call]:
    s = "fetch"
    return [
        Call(s, "fetch", {"url": f"{website}/page"}, note="page"),
        Call(s, "fetch", {"url": f"{website}/page", "raw": True}, note="raw"),
        Call(s, "fetch", {"url": f"{website}/plain", "max_length": 100, "start_index": 50}, note="part"),
        Call(s, "fetch", {"url": f"{website}/data.json"}, note="json"),
        Call(s, "fetch", {"url": f"{website}/absent"}, note="fails: 404"),
    ]
