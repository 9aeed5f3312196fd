"""Describe an error of a bridge, a plugin or a plan that is over."""

from __future__ import annotations

from typing import Literal

from prloom.model.record import Record, Timestamp

ErrorSource = Literal["bridge", "plugin", "plan"]
"""What an error can be about; a plan that cannot be opened, or a draft. Without a name it is the repository."""


class PastError(Record, frozen=True, kw_only=True):
    """An error that was there from `since` to `until`; `text` is a report of it.

    A bridge or a plugin with `works` works again; without, it is not used any more.
    """

    source: ErrorSource
    name: str
    text: str
    since: Timestamp
    until: Timestamp
    works: bool
