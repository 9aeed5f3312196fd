"""Describe one thing that happened in a repository, as an entry of `prloom log`."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from prloom.model.record import Record, Timestamp
from prloom.model.run import RunRecord


class LogEntry(Record, frozen=True, kw_only=True):
    """One thing that happened, in words. `seq`, `stage` and `by` are those of a decision; `run` is a run that ended.

    `plan` is "" for what concerns the repository as a whole. What was an `error` and is none any more has `recovered`.
    """

    ts: Timestamp
    plan: str
    kind: Literal["decision", "run", "error", "recovered"]
    text: str
    seq: int | UnsetType = UNSET
    stage: str | UnsetType = UNSET
    by: str | UnsetType = UNSET
    run: RunRecord | UnsetType = UNSET
