"""Read and write durations as the configuration spells them: 250ms, 30s, 5m, 1h30m, 7d; and times in the past."""

import re
from datetime import datetime, timedelta

from prloom.config.problems import InvalidValue, quoted

_FORM = re.compile(
    r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m(?!s))?(?:([0-9]{1,9})s)?(?:([0-9]{1,9})ms)?",
)
_UNITS = (
    ("d", timedelta(days=1)),
    ("h", timedelta(hours=1)),
    ("m", timedelta(minutes=1)),
    ("s", timedelta(seconds=1)),
    ("ms", timedelta(milliseconds=1)),
)
_LONGEST = timedelta(days=3650)
_READ_AS_SECONDS = 120
_REMEDY = 'write a number and a unit, such as "250ms", "30s", "5m", "1h30m" or "7d"'


def parse(value: object) -> timedelta:
    """Return the duration that a configuration value spells; raise InvalidValue for anything else.

    A bare number is refused: it is unclear whether 30 means seconds or minutes.
    """
    if isinstance(value, timedelta):
        return _within_bounds(value)
    if isinstance(value, int) and value > 0 and not isinstance(value, bool):
        raise InvalidValue(
            f"is {quoted(value)}, which has no unit", f'write "{value}s" for seconds, or "{value}m" for minutes'
        )
    if not isinstance(value, str):
        raise InvalidValue(f"is {quoted(value)}, which is not a duration", _REMEDY)
    match = _FORM.fullmatch(value)
    if match is None or not value:
        raise InvalidValue(f"is {quoted(value)}, which is not a duration", _REMEDY)
    # Summed in milliseconds: nine digits of days are more than a timedelta holds.
    parts = zip(match.groups(default="0"), _UNITS, strict=True)
    milliseconds = sum(int(count) * int(unit / timedelta(milliseconds=1)) for count, (_, unit) in parts)
    return _within_bounds(timedelta(milliseconds=min(milliseconds, 10**14)))


def since(text: str, now: datetime) -> datetime:
    """Return the time that a text names: an age such as 2h, or a date or time, local if it has no zone.

    Raises InvalidValue.
    """
    try:
        return now - parse(text)
    except InvalidValue:
        pass
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        what = f"{text!r} is not a time"
        remedy = "write an age such as 30m, 2h or 7d, a date such as 2026-11-21, or a time such as 2026-11-21T20:16:05Z"
        raise InvalidValue(what, remedy) from None


def spell(duration: timedelta) -> str:
    """Return a duration in the form that `parse` reads, exact to the millisecond; below two minutes in seconds."""
    seconds = duration // timedelta(seconds=1)
    if duration == timedelta(seconds=seconds) and seconds < _READ_AS_SECONDS:
        return f"{seconds}s"
    spelled = ""
    rest = duration
    for name, unit in _UNITS:
        count, rest = divmod(rest, unit)
        if count:
            spelled += f"{count}{name}"
        else:
            spelled += ""
    return spelled


def _within_bounds(duration: timedelta) -> timedelta:
    if duration <= timedelta(0):
        raise InvalidValue("is not longer than zero", "write a duration longer than zero")
    if duration > _LONGEST:
        raise InvalidValue("is longer than ten years", f'write at most "{spell(_LONGEST)}"')
    return duration
