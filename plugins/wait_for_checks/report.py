"""Read what an event says of the checks: `context.checks`, as far as it follows the convention."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from prloom.api import Event, Json, iso, moment

REPORT = "checks_changed"
"""The type of events that report the state of the checks, and nothing else."""

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHOWN = 12  # digits of a commit
_MOST = 10_000  # checks; more is a mistake


@dataclass(frozen=True)
class Report:
    """How many checks run, of which commit, when the source looked, and when prloom received the report."""

    running: int
    commit: str = ""
    at: str = ""
    heard: str = ""

    def __str__(self) -> str:
        """Return it as a reason for people."""
        text = f"{self.running} checks are running"
        if self.running == 1:
            text = "1 check is running"
        if self.commit:
            text += f" on {self.commit[:_SHOWN]}"
        return text


def read(event: Event) -> Report | None:
    """Return what the event says, or None where it says nothing that can be understood."""
    checks = event.context.get("checks")
    running = None
    if isinstance(checks, Mapping):
        running = checks.get("running")
    if not isinstance(running, int) or isinstance(running, bool) or not 0 <= running <= _MOST:
        return None
    return Report(running, _commit(checks), _at(checks))


def _commit(checks: Json) -> str:
    commit = checks.get("commit")
    if isinstance(commit, str) and _COMMIT.fullmatch(commit):
        return commit
    return ""


def _at(checks: Json) -> str:
    at = checks.get("at")
    if not isinstance(at, str):
        return ""
    try:
        return iso(moment(at))
    except (ValueError, OverflowError):
        return ""
