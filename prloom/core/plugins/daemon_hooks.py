"""Check the outcome of a hook that a daemon answered: it comes from outside, as any other program's answer."""

from __future__ import annotations

import msgspec

from prloom.model import record
from prloom.model.hook import HookCall, Mark, Outcome
from prloom.model.hook_points import BEFORE_TRIAGE


def problem(call: HookCall, outcome: Outcome) -> str | None:
    """Return what a hook of this call must not have asked for, or None; a context tells Python plugins the same."""
    known = {event.id for event in call.events}
    for mark in outcome.marks:
        if call.hook != BEFORE_TRIAGE:
            return f"marks: only {BEFORE_TRIAGE} marks events"
        if mark.event_id not in known:
            return f"marks: event {mark.event_id!r} is not in this batch; use an id of the call's events"
        wrong = _problem_of_wait(call, mark)
        if wrong is not None:
            return f"marks: event {mark.event_id!r}: {wrong}"
    for write in outcome.writes:
        size = len(msgspec.json.encode(dict(write.values)))
        if size > call.limits.state_bytes:
            return f"writes: {size} bytes for the {write.scope} state; at most {call.limits.state_bytes} are allowed"
    return None


def _problem_of_wait(call: HookCall, mark: Mark) -> str | None:
    longest = call.limits.longest_deferral_ms
    if mark.retry_after_ms is not None and not 0 <= mark.retry_after_ms <= longest:
        return f"retryAfterMs is {mark.retry_after_ms}; use 0 to {longest}"
    if mark.until is None:
        return None
    until = record.read_time(mark.until)
    if until is None:
        return f"until is {mark.until!r}; give an ISO 8601 text"
    if until <= record.moment(call.now):
        return f"until is {mark.until}, which is in the past; give a time in the future"
    return None
