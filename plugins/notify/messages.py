"""Write what is sent: one message for all that is new, and say when nothing is to be sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from plugins.notify.waiting import Need

MOST = 20
"""Items that one message lists."""

LONGEST = 300
"""Characters of an item's text."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
_LAST_HOUR, _LAST_MINUTE = 23, 59
_HOURS = re.compile(r"(\d\d?):(\d\d)\s*-\s*(\d\d?):(\d\d)")


@dataclass(frozen=True)
class QuietHours:
    """From when until when nothing is sent, each day; the end may be on the next day."""

    begin: time
    end: time

    def remaining(self, now: datetime) -> timedelta | None:
        """Return for how long nothing is to be sent; None outside of these hours. `now` is a local time."""
        clock = now.time()
        inside = self.begin <= clock < self.end
        if self.begin > self.end:
            inside = clock >= self.begin or clock < self.end
        if not inside:
            return None
        end = now.replace(hour=self.end.hour, minute=self.end.minute, second=0, microsecond=0)
        if end <= now:
            end += timedelta(days=1)
        return end - now


def quiet_hours(text: str) -> QuietHours | None:
    """Return the hours that a text such as `22:00-07:00` means, None for an empty one; raises ValueError."""
    if not text.strip():
        return None
    found = _HOURS.fullmatch(text.strip())
    numbers = [int(each) for each in found.groups()] if found is not None else [99] * 4
    if max(numbers[0], numbers[2]) > _LAST_HOUR or max(numbers[1], numbers[3]) > _LAST_MINUTE:
        raise ValueError(f"quiet_hours: {text!r} is not a span of time; write it like 22:00-07:00")
    return QuietHours(time(numbers[0], numbers[1]), time(numbers[2], numbers[3]))


def title(needs: Sequence[Need], repository: str) -> str:
    """Return the first line."""
    if len(needs) == 1:
        return clean(f"prloom: {needs[0].kind} in {needs[0].plan or repository}")
    return clean(f"prloom: {len(needs)} things need you in {repository}")


def body(needs: Sequence[Need]) -> str:
    """Return the text: what it is, and what to do, those of one plan together."""
    parts = []
    for need in sorted(needs, key=lambda each: each.plan)[:MOST]:
        parts.append(f"{clean(need.plan)} {need.kind}: {_inert(clean(need.text))}{_new_count(need)}".strip())
        if need.remedy:
            parts.append(f"  {clean(need.remedy)}")
    if len(needs) > MOST:
        parts.append(f"and {len(needs) - MOST} more; run `prloom status`")
    return "\n".join(parts)


def _new_count(need: Need) -> str:
    """Return how many of the things are new, where some were reported before."""
    if not need.known:
        return ""
    return f", {len(need.names)} of them new"


def clean(text: str) -> str:
    """Return a text on one line, without control characters, and not too long: it may come from outside."""
    plain = " ".join(_CONTROL.sub(" ", text).split())
    if len(plain) > LONGEST:
        return plain[: LONGEST - 1] + "…"
    return plain


def _inert(text: str) -> str:
    """Return a text that mentions nobody, wherever it is shown."""
    return text.replace("@", "@\u2060").replace("<!", "<\u2060!")
