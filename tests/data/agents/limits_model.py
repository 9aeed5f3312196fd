"""A model server whose allowance is used up: `python limits_model.py` prints its address on the first line.

The first part of the path says how it says so: `/plan` (or nothing) as the vendors' servers do for a subscription, with
a reset in two hours; `/long` as a plain 429 with a `retry-after` of two hours; `/daily` as Google does for a daily quota;
`/words` in the error's message alone.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOOGLE = "type.googleapis.com/google.rpc."


def plan() -> tuple[dict, dict]:
    resets_at = int(time.time()) + 7200
    error = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus"}
    headers = {
        "retry-after": "7200",
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(resets_at),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    return {"error": error | {"resets_at": resets_at, "resets_in_seconds": 7200}}, headers


def long() -> tuple[dict, dict]:
    error = {"type": "rate_limit_error", "message": "Too many requests", "code": "rate_limit_error"}
    return {"type": "error", "error": error}, {"retry-after": "7200"}


def daily() -> tuple[dict, dict]:
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
        "quotaValue": "50",
    }
    details = [
        {"@type": f"{GOOGLE}QuotaFailure", "violations": [violation]},
        {"@type": f"{GOOGLE}RetryInfo", "retryDelay": "7200s"},
    ]
    message = "You exceeded your current quota, please check your plan and billing details."
    return {"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}}, {}


def words() -> tuple[dict, dict]:
    at = time.strftime("%I:%M%p", time.gmtime(time.time() + 7200)).lstrip("0").lower()
    message = f"usage limit reached, resets at {at} (UTC)"
    return {"type": "error", "error": {"type": "rate_limit_error", "message": message}}, {"retry-after": "7200"}


KINDS = {"plan": plan, "long": long, "daily": daily, "words": words}


class UsedUp(BaseHTTPRequestHandler):
    """Answers every call with a 429."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        told, headers = KINDS.get(self.path.split("/")[1], plan)()
        body = json.dumps(told).encode()
        self.send_response(429)
        for name, value in {"content-type": "application/json", "content-length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), UsedUp)
    sys.stdout.write(f"LISTENING http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
