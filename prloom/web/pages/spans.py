"""Read since when a page is asked for something, such as `since=24h`."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from prloom.config import durations
from prloom.config.problems import InvalidValue
from prloom.web.site import QueryError

SPANS: Final = ("1h", "24h", "7d", "30d")
"""The ages that pages offer."""

SHORT: Final = SPANS[:3]
LONG: Final = SPANS[1:]
"""Those of pages that list all that has happened, and those of pages that add it up."""


def since(text: str | None, now: datetime) -> datetime | None:
    """Return the time from which something is wanted: any age, date or time that `--since` takes. Raises QueryError."""
    if text is None:
        return None
    try:
        return durations.since(text, now)
    except InvalidValue as error:
        raise QueryError(f"since: {error}") from None
