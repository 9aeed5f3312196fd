"""The types of events, and what each of them means to prloom: the one place where that is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Kind(NamedTuple):
    """What a type of events means.

    `speech`: the body is somebody's own words, and not a log or a report. `commands`: the words may be a command.
    `threaded`: the event stands in a conversation of its own, which can be resolved. `notice`: without an author and a
    body, the event tells only that something happened, and needs no answer. `plan_status`: what the plan
    is from then on.
    """

    speech: bool = False
    commands: bool = False
    threaded: bool = False
    notice: bool = False
    plan_status: str | None = None


DELETED = "comment_deleted"

_COMMENT = Kind(speech=True, commands=True)
_THREAD = Kind(speech=True, commands=True, threaded=True)
_NOTICE = Kind(notice=True)
_REPORT = Kind()

KINDS: Mapping[str, Kind] = {
    "pr_comment": _COMMENT,
    "pr_review": _COMMENT,
    "pr_review_comment": _THREAD,
    "review_feedback": _THREAD,
    "check_failed": _REPORT,
    "merge_conflict": _REPORT,
    "pr_pushed": _NOTICE,
    "pr_closed": Kind(notice=True, plan_status="closed"),
    "pr_merged": Kind(notice=True, plan_status="merged"),
    "pr_reopened": Kind(notice=True, plan_status="active"),
    DELETED: _NOTICE,
    "checks_changed": _NOTICE,
}
"""The types of the sources that prloom knows."""

NOTICES = tuple(name for name, kind in KINDS.items() if kind.notice)
"""Types of events that, without an author and a body, tell only that something happened: they need no answer."""

_SPEECH = ("comment", "discussion", "feedback", "message", "note", "reply", "review")
"""Last words in the names of other types that are somebody's own words, such as `mr_comment`."""


def kind(name: str, *, by_person: bool) -> Kind:
    """Return what a type means. A type of another source is speech if a person wrote the event, or by its name.

    Nobody's event of any other type may be a log, and its first line is no command of the operator's.
    """
    known = KINDS.get(name)
    if known is not None:
        return known
    last_word = name.replace("-", "_").replace(".", "_").rpartition("_")[2]
    spoken = by_person or name.startswith("pr_") or last_word in _SPEECH
    if spoken:
        return _COMMENT
    return _REPORT
