"""Read which runs a command is about: those of a plan, and since when."""

from __future__ import annotations

from datetime import datetime

from prloom.cli import context
from prloom.cli.context import Options

TIMES = "2h, 7d, 2026-11-21 or 2026-11-21T20:16:05Z."
"""What `--since` takes."""


def plan_id(given: Options, named: str | None) -> str | None:
    """Return the plan's id; a plan that is gone is known by the id that the log of runs has."""
    from prloom.errors import PrloomError  # noqa: PLC0415
    from prloom.storage import run_log  # noqa: PLC0415 - only a plan that is gone needs it

    if named is None:
        return None
    where, _ = context.repository_to_read(given)
    try:
        return context.plan_id(where, named)
    except PrloomError:
        for day in reversed(run_log.days(where.root)):
            if any(run.plan == named for run in run_log.of_day(where.root, day)):
                return named
        raise


def since(text: str | None, now: datetime) -> datetime | None:
    """Return the time from which runs are wanted; None where none is named."""
    if text is None:
        return None
    return context.since(text, now)


def dollars(cost: float | None) -> str:
    """Return a cost as it is printed; empty where it is not known."""
    if cost is None:
        return ""
    return f"{cost:.4f} USD"
