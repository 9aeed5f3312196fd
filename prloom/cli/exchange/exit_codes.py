"""How a conversation or a message ended, as an exit code and as a word for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prloom.cli.terminal import Role

CODES: Mapping[str, int] = {"success": 0, "failure": 3, "timed_out": 4, "pending": 5, "dead": 6, "cancelled": 7}
"""The exit code of each outcome of a conversation."""

ROLES: Mapping[str, Role] = {
    "success": "good",
    "completed": "good",
    "pending": "warn",
    "cancelled": "warn",
    "handed_back": "warn",
    "retrying": "warn",
    "failure": "bad",
    "failed": "bad",
    "timed_out": "bad",
    "dead": "bad",
    "lost": "bad",
}

_BY_STATUS: Mapping[str, str] = {"completed": "success", "failed": "failure"}


def of_status(status: str) -> str:
    """Return the outcome that the status of a reply, or of a worker's last message, means."""
    return _BY_STATUS.get(status, status)
