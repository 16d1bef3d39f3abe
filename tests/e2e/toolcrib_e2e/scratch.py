"""Everything a run changes: a folder of its own with the state that the servers work on, equal from one to the next."""

from __future__ import annotations

import base64
import http.server
import os
import shutil
import subprocess
import tempfile
import threading
import time
import uuid
from pathlib import Path

# A fixed time for files and commits, so that equal states have equal listings and hashes.
MOMENT = 1_750_000_000
DATE = f"{MOMENT} +0000"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)

GIT_ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.test",
    "GIT_AUTHOR_DATE": DATE,
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.test",
    "GIT_COMMITTER_DATE": DATE,
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "TZ": "UTC",
}


class Scratch:
    """One folder: `files` for the filesystem server, `repo` for git, `memory.jsonl`, a home folder, logs."""

    def __init__(self, label: str) -> None:
        # The real path: servers answer with links resolved, and the path must be recognised in their answers.
        self.root = Path(tempfile.mkdtemp(prefix=f"tc-e2e-{label}-")).resolve()
        # Marks every process started for this folder, so that leftovers can be found whatever they did to escape.
        self.mark = uuid.uuid4().hex
        self.files = self.root / "files"
        self.repo = self.root / "repo"
        self.memory = self.root / "memory.jsonl"
        self.home = self.root / "home"
        self.log = self.root / "stderr.log"
        self.home.mkdir()

    def with_state(self) -> Scratch:
        self._make_files()
        self._make_repo()
        return self

    def _make_files(self) -> None:
        inner = self.files / "inner"
        inner.mkdir(parents=True)
        (self.files / "poem.txt").write_text("".join(f"line {n}\n" for n in range(1, 41)), encoding="utf-8")
        (self.files / "grüße.txt").write_text("Grüße aus Köln, 東京 and 🦀\n", encoding="utf-8")
        (inner / "note.md").write_text("# Note\n\nA nested file.\n", encoding="utf-8")
        (self.files / "pixel.png").write_bytes(PIXEL)
        for path in [*self.files.rglob("*"), self.files]:
            path.chmod(0o755 if path.is_dir() else 0o644)
            os.utime(path, (MOMENT, MOMENT))

    def _make_repo(self) -> None:
        def git(*words: str) -> None:
            environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), **GIT_ENVIRONMENT}
            subprocess.run(
                ["git", "-C", str(self.repo), *words], check=True, env=environment, capture_output=True, timeout=30
            )

        self.repo.mkdir()
        git("init", "-q", "-b", "main")
        (self.repo / "a.txt").write_text("one\ntwo\nthree\n")
        git("add", ".")
        git("commit", "-q", "-m", "First")
        (self.repo / "b.txt").write_text("bee\n")
        git("add", ".")
        git("commit", "-q", "-m", "Second")
        (self.repo / "a.txt").write_text("one\n2\nthree\n")

    def environment(self) -> dict[str, str]:
        """For toolcrib and clients: nothing of the user's own, everything they keep goes into the home folder."""
        home = str(self.home)
        return {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "XDG_CONFIG_HOME": f"{home}/.config",
            "XDG_DATA_HOME": f"{home}/.local/share",
            "XDG_STATE_HOME": f"{home}/.local/state",
            "XDG_CACHE_HOME": f"{home}/.cache",
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            # Must never reach a server: the environment of children is an allow list.
            "E2E_PARENT_SECRET": "parent-only-0b9f",
            "E2E_GATEWAY_MARK": self.mark,
        }

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def log_tail(self, characters: int = 600) -> str:
        try:
            return self.log.read_text(errors="replace")[-characters:]
        except OSError:
            return ""


class Website:
    """Pages on loopback for the fetch server. The port is the kernel's choice."""

    PAGES = {
        "/robots.txt": ("text/plain", "User-agent: *\nAllow: /\n"),
        "/plain": ("text/plain; charset=utf-8", "Plain words, Grüße, 東京.\n" * 40),
        "/data.json": ("application/json", '{"answer": 42, "list": [1, 2, 3]}'),
        "/page": (
            "text/html; charset=utf-8",
            "<!doctype html><html><head><title>A page</title></head><body><h1>Heading</h1>"
            "<p>First paragraph with <a href='/plain'>a link</a>.</p><ul><li>one</li><li>two</li></ul></body></html>",
        ),
    }

    def __init__(self) -> None:
        pages = self.PAGES

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # noqa: N802 - the name is the library's
                if self.path == "/slow":
                    time.sleep(20)
                kind, text = pages.get(self.path, ("text/plain", "late\n"))
                body = text.encode()
                self.send_response(200 if self.path in pages or self.path == "/slow" else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
