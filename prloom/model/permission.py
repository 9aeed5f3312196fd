"""Define what a run waits for a person to allow, or to answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, UnsetType, field

from prloom.model.record import Json, Record, Timestamp

Choice = Literal["allow", "allow_always", "deny", "timeout"]

Sensitivity = Literal["confirmation", "question"]


class PermissionRequest(Record, frozen=True, kw_only=True):
    """A call that waits for a person until `until`: its tool, or the question that `prloom_ask` posts.

    `post` is the action that posts the question.
    """

    id: str
    plan: str
    run: str
    stage: str
    tool: str
    plugin: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    question: str | None = None
    post: str | UnsetType = UNSET
    since: Timestamp
    until: Timestamp


class PermissionAnswer(Record, frozen=True, kw_only=True):
    """What a person chose: `by` is `operator`, a login, or `timeout`; `text` is the answer to a question."""

    choice: Choice
    by: str
    text: str | None = None
