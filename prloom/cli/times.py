"""Read the points in time that options name."""

from __future__ import annotations

from datetime import datetime

import click

from prloom.config import durations
from prloom.config.problems import InvalidValue


def since(text: str, now: datetime) -> datetime:
    """Return the time that an option's value names: an age such as 2h, or a date or time, local if it has no zone."""
    try:
        return now - durations.parse(text)
    except InvalidValue:
        pass
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is not a time; write an age such as 30m, 2h or 7d, a date such as 2026-11-21, "
            "or a time such as 2026-11-21T20:16:05Z",
            param_hint="'--since'",
        ) from None
