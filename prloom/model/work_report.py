"""What a dispatcher reports of its work: hooks that run, and what agents' runs wait for."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from prloom.model.record import Record, Timestamp


class RunningHook(Record, frozen=True, kw_only=True):
    """A hook call that is under way: of which plan and plugin, on which events, since when."""

    plan: str
    plugin: str
    hook: str
    events: tuple[str, ...]
    since: Timestamp


class RunLimit(Record, frozen=True, kw_only=True):
    """The setting because of which the next run for a TODO waits until another run has ended, and since when."""

    setting: str
    since: Timestamp


class RunWait(Record, frozen=True, kw_only=True):
    """What a run waits for that nobody has begun, since when, and of which plan and TODO it is; or what a draft does.

    `until` is when it is looked at again; None for as soon as a machine can.
    """

    reason: str
    since: Timestamp
    until: Timestamp | None = None
    plan: str | None = None
    todo: str | None = None


class RunningWork(Record, frozen=True, kw_only=True):
    """The hook calls that are under way, and the plans that wait until one more agent may run.

    `limits` names the setting because of which the next run of a plan waits, where it is that of one agent program.
    `todo_limits` names that because of which the next step of a plan's TODO waits. `run_waits` has the runs,
    by id, that are published and that nobody has begun, and `draft_waits` the drafts that become plans later.
    """

    hooks: tuple[RunningHook, ...] = ()
    waiting: tuple[str, ...] = ()
    limits: Mapping[str, str] = msgspec.field(default_factory=dict)
    todo_limits: Mapping[str, RunLimit] = msgspec.field(default_factory=dict)
    run_waits: Mapping[str, RunWait] = msgspec.field(default_factory=dict)
    draft_waits: Mapping[str, RunWait] = msgspec.field(default_factory=dict)
