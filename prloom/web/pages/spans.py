"""Read the span of time that a page is asked for, such as `since=24h`."""

from __future__ import annotations

from datetime import datetime, timedelta

from prloom.errors import PrloomError

SPANS = {"1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
"""The spans that pages offer, by their names."""


def since(text: str | None, now: datetime) -> datetime | None:
    """Return the time from which something is wanted; raises PrloomError for what is none of the spans there are."""
    if text is None:
        return None
    if text not in SPANS:
        raise PrloomError(f"since={text} is not a period of this page; use one of {', '.join(SPANS)}")
    return now - SPANS[text]
