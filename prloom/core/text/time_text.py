"""Write spans and moments for people."""

from __future__ import annotations

from datetime import datetime, timedelta

_UNITS = (
    ("d", timedelta(days=1)),
    ("h", timedelta(hours=1)),
    ("min", timedelta(minutes=1)),
    ("s", timedelta(seconds=1)),
)


def duration(span: timedelta, *, units: int = 2) -> str:
    """Return a span for people, in its largest units: `450 ms`, `3.2 s`, `30 s`, `2 h 5 min`."""
    rest = max(span, timedelta(0))
    if timedelta(0) < rest < timedelta(seconds=1):
        return f"{rest // timedelta(milliseconds=1)} ms"
    if rest < timedelta(seconds=10) and rest % timedelta(seconds=1):
        return f"{rest // timedelta(milliseconds=100) / 10} s"
    counts = []
    for name, unit in _UNITS:
        count, rest = divmod(rest, unit)
        counts.append((count, name))
    first = next((place for place, (count, _) in enumerate(counts) if count), len(counts) - 1)
    told = [f"{count} {name}" for count, name in counts[first : first + units] if count]
    return " ".join(told) or "0 s"


def when(moment: datetime, now: datetime, *, units: int = 2) -> str:
    """Return where a moment lies as seen from now: `in 30 s`, `2 h 5 min ago`, `now`."""
    distance = timedelta(seconds=abs(moment - now) // timedelta(seconds=1))
    if not distance:
        return "now"
    span = duration(distance, units=units)
    if moment > now:
        return f"in {span}"
    return f"{span} ago"


def clock_time(moment: datetime, now: datetime) -> str:
    """Return the time of day of a moment, in its own zone, with the date where that is another day than today."""
    if moment.date() == now.astimezone(moment.tzinfo).date():
        return f"{moment:%H:%M:%S}"
    return f"{moment:%Y-%m-%d %H:%M:%S}"
