"""Notice in a running program's output that the model's server keeps to a limit, and read when the limit ends."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from prloom.agents.agent import LimitReport

_LONGEST_LINE: Final = 1 << 18
_NEVER: Final = float("inf")


class ReadLine(Protocol):
    """Reads one line of a program's output, as `Agent.refusal` does."""

    def __call__(self, line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
        """Return the limit that the line tells of."""


class LimitDetector:
    """What a run was refused: `current` is the limit that it has met and not got over, `due` when that ends the run.

    A used-up allowance ends it at once. After a rate limit, or where the allowance is there again soon, the program has
    `patience` seconds to go on: any line on stdout that tells of no limit shows that it does. `due` is on the clock of
    the `now` that `hear` was given.
    """

    def __init__(self, read: ReadLine, *, patience: float) -> None:
        self.current: LimitReport | None = None
        self.due = _NEVER
        self._read = read
        self._patience = patience
        self._begun = {False: b"", True: b""}

    def hear(self, chunk: bytes, *, stderr: bool, now: float, at: datetime) -> None:
        """Take in a piece of output that came `now`, `at` a time; what follows the last line end is kept for later."""
        *lines, rest = (self._begun[stderr] + chunk).split(b"\n")
        self._begun[stderr] = rest[:_LONGEST_LINE]  # the rest of a longer line is cut: no refusal is that long
        for line in lines:
            self._hear_line(line.decode("utf-8", "replace"), stderr=stderr, now=now, at=at)

    def _hear_line(self, line: str, *, stderr: bool, now: float, at: datetime) -> None:
        found = self._read(line, stderr=stderr, at=at)
        if found is None:
            if not stderr and line.strip():
                self.current, self.due = None, _NEVER
            return
        self.current = found
        soon = found.retry_at is not None and found.retry_at <= at + timedelta(seconds=self._patience)
        if found.trouble == "usage_limit" and not soon:
            self.due = now
        elif self.due == _NEVER:
            self.due = now + self._patience


FURTHEST = timedelta(days=35)
"""A reset further away than the longest known window (a month) is a mistake, and a wait must end."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MILLISECONDS_FROM = 10**11

_JUST_OVER = timedelta(minutes=5)
"""A clock time that was so short ago is not tomorrow's."""

# claude before 2.1: "Claude AI usage limit reached|1749924000".
# codex and what speaks to its server: `"resets_at":1795369638`.
_EPOCH = re.compile(r"(?:limit reached\||resets_at\\*\":\s*)(?P<epoch>\d{10,13})")

# codex (format_retry_timestamp in protocol/src/error.rs): "try again at 3:04 PM.", "try again at Jul 23rd, 2026 4:15
# AM."; claude 2.1: "resets 3pm (Europe/Berlin)", "resets Oct 5, 3:30pm (UTC)" or "resets Oct 5 at 3pm".
_CLOCK = re.compile(
    r"(?:try again at|resets(?: at)?) +"
    r"(?:(?P<month>[a-z]{3})[a-z]* +(?P<day>\d{1,2})(?:st|nd|rd|th)?,?(?: +(?P<year>\d{4}),?)?(?: +at)? +)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>am|pm)\b"
    r"(?: \((?P<zone>[A-Za-z0-9_+\-/]{1,64})\))?",
    re.IGNORECASE,
)

# Anthropic's API: "You will regain access on 2026-12-01 at 00:00 UTC."; others: "resets at 2026-12-01T00:00Z".
_DATE = re.compile(
    r"(?:regain access on|try again at|resets(?: at)?) +(?P<day>\d{4}-\d\d-\d\d)(?:T| at | )"
    r"(?P<time>\d\d:\d\d(?::\d\d)?)(?:\.\d{1,9})?(?: UTC|Z)",
    re.IGNORECASE,
)

# gemini: "Your quota will reset after 3h20m5s.", "Please retry in 35.2s", `"retryDelay": "7200s"`; opencode: "It will
# reset in 3 hours 5 minutes."; codex before 0.50: "try again in 2 days 17 hours 14 minutes."
_SPAN = re.compile(
    r"(?:reset after|resets? in|try again in|retry (?:after|in)|retryDelay\\*\":\s{0,9}\\*\") *"
    r"(?P<span>(?:\d{1,7}(?:\.\d{1,9})? ?[a-z]{1,7}[ ,]{0,2}){1,4})",
    re.IGNORECASE,
)
_PART = re.compile(r"(\d{1,7}(?:\.\d{1,9})?) ?([dhms])", re.IGNORECASE)
_READ = 4000
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def reset_time(message: str, now: datetime) -> datetime | None:
    """Return when the limit that the message tells of ends, in UTC, or None when it does not say.

    `now` must be aware; a clock time without a zone is read in its time zone.
    """
    beginning = message[:_READ]
    if found := _EPOCH.search(beginning):
        return from_epoch(int(found["epoch"]), now)
    if found := _DATE.search(beginning):
        return sensible(_date(found), now)
    if found := _CLOCK.search(beginning):
        return sensible(_clock(found, now), now)
    if found := _SPAN.search(beginning):
        parts = {_UNITS[unit.lower()]: float(number) for number, unit in _PART.findall(found["span"])}
        return sensible(now + timedelta(**parts), now)
    return None


def from_epoch(stamp: float, now: datetime) -> datetime | None:
    """Return the time of a Unix time stamp in seconds or milliseconds, in UTC; None when it makes no sense."""
    if stamp >= _MILLISECONDS_FROM:
        seconds = stamp / 1000
    else:
        seconds = stamp
    try:
        return sensible(datetime.fromtimestamp(seconds, tz=UTC), now)
    except (OverflowError, ValueError, OSError):
        return None


def sensible(reset: datetime | None, now: datetime) -> datetime | None:
    """Return the time in UTC, or None when it is not between now and the furthest sensible reset."""
    if reset is not None and now < reset <= now + FURTHEST:
        return reset.astimezone(UTC)
    return None


def _clock(found: re.Match[str], now: datetime) -> datetime | None:
    """Return the time that the words name; the programs cut off the seconds, so it is the end of that minute."""
    local = now.astimezone(_zone(found["zone"], now))
    hour = int(found["hour"]) % 12 + (12 if found["half"].lower() == "pm" else 0)
    minute = int(found["minute"] or 0)
    try:
        named = local.replace(hour=hour, minute=minute, second=0, microsecond=0) + timedelta(minutes=1)
        if found["month"] is None:
            return _next(named, local)
        month = _MONTHS.index(found["month"].lower()) + 1
        named = named.replace(year=int(found["year"] or local.year), month=month, day=int(found["day"]))
        return named if named > local or found["year"] else named.replace(year=named.year + 1)
    except ValueError:
        return None


def _next(named: datetime, local: datetime) -> datetime:
    """Return when a clock shows this time next; soon, where it has only just shown it."""
    if named > local:
        return named
    if local - named < _JUST_OVER:  # the message was on its way when the limit ended
        return local + timedelta(minutes=1)
    return named + timedelta(days=1)


def _date(found: re.Match[str]) -> datetime | None:
    try:
        return datetime.fromisoformat(f"{found['day']}T{found['time']}+00:00")
    except ValueError:
        return None


def _zone(name: str | None, now: datetime) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else now.tzinfo
    except (OSError, ValueError, KeyError):  # not known here; the program meant its machine's, which is ours
        return now.tzinfo
