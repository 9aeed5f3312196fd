"""Name the commit that an action was decided on: the pull request may have new ones when the action is sent."""

from __future__ import annotations

import re

from msgspec.structs import replace

from prloom.model.action import InlineComment, Merge, Payload, Review
from prloom.model.event import Event
from prloom.model.record import Json

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def pinned(payload: Payload, event: Event | None, head: str | None) -> Payload:
    """Return the payload with the commit that it is about; one that names a commit already stays as it is.

    `event` is the one that the action is because of, `head` the head of the pull request as it was known at the call.
    What somebody wrote asks for a merge of what they had before them. A review, or a comment on a line, is about the
    code as it is at the call.
    """
    match payload:
        case Merge(commit=None):
            return replace(payload, commit=_asked_about(event) or read(head))
        case Review(commit=None) | InlineComment(commit=None):
            return replace(payload, commit=read(head) or _asked_about(event))
        case _:
            return payload


def kept(payload: Payload, commit: str | None) -> Payload:
    """Return the payload with the commit that earlier attempts were about, where it names none itself."""
    return pinned(payload, None, commit)


def _asked_about(event: Event | None) -> str | None:
    """Return the commit that a review was of, or that was the head when something else was heard."""
    if event is None:
        return None
    return read(event.context.get("commit" if event.type == "pr_review" else "head"))


def read(value: Json) -> str | None:
    """Return the value if it is the full name of a commit, in lower case; else None."""
    if isinstance(value, str) and _COMMIT.fullmatch(value):
        return value
    return None
