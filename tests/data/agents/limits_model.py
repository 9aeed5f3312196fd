"""A model server whose allowance is used up for two hours: `python limits_model.py` prints its address on the first line."""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class UsedUp(BaseHTTPRequestHandler):
    """Answers every call as the vendors' servers do when a plan's allowance is used up."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        resets_at = int(time.time()) + 7200
        error = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus"}
        body = json.dumps({"error": error | {"resets_at": resets_at, "resets_in_seconds": 7200}}).encode()
        self.send_response(429)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("retry-after", "7200")
        self.send_header("anthropic-ratelimit-unified-status", "rejected")
        self.send_header("anthropic-ratelimit-unified-reset", str(resets_at))
        self.send_header("anthropic-ratelimit-unified-representative-claim", "five_hour")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), UsedUp)
    sys.stdout.write(f"LISTENING http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
