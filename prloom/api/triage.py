"""What `beforeTriage` and commands are given: the batch of events, and marks that say what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime, timedelta
from typing import get_args

import msgspec

from prloom.api import store
from prloom.api.context import Services
from prloom.api.plan_context import PlanContext
from prloom.backoff import SHORTEST
from prloom.model import record
from prloom.model.decision import OnExpire, WakeOn
from prloom.model.event import LONGEST_ID, Event
from prloom.model.hook import HookCall, Mark, Outcome, PluginDeferral
from prloom.model.record import Json

_CONDITIONS = ("types", "threads", "todo")
_MOST_CONDITIONS = 100
_SHORTEST_MS = round(SHORTEST / timedelta(milliseconds=1))


class TriageContext(PlanContext):
    """The context of `beforeTriage`: the batch of events that are not handled yet."""

    def __init__(self, plugin: str, call: HookCall, services: Services) -> None:
        super().__init__(plugin, call, services)
        self._marks: dict[str, Mark] = {}
        self._ids = frozenset(event.id for event in call.events)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of this batch, oldest first."""
        return self._call.events

    def mark_event_handled(self, event_id: str, reason: str | None = None) -> None:
        """Say that the event is dealt with: no later plugin and no agent sees it."""
        self._mark("mark_event_handled", Mark(event_id, "handled", reason))

    def mark_event_deferred(
        self,
        event_id: str,
        reason: str | None = None,
        retry_after_ms: int | None = None,
        *,
        until: datetime | str | None = None,
        on_expire: OnExpire | None = None,
        wake_on: Mapping[str, Json] | WakeOn | None = None,
    ) -> None:
        """Put the event off: it is shown again after `retry_after_ms` milliseconds.

        `wake_on` ends the wait early, whichever comes first: `{"types": ["check_*"], "threads": [...], "todo": "..."}`.
        That is an event of such a type, or one in such a thread (`context.thread`), that arrives on the plan, or the
        end of that TODO. Without a time and a condition, the usual backoff holds; with a condition, the deadline.

        `until` is the deadline of the whole wait (aware time or ISO 8601); `on_expire` says what happens then:
        "park" it for a person (the default), let it "pass" as if this plugin had not marked it, or "drop" it.
        """
        name = "mark_event_deferred"
        self._check_delay(name, event_id, retry_after_ms)
        if on_expire is not None and on_expire not in get_args(OnExpire):
            raise self._mistake(name, f"on_expire is {on_expire!r}; use 'park', 'pass' or 'drop'")
        deadline = self._deadline(name, until)
        condition = self._condition(name, wake_on)
        self._mark(name, Mark(event_id, "deferred", reason, retry_after_ms, deadline, on_expire, condition))

    def deferral(self, event_id: str) -> PluginDeferral | None:
        """Return how the event was deferred before, by this or another plugin, or None if it never was."""
        self._check_event_id("deferral", event_id)
        return deepcopy(self._call.deferrals.get(event_id))

    def outcome(self, plan: str | None = None) -> Outcome:
        """Return all that the hook requested, its marks included."""
        return msgspec.structs.replace(super().outcome(plan), marks=tuple(self._marks.values()))

    def _mark(self, name: str, mark: Mark) -> None:
        self._check_event_id(name, mark.event_id)
        if mark.reason is not None and not isinstance(mark.reason, str):
            raise self._mistake(name, f"the reason is {store.type_name(mark.reason)}; give a text")
        if mark.event_id in self._marks:
            self.log.warning("%s: event %s is already marked; the first mark counts", name, mark.event_id)
            return
        self._marks[mark.event_id] = mark

    def _check_event_id(self, name: str, event_id: str) -> None:
        if not isinstance(event_id, str) or event_id not in self._ids:
            raise self._mistake(name, f"event {event_id!r} is not in this batch; use an id of `triage.events`")

    def _check_delay(self, name: str, event_id: str, delay: int | None) -> None:
        longest = self._call.limits.longest_deferral_ms
        if delay is None:
            return
        if isinstance(delay, bool) or not isinstance(delay, int):
            raise self._mistake(name, f"retry_after_ms is {delay!r}; give whole milliseconds")
        if delay < 0:
            raise self._mistake(name, f"retry_after_ms is {delay}; it cannot be negative")
        if delay > longest:
            raise self._mistake(name, f"retry_after_ms is {delay}; the longest wait is {longest} ms")
        if delay < _SHORTEST_MS:
            seconds = ""
            if delay:
                seconds = f"; if you mean {delay} seconds, give {delay * 1000}"
            text = "%s: retry_after_ms is %s, in milliseconds; event %s waits for the shortest time, %s ms%s"
            self.log.warning(text, name, delay, event_id, _SHORTEST_MS, seconds)

    def _condition(self, name: str, wake_on: Mapping[str, Json] | WakeOn | None) -> WakeOn | None:
        if wake_on is None or isinstance(wake_on, WakeOn):
            return wake_on
        if not isinstance(wake_on, Mapping) or not set(wake_on) <= set(_CONDITIONS):
            raise self._mistake(name, f"wake_on is {wake_on!r}; give a dict with {', '.join(_CONDITIONS)}")
        for key in ("types", "threads"):
            value = wake_on.get(key)
            if isinstance(value, str):
                raise self._mistake(name, f"wake_on: {key} is {value!r}; give a list, such as [{value!r}]")
        try:
            given = {key: value for key, value in wake_on.items() if value is not None}
            condition = record.from_wire(WakeOn, given)
        except msgspec.ValidationError as error:
            raise self._mistake(name, f"wake_on: {error}") from error
        named = (*condition.types, *condition.threads, *filter(None, [condition.todo]))
        if not named:
            raise self._mistake(name, f"wake_on is empty; name at least one of {', '.join(_CONDITIONS)}")
        if len(named) > _MOST_CONDITIONS or max(map(len, named)) > LONGEST_ID:
            raise self._mistake(name, f"wake_on names more than {_MOST_CONDITIONS} things, or one that is too long")
        return condition

    def _deadline(self, name: str, until: datetime | str | None) -> str | None:
        if until is None:
            return None
        try:
            if isinstance(until, str):
                deadline = record.moment(until)
            else:
                deadline = until
            text = None
            if isinstance(deadline, datetime) and deadline.tzinfo:
                text = record.iso(deadline)
        except (ValueError, OverflowError):
            text = None
        if text is None:
            raise self._mistake(name, f"until is {until!r}; give an aware datetime or an ISO 8601 text")
        if record.moment(text) <= self.now:
            raise self._mistake(name, f"until is {text}, which is in the past; give a time in the future")
        return text
