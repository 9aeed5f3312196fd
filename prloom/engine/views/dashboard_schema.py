"""The one value behind `prloom status`, `prloom top` and the page in a browser: what needs a person, and what goes on.

Texts are as they came: whoever shows them makes them safe. Ages and spans are in milliseconds.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from prloom.engine.views.status_schema import DispatcherStatus, Spent, StatusDocument
from prloom.model.record import Record, Timestamp
from prloom.model.work import Phase

SCHEMA_VERSION = 1

NeedKind = Literal[
    "held",
    "parked",
    "blocked",
    "error",
    "failed",
    "withheld",
    "draft",
    "question",
    "confirm",
    "brake",
    "proposed",
    "kept",
    "lost",
    "bridge",
    "source",
    "plugin",
    "settings",
    "agent",
    "stalled",
    "dispatcher",
    "config",
]

WaitKind = Literal["deferred", "todo", "agent", "action", "pull request", "draft", "session", "plugin"]


class Need(Record, frozen=True, kw_only=True):
    """One thing, or several of a kind, that waits for a person.

    `ids` names what the commands act on: events, actions, a TODO, a request, a plugin or a bridge; the kind says which.
    `key` stays the same while it waits. `remedy` says in words what resolves it, with each command between backquotes,
    and `commands` has these alone, quoted for a shell. `since` and `age_ms` are those of the oldest, if that is known.
    """

    key: str
    kind: NeedKind
    plan: str | None
    text: str
    commands: tuple[str, ...]
    ids: tuple[str, ...] = ()
    remedy: str = ""
    since: Timestamp | None = None
    age_ms: int | None = None
    author: str | UnsetType = UNSET


class Working(Record, frozen=True, kw_only=True):
    """One thing that goes on: the run of an agent, a hook, or a step of the work on a TODO.

    `run` is None where no agent runs. `title` is that of the TODO. `tool_calls` counts those of the run so far.
    """

    kind: Literal["run", "hook", "step"]
    plan: str
    stage: str
    run: str | None = None
    agent: str | None = None
    todo: str | None = None
    title: str | None = None
    attempt: int | None = None
    phase: Phase | None = None
    tool_calls: int | None = None
    since: Timestamp | None = None
    age_ms: int | None = None


class Wait(Record, frozen=True, kw_only=True):
    """A wait that ends by itself: of what, why, since when, and when prloom tries again.

    `until` is None for as soon as something else ends; `deadline` is the latest time of a deferral.
    """

    kind: WaitKind
    plan: str | None
    id: str
    text: str
    reason: str
    since: Timestamp | None = None
    age_ms: int | None = None
    until: Timestamp | None = None
    ends_in_ms: int | None = None
    deadline: Timestamp | None = None


class PlanLine(Record, frozen=True, kw_only=True):
    """One plan in a line: how far it is, and how many of its events, actions and TODOs are in which state.

    `needs` counts its entries among what needs a person. `age_ms` is the age of what has waited longest in it,
    for a person or for something that ends by itself.
    """

    id: str
    title: str
    pr: int | None
    branch: str
    status: str
    blocked: bool
    todos: int
    done: int
    parked_todos: int
    commits: int
    pending: int
    deferred: int
    held: int
    parked: int
    failed: int
    drafts: int
    queued: int
    needs: int
    working: bool
    age_ms: int | None


class Source(Record, frozen=True, kw_only=True):
    """A bridge: when it last worked, what is wrong with it, and, if it has nothing to ask, why (`idle`)."""

    name: str
    last_ok_at: Timestamp | None
    last_ok_age_ms: int | None
    error: str | None
    idle: str | None


class Dashboard(Record, frozen=True, kw_only=True):
    """What an operator asks for, all at one moment `at`. `today` sums up the runs that began today (UTC) and are over.

    `last_tick_age_ms` is how long ago the dispatcher last ticked. The oldest needs come first, and the waits that end
    first. `waiting_oldest_ms` is the age of the oldest wait, `waiting_next_ms` how long until the first one ends.
    """

    schema_version: int = SCHEMA_VERSION
    repo: str
    at: Timestamp
    dispatcher: DispatcherStatus
    last_tick_age_ms: int | None
    sources: tuple[Source, ...]
    runs_now: int
    today: Spent
    needs: tuple[Need, ...]
    working: tuple[Working, ...]
    waiting: tuple[Wait, ...]
    waiting_oldest_ms: int | None
    waiting_next_ms: int | None
    plans: tuple[PlanLine, ...]


class FullStatus(StatusDocument, frozen=True, kw_only=True):
    """What `prloom status --json` prints: the status of each plan, and the dashboard that is made of it."""

    dashboard: Dashboard
