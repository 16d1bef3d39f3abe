"""The teacher as an HTTP endpoint of embeddings, on this machine only: what `toolcrib eval --encoder` measures a sentence
encoder with.

    python serve_teacher.py          prints the address, and serves until its input ends

Vectors are those of teacher.py, of 384 numbers. It is as slow as numpy is, so a batch of 64 texts takes a second or two.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from teacher import Teacher

TEACHER = Teacher()
TURN = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with TURN:
            vectors = TEACHER.encode(request["input"])
        data = [{"index": i, "embedding": [round(float(n), 6) for n in vector]} for i, vector in enumerate(vectors)]
        body = json.dumps({"object": "list", "model": "all-MiniLM-L6-v2", "data": data}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}/v1/embeddings", flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
