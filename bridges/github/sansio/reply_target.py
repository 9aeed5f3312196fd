"""Know where an action goes: the token that events carry, and plugins hand back."""

from __future__ import annotations

from dataclasses import dataclass

from prloom.api import Json, Target

TARGET = "github"


@dataclass(frozen=True)
class ReplyTarget:
    """A pull request; and there the first comment of a thread, a comment on a line, a comment, or a review."""

    pr: int
    thread: int | None = None
    inline: int | None = None
    comment: int | None = None
    review: int | None = None


def target(place: ReplyTarget) -> Target:
    """Return the place as a target."""
    named = {"pr": place.pr, "thread": place.thread, "inline": place.inline}
    named |= {"comment": place.comment, "review": place.review}
    return Target(TARGET, {key: value for key, value in named.items() if value is not None})


def read(token: Json, pr: int | None) -> ReplyTarget | None:
    """Return the place that a token names; None: it is not one of ours. `pr` is the plan's, for a token of None."""
    if token is None:
        if pr is not None:
            return ReplyTarget(pr)
        return None
    number = _id(token, "pr")
    if number is None:
        return None
    ids = {key: _id(token, key) for key in ("thread", "inline", "comment", "review")}
    return ReplyTarget(number, **ids)


def _id(token: Json, key: str) -> int | None:
    found = None
    if isinstance(token, dict):
        found = token.get(key)
    if isinstance(found, int) and not isinstance(found, bool) and found > 0:
        return found
    return None
