"""A hook's call and its outcome as values, so that a hook can run in any process and takes effect as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import field

from prloom.model.action import Action, UpsertPlan
from prloom.model.decision import OnExpire, Scope, WakeOn
from prloom.model.event import Event
from prloom.model.hook_points import ON_EVENT, ON_GLOBAL_EVENT
from prloom.model.record import Json, Record, from_wire, to_wire
from prloom.model.tool import Session, ToolCall

if TYPE_CHECKING:
    from prloom.model.decision import Deferral

OBSERVERS = (ON_EVENT, ON_GLOBAL_EVENT)
"""Those whose hooks only see an event, and delay nothing."""


class Limits(Record, frozen=True, kw_only=True):
    """What a hook may ask for: bytes of JSON of a store, milliseconds of a deferral, actions of one call."""

    state_bytes: int = 1024 * 1024
    longest_deferral_ms: int = 30 * 24 * 3600 * 1000
    actions: int = 1000


class PluginDeferral(Record, frozen=True):
    """What `prloom.api` calls Deferral: a `decision.Deferral` as a plugin gets it, with times as ISO 8601 UTC texts.

    `owner` put the event off, `attempts` times in a row. At `deadline` the wait ends as `on_expire` says: the event is
    parked for a person, passes on as if the owner had let it through, or is dropped.
    """

    owner: str
    reason: str
    attempts: int
    first_deferred_at: str
    deferred_until: str
    deadline: str
    on_expire: OnExpire = "park"
    wake_on: WakeOn | None = None

    @classmethod
    def of(cls, deferral: Deferral) -> PluginDeferral:
        """Return what a plugin gets of a deferral."""
        return from_wire(cls, to_wire(deferral))


class HookTodo(Record, frozen=True, kw_only=True):
    """The TODO that a plan hook is about, with the events that requested it."""

    id: str
    title: str
    context: str = ""
    event_ids: tuple[str, ...] = ()


class HookCall(Record, frozen=True, kw_only=True):
    """Everything a hook may see. `state` and `global_state` are the plugin's two stores as they stood at the call.

    `vouched` names the events whose author is not trusted: a person approved their text, and no more. `head` is
    the commit at the head of the pull request, as far as its bridge knew at the call. `todo` is the TODO of beforeTodo
    and afterTodo; `diff` and `summary` say what the worker changed. `tool` is the call that a guard or a handler of a
    tool is about, `action` and `upsert` are the action or the plan that a guard is about, and `session` is the run of
    sessionStart and sessionEnd. Times are texts, as a plugin gets them.
    """

    hook: str
    plan_id: str
    repo_root: str
    worktree: str
    now: str
    plan: str = ""
    events: tuple[Event, ...] = ()
    deferrals: Mapping[str, PluginDeferral] = field(default_factory=dict)
    vouched: tuple[str, ...] = ()
    state: Mapping[str, Json] = field(default_factory=dict)
    global_state: Mapping[str, Json] = field(default_factory=dict)
    change_request_ref: str | None = None
    head: str | None = None
    todo: HookTodo | None = None
    diff: str | None = None
    summary: str | None = None
    tool: ToolCall | None = None
    action: Action | None = None
    upsert: UpsertPlan | None = None
    session: Session | None = None
    limits: Limits = Limits()


class Mark(Record, frozen=True):
    """What a hook said of one event: it is dealt with, or waits. Milliseconds; `until` is the deadline, ISO UTC."""

    event_id: str
    verdict: Literal["handled", "deferred"]
    reason: str | None = None
    retry_after_ms: int | None = None
    until: str | None = None
    on_expire: OnExpire | None = None
    wake_on: WakeOn | None = None


class Writes(Record, frozen=True, kw_only=True):
    """What a hook did with one store: the keys it read (to see a lost update coming), set and deleted."""

    scope: Scope
    read: tuple[str, ...] = ()
    values: Mapping[str, Json] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()


class Outcome(Record, frozen=True, kw_only=True):
    """Everything a hook did, to take effect together. `plan` is None where the hook left the plan as it was.

    `block` is why the plan is to be blocked, or why a guard refuses what it was asked about. `wakes` are events whose
    wait the plugin ends. `arguments` and `action` are what a guard has made of a tool's call, or of an action. `result`
    is the answer of a tool's handler, what its check says, or the text that transformToolResult puts in a result's
    place.
    """

    marks: tuple[Mark, ...] = ()
    actions: tuple[Action, ...] = ()
    writes: tuple[Writes, ...] = ()
    plan: str | None = None
    block: str | None = None
    wakes: tuple[str, ...] = ()
    arguments: Mapping[str, Json] | None = None
    action: Action | None = None
    result: Json = None
