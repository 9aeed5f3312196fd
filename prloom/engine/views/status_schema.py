"""The document of `prloom status --json`; a key may be missing only where its type says UnsetType."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from prloom.core.waits.standstill import Standstill
from prloom.engine.views.waiting_schema import ActionCounts, EventCounts
from prloom.model.permission import PermissionRequest
from prloom.model.plan import Counts
from prloom.model.record import Record, Timestamp
from prloom.model.run import UnusableAgent
from prloom.model.work import Kept, Phase
from prloom.storage.plan_session import SessionKind

SCHEMA_VERSION = 1


class DispatcherStatus(Record, frozen=True, kw_only=True):
    """Whether a dispatcher runs, when one last ticked, and the error that it has as a whole, if any, and since when.

    `silent_since` is its last tick, where that should have been followed by others, and `suspended` that its process
    was stopped by a signal; both are left out otherwise.
    """

    running: bool = False
    pid: int | None = None
    last_tick_at: Timestamp | None = None
    silent_since: Timestamp | UnsetType = UNSET
    suspended: bool | UnsetType = UNSET
    trouble: str | UnsetType = UNSET
    trouble_since: Timestamp | UnsetType = UNSET


class Totals(Record, frozen=True, kw_only=True):
    """What waits in all plans together."""

    plans: int
    pending: int
    deferred: int
    held: int
    parked: int
    actions_queued: int
    actions_failed: int


class WorkWait(Record, frozen=True, kw_only=True):
    """A wait of the work: why, since when, and when prloom tries again; None for as soon as it can.

    `agent` is the agent program that it waits for, where it waits for one.
    """

    reason: str
    since: Timestamp | None
    until: Timestamp | None
    agent: UnusableAgent | UnsetType = UNSET


class CurrentTodo(Record, frozen=True, kw_only=True):
    """The TODO that is worked on: its present attempt, when that began, and the worker's run; `wait` where it waits.

    `phase` is how far the work is, and `agent` the program of the worker, once one was started.
    """

    id: str
    title: str
    attempt: int
    run: str | None
    started_at: Timestamp | None
    age_ms: int | UnsetType = UNSET
    phase: Phase | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    wait: WorkWait | UnsetType = UNSET


class ProposedTodo(Record, frozen=True, kw_only=True):
    """A TODO that waits until a person allows it, with the command for that; `since` when, as far as that is known."""

    id: str
    title: str
    way_on: str
    since: Timestamp | UnsetType = UNSET


class ParkedTodo(Record, frozen=True, kw_only=True):
    """A TODO that waits for a person while others are worked on: why, and the command that lets it be done again.

    `since` is when it was blocked, or the latest time at which it can have been.
    """

    id: str
    title: str
    reason: str | None
    way_on: str
    since: Timestamp | UnsetType = UNSET


class TodoCounts(Record, frozen=True, kw_only=True):
    """How many TODOs the plan has, the one that is worked on, the one that waits to be allowed, and those parked.

    `parked` lists the TODOs that wait for a person and do not block the plan; it is left out where there is none.
    """

    total: int
    done: int
    blocked: int = 0
    current: CurrentTodo | None = None
    proposed: ProposedTodo | UnsetType = UNSET
    parked: tuple[ParkedTodo, ...] | UnsetType = UNSET


class BlockStatus(Record, frozen=True, kw_only=True):
    """Why no TODO of the plan is worked on, since when, at which TODO, and the command that lets the plan continue.

    `title` is that of the TODO, and `question` what its worker asked, if it waits for an answer.
    """

    reason: str
    since: Timestamp
    todo: str | None
    way_on: str
    age_ms: int | UnsetType = UNSET
    title: str | UnsetType = UNSET
    question: str | UnsetType = UNSET


class Spent(Record, frozen=True, kw_only=True):
    """What the agents' runs of a plan took; `unmeasured_runs` are those whose usage the sums lack."""

    runs: int
    seconds: float
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unmeasured_runs: int


class SessionStatus(Record, frozen=True, kw_only=True):
    """A person's session in the worktree of a plan, until which prloom does not work there."""

    kind: SessionKind
    pid: int
    since: Timestamp


class PlanStatus(Record, frozen=True, kw_only=True):
    """One plan. `last_error` is why it cannot be worked on or read, if so; `rebase_requested` is left out or true.

    `last_error_since`, `paused_since` and `ended_at` are left out where they do not apply, or are not known.
    `block` is what keeps its TODOs from being worked on. `commits` counts the commits that prloom made for them.
    `spent` is left out where costs were not added up. `rule` is left out, or names the rule that adopted the plan;
    `work` is left out, or false where prloom lists TODOs only. `pull_request_wait` is left out unless the pull request
    could not be brought up to date, and `draft_wait` unless a queued draft becomes a plan later. `kept` is left out, or
    says until when, or why, the worktree of a plan that has ended is kept. `session` is left out, or a person's in the
    worktree. A draft has no worktree. `standstill` is left out, or what is open without waiting for a person or for a
    named time.
    """

    id: str
    title: str
    status: str
    blocked: bool
    block: BlockStatus | None
    branch: str
    pr: int | None
    worktree: str | None
    last_error: str | None
    todos: TodoCounts
    commits: int
    spent: Spent | UnsetType = UNSET
    events: EventCounts
    actions: ActionCounts
    rebase_requested: bool | UnsetType = UNSET
    rule: str | UnsetType = UNSET
    work: bool | UnsetType = UNSET
    pull_request_wait: WorkWait | UnsetType = UNSET
    draft_wait: WorkWait | UnsetType = UNSET
    kept: Kept | UnsetType = UNSET
    last_error_since: Timestamp | UnsetType = UNSET
    paused_since: Timestamp | UnsetType = UNSET
    ended_at: Timestamp | UnsetType = UNSET
    session: SessionStatus | UnsetType = UNSET
    standstill: Standstill | UnsetType = UNSET


class LostPlan(Record, frozen=True, kw_only=True):
    """A plan that was adopted and not given up, and is not in its worktree: why, and what waited in it.

    `since` is when it was last known to be there, as far as anything says so.
    `recover` is the command that adopts it again; None where its worktree is only in another folder.
    """

    id: str
    title: str
    branch: str
    pr: int | None
    worktree: str
    reason: str
    recover: str | None
    counts: Counts | None
    counted_at: Timestamp | None
    since: Timestamp | UnsetType = UNSET


class Requests(Record, frozen=True, kw_only=True):
    """How many requests a bridge has made, how many were charged against its limit, and what is left of that."""

    total: int = 0
    charged: int = 0
    remaining: int | None = None


class BridgeStatus(Record, frozen=True, kw_only=True):
    """A bridge as the dispatcher last knew it.

    `loaded` is False if it could not be loaded; the times of its polls are those of an earlier dispatcher then. `idle`
    says why it had nothing to ask for in its last poll, `warnings` what is wrong with its source. `error_since` and
    `warnings_since` are when an error and warnings were first reported.
    """

    name: str
    loaded: bool | UnsetType = UNSET
    last_poll_at: Timestamp | None = None
    last_ok_at: Timestamp | None = None
    error: str | None = None
    requests: Requests = Requests()
    idle: str | UnsetType = UNSET
    warnings: tuple[str, ...] | UnsetType = UNSET
    error_since: Timestamp | UnsetType = UNSET
    warnings_since: Timestamp | UnsetType = UNSET


class PluginStatus(Record, frozen=True, kw_only=True):
    """A plugin as the dispatcher last knew it, and what it registered; `error_since` is when its error began."""

    name: str
    source: str = ""
    loaded: bool = False
    error: str | None = None
    error_since: Timestamp | UnsetType = UNSET
    hooks: tuple[str, ...] = ()
    commands: tuple[str, ...] | UnsetType = UNSET
    tools: tuple[str, ...] | UnsetType = UNSET
    skills: tuple[str, ...] | UnsetType = UNSET


class StatusDocument(Record, frozen=True, kw_only=True):
    """The document. `lost_plans` is left out where none is lost, and `requests` where no call waits for a person.

    `config_error` says what is wrong with the configuration, one line for each problem.
    """

    schema_version: int = SCHEMA_VERSION
    repo: str
    dispatcher: DispatcherStatus
    totals: Totals
    oldest_deferred_age_ms: int | None
    plans: tuple[PlanStatus, ...]
    bridges: tuple[BridgeStatus, ...]
    plugins: tuple[PluginStatus, ...]
    lost_plans: tuple[LostPlan, ...] | UnsetType = UNSET
    config_error: str | UnsetType = UNSET
    requests: tuple[PermissionRequest, ...] | UnsetType = UNSET
