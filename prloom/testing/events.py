"""Build events of the shapes that the real sources give; a test states only what matters to it."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from prloom.api import Author, Event, Json, Target, iso

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""When everything happens that says nothing else."""

PR = 7
PLAN = f"pr-{PR}"
"""The plan that events are for."""

_numbers = itertools.count(1)


def an_event(**fields: Any) -> Event:  # noqa: ANN401 - the fields of Event
    """Return an event by a trusted author; `fields` are those of `Event`, in Python's spelling.

    For convenience `author` may be a login, with write permission, and `created_at` an aware datetime.
    """
    usual = Event(
        id=f"event-{next(_numbers)}",
        source="github",
        type="pr_comment",
        body="please",
        reply_to=Target("github", {"pr": PR}),
        author=Author("ann", "write"),
        created_at=iso(NOW),
        pr=PR,
    )
    return replace(usual, **{name: _field(name, value) for name, value in fields.items()})


def a_comment(body: str = "please", **fields: Any) -> Event:  # noqa: ANN401 - likewise
    """Return a comment in the pull request's conversation."""
    return an_event(body=body, **fields)


def a_review(body: str = "", state: str = "commented", **fields: Any) -> Event:  # noqa: ANN401 - likewise
    """Return a review; `state` is approved, changes_requested, commented or dismissed."""
    return an_event(**{"type": "pr_review", "body": body, "context": {"state": state}, **fields})


def a_review_comment(
    body: str = "why?",
    *,
    file: str = "src/app.py",
    line: int | None = 3,
    **fields: Any,  # noqa: ANN401 - likewise
) -> Event:
    """Return a comment on a line of the diff; replies go into its thread."""
    context = {
        "thread": "PRRT_1",
        "file": file,
        "line": line,
        "side": "RIGHT",
        "diffHunk": "@@ -1,3 +1,4 @@\n import os\n+import sys\n \n def main():",
    }
    where = Target("github", {"pr": PR, "thread": "PRRT_1"})
    return an_event(**{"type": "pr_review_comment", "body": body, "context": context, "reply_to": where, **fields})


def a_request(
    body: str = "rename it",
    *,
    file: str | None = None,
    line: int | None = None,
    **fields: Any,  # noqa: ANN401 - likewise
) -> Event:
    """Return an item of the local review file; it has no author, which means the operator."""
    number = next(_numbers)
    given = {"plan": PLAN, "file": file, "line": line, "side": "RIGHT" if line else None}
    usual = {
        "id": f"local:{number}",
        "source": "local",
        "type": "review_feedback",
        "title": body.partition("\n")[0][:80],
        "body": body,
        "reply_to": Target("local", {"plan": PLAN, "item": str(number)}),
        "context": {key: value for key, value in given.items() if value is not None},
        "author": None,
        "pr": None,
    }
    return an_event(**{**usual, **fields})


def a_failed_check(check: str = "tests", log: str = "1 failed", **fields: Any) -> Event:  # noqa: ANN401 - likewise
    """Return a check that failed, with the end of its log as the body."""
    usual = {
        "type": "check_failed",
        "severity": "error",
        "title": f"{check} failed",
        "body": log,
        "context": {"check": check, "conclusion": "failure", "commit": "1a2b3c4d5e6f"},
        "author": None,
    }
    return an_event(**{**usual, **fields})


def a_checks_report(running: int, *, passed: int = 0, failed: int = 0, **fields: Any) -> Event:  # noqa: ANN401 - likewise
    """Return a `checks_changed` event: how many checks of the last commit run, passed and failed."""
    counts = {"running": running, "passed": passed, "failed": failed, "commit": "1a2b3c4d5e6f"}
    usual = {
        "type": "checks_changed",
        "title": f"{running} checks are running" if running else "no check is running",
        "body": "",
        "context": {"checks": counts},
        "author": None,
        "reply_to": None,
    }
    return an_event(**{**usual, **fields})


def _field(name: str, value: Json) -> Json:
    match name, value:
        case "author", str():
            return Author(value, "write")
        case "created_at", datetime():
            return iso(value)
        case _:
            return value
