"""What a dispatcher is doing just now, as far as that is not in the decision log."""

from __future__ import annotations

from prloom.model.record import Record


class RunningHook(Record, frozen=True, kw_only=True):
    """A hook call that is under way: of which plan and plugin, on which events, since when."""

    plan: str
    plugin: str
    hook: str
    events: tuple[str, ...]
    since: str


class Work(Record, frozen=True, kw_only=True):
    """The hook calls that are under way, and the plans that wait until one more agent may run."""

    hooks: tuple[RunningHook, ...] = ()
    waiting: tuple[str, ...] = ()
