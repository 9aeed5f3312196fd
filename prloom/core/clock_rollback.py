"""Tell that the clock was turned back since something was written down, so that no wait takes longer by that."""

from __future__ import annotations

from datetime import datetime, timedelta

from prloom.model import record

SLACK = timedelta(minutes=1)
"""A clock that is put right by less than this is followed without a word."""


def since(written: str | None, now: datetime) -> bool:
    """Whether a time that was `now` once is yet to come by the clock.

    Then what is left of a wait that was named at that time is not known. It is over: early by less than the wait, and
    once, for whoever waits anew does so by the new clock.
    """
    # Times on disk are all of one form, so that they sort as texts.
    return written is not None and written > record.iso(now + SLACK)


def by(before: datetime, now: datetime) -> timedelta:
    """Return by how much the clock was turned back between two looks at it; nothing where it was not."""
    if before - now > SLACK:
        return before - now
    return timedelta()
