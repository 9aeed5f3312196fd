"""One record of the decision log: everything that takes effect together, and why."""

from collections.abc import Mapping
from typing import Literal, TypedDict

from msgspec import field

from prloom.model.action import Action
from prloom.model.event import Target
from prloom.model.kinds import PlanState, State, Verdict
from prloom.model.pull_request import KeptPullRequest, OpenedPullRequest
from prloom.model.record import Cursor, Json, Position, Record, Timestamp
from prloom.model.run import UnusableAgent
from prloom.model.work import Block, CiFixes, Kept, WorkStep

OnExpire = Literal["park", "pass", "drop"]
Scope = Literal["plan", "global"]


class WakeOn(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What ends a wait early, whichever comes first.

    That is an event of one of the `types` (patterns, as `check_*`), one in one of the `threads`, or the end of `todo`.
    """

    types: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    todo: str | None = None


def _park() -> OnExpire:
    return "park"


class Deferral(Record, frozen=True, omit_defaults=True):
    """Why an event waits and how the wait ends: `owner` put it off, `attempts` times in a row.

    It ends at `deferred_until`, or as `wake_on` says, if that comes first. `agent` is the program that it waits for, if
    it waits for one.

    At `deadline` the wait ends as `on_expire` says: the event is parked for a person,
    passes on as if the owner had let it through, or is dropped.
    """

    owner: str
    reason: str
    attempts: int
    first_deferred_at: Timestamp
    deferred_until: Timestamp
    deadline: Timestamp
    on_expire: OnExpire = field(default_factory=_park)  # so that it is always written
    wake_on: WakeOn | None = None
    agent: UnusableAgent | None = None


class Intake(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the projection keeps of an event that came in: where its line is, and enough to list it.

    `created_at` and `written_at`, the time of its present form, are texts as the event's source wrote them.
    `acknowledgement` is the sign that its author gets if the event is approved; only a held one has yet to get it. A
    `notice` tells that something happened, and needs no answer. `commit` is the one that it is about, where it is over
    with that one.
    """

    position: Position
    type: str
    source: str
    digest: str
    author: str | None = None
    created_at: str | None = None
    written_at: str | None = None
    acknowledgement: Action | None = None
    notice: bool = False
    commit: str | None = None


class Change(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one event: its state from now on, and the verdict and reason that put it there.

    `intake` is present in the first change of an event. `plugin` names the plugin that is done with the event where it
    passes on. `alone` says that the event is triaged in a run of its own from now on. `woken_by` is the event or TODO
    that ended its wait, and `approved_by` the login of the person who approved its text, or `operator`.
    """

    event_id: str
    verdict: Verdict
    state: State
    reason: str | None = None
    intake: Intake | None = None
    deferral: Deferral | None = None
    plugin: str | None = None
    alone: bool = False
    woken_by: str | None = None
    approved_by: str | None = None


class StateWrite(Record, frozen=True, kw_only=True):
    """Writes of one plugin to one of its two stores; `version` counts the store's writes and makes replay safe."""

    plugin: str
    scope: Scope
    version: int
    values: Mapping[str, Json] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()


class Thread(Record, frozen=True):
    """A conversation that is to be resolved when the TODOs that its event requested are done."""

    event_id: str
    target: Target


class Todo(Record, frozen=True, kw_only=True):
    """A change that a comment requests, with what a worker needs to know; a `rebase` is that of the whole branch.

    `approved_by` are the people who approved those of its events whose authors are not trusted.
    """

    id: str
    title: str
    context: str = ""
    event_ids: tuple[str, ...] = ()
    threads: tuple[Thread, ...] = ()
    rebase: bool = False
    approved_by: tuple[str, ...] = ()


class PlanText(Record, frozen=True, kw_only=True):
    """A plan that a hook rewrote: `base` is the digest of the text that it had seen."""

    base: str
    text: str


class DeliveryChange(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one attempt to deliver an action; `queued` revives one that had failed.

    `dropped` ends one that is not needed any more: no alarm, and no more tries. `commit` is the commit that the
    attempt was about, where the action names none: later attempts are about the same one.
    """

    action_id: str
    state: Literal["delivered", "retrying", "failed", "queued", "dropped"]
    attempts: int
    next_try: Timestamp | None = None
    error: str | None = None
    url: str | None = None
    remote_id: str | None = None
    withheld: bool = False
    released: bool = False
    commit: str | None = None


class Decision(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One line of `decisions.jsonl`, the commit point: all of it takes effect, or none.

    `seq` counts the decisions of one bus without gaps. `stage` is the step of an event's life that decided, `by` who.
    `courtesies` are the acknowledgements among its actions: everything else goes before them, and their failure is
    not reported. `drafts` are those that wait until a person sends them. `cursor` is how far `events.jsonl` is read
    once this decision is applied, `fingerprint` a checksum of what was read there, and `rereading` how far a file that
    took another's place is to be read again. `plan_status` is what the plan is from now on. `work` is a step of the
    work on a TODO. A `block` keeps the plan's TODOs from being worked on until a decision that says `unblocked`.
    `pull_request` is how far the pull request shows all this, and `opened` the one that was opened. `kept` is until
    when, or why, the worktree of a plan that has ended is kept. `ci_fixes` counts the TODOs for failed checks. A
    `snapshot` opens a new segment of the log: the whole state, so that nothing older is needed to rebuild it.
    """

    seq: int
    stage: str  # a DecisionStage, or that of another version of prloom: a log is read for as long as it exists
    by: str
    changes: tuple[Change, ...] = ()
    actions: tuple[Action, ...] = ()
    courtesies: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    writes: tuple[StateWrite, ...] = ()
    todos: tuple[Todo, ...] = ()
    todos_done: tuple[str, ...] = ()
    todos_dropped: tuple[str, ...] = ()
    deliveries: tuple[DeliveryChange, ...] = ()
    plan: PlanText | None = None
    cursor: Cursor | None = None
    fingerprint: int | None = None
    rereading: Cursor | None = None
    run: str | None = None
    duration_ms: int | None = None
    note: str | None = None
    paused: bool | None = None
    plan_status: str | None = None  # a PlanState, or one of another version
    rebase_requested: bool | None = None
    work: WorkStep | None = None
    block: Block | None = None
    unblocked: bool = False
    pull_request: KeptPullRequest | None = None
    opened: OpenedPullRequest | None = None
    kept: Kept | None = None
    ci_fixes: CiFixes | None = None
    snapshot: Mapping[str, Json] | None = None


class DecisionParts(TypedDict, total=False):
    """What a decision changes: the fields of `Decision` that are given to `commit`, all of them optional."""

    changes: tuple[Change, ...]
    actions: tuple[Action, ...]
    courtesies: tuple[str, ...]
    drafts: tuple[str, ...]
    writes: tuple[StateWrite, ...]
    todos: tuple[Todo, ...]
    todos_done: tuple[str, ...]
    todos_dropped: tuple[str, ...]
    deliveries: tuple[DeliveryChange, ...]
    plan: PlanText | None
    cursor: Cursor | None
    fingerprint: int | None
    rereading: Cursor | None
    run: str | None
    duration_ms: int | None
    note: str | None
    paused: bool | None
    plan_status: PlanState | None
    rebase_requested: bool | None
    work: WorkStep | None
    block: Block | None
    unblocked: bool
    pull_request: KeptPullRequest | None
    opened: OpenedPullRequest | None
    kept: Kept | None
    ci_fixes: CiFixes | None
