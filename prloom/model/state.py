"""The projection of a decision log: every open event, queued action and TODO of one plan, and how far it is read."""

from collections.abc import Mapping

from msgspec import field

from prloom.model.action import Action
from prloom.model.decision import Deferral, Intake, Thread, Todo
from prloom.model.kinds import OpenState
from prloom.model.pull_request import KeptPullRequest
from prloom.model.record import START, Cursor, Position, Record, Timestamp
from prloom.model.work import Block, CiFixes, DoneTodo, Kept, LifeHook, Question, TodoWork


class OpenEvent(Record, frozen=True, kw_only=True, omit_defaults=True):
    """An event that is not done. Its text stays in the journal, at `position`.

    `since` is when it took its state, `first_deferred_at` when it was first deferred by any owner, which bounds the
    whole wait, `deferred_at` when its latest wait was named. `seen` and `passed` name the plugins that are done with it
    in onEvent and beforeTriage. `failures` counts triage runs that did not settle it; `actions` counts the actions it
    has caused, from which the next one's id is derived. `written_at` is when its text got its present form. `vouched`
    says that its author is not trusted, only its text. `acknowledgement` is what a held event's author gets once it is
    let in. A `notice` is for plugins, not for agents. `woken_by` is what ended its latest wait early: it is shown again
    once every observer has seen that. `approved_by` is who approved its text. `commit` is the one that it is about,
    where it is over as soon as the pull request has another head.
    """

    id: str
    state: OpenState
    position: Position
    type: str
    source: str
    digest: str
    since: Timestamp
    author: str | None = None
    created_at: str | None = None
    written_at: str | None = None
    vouched: bool = False
    reason: str | None = None
    by: str | None = None
    deferral: Deferral | None = None
    first_deferred_at: Timestamp | None = None
    deferred_at: Timestamp | None = None
    seen: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    run: str | None = None
    alone: bool = False
    failures: int = 0
    actions: int = 0
    acknowledgement: Action | None = None
    notice: bool = False
    woken_by: str | None = None
    approved_by: str | None = None
    commit: str | None = None

    @property
    def intake(self) -> Intake:
        """What was kept of the event when it came in."""
        return Intake(
            position=self.position,
            type=self.type,
            source=self.source,
            digest=self.digest,
            author=self.author,
            created_at=self.created_at,
            written_at=self.written_at,
            acknowledgement=self.acknowledgement,
            notice=self.notice,
            commit=self.commit,
        )


class QueuedAction(Record, frozen=True, kw_only=True, omit_defaults=True):
    """An action that is not delivered yet; `position` is its line in `actions.jsonl`.

    `withheld` says that it failed because it holds a secret, `released` that a person lets it go all the same.
    `attempts` counts the tries that are over; `tried_at` is when the latest was. `failed` ends them until a person
    requests a retry. `commit` is the commit that the attempts are about, where the action itself names none. A
    `courtesy` only acknowledges: it goes after all others, and is dropped where it cannot be delivered soon. A `draft`
    waits until a person sends it. `thread` names the conversation in which it says something, and `lifted` says that a
    person lets it go although that has had its replies of the day.
    """

    id: str
    position: Position
    target: str
    since: Timestamp
    event_id: str | None = None
    attempts: int = 0
    next_try: Timestamp | None = None
    tried_at: Timestamp | None = None
    error: str | None = None
    failed: bool = False
    withheld: bool = False
    released: bool = False
    courtesy: bool = False
    draft: bool = False
    commit: str | None = None
    thread: str | None = None
    lifted: bool = False


class RepliesToday(Record, frozen=True, kw_only=True, omit_defaults=True):
    """How many replies each conversation has had on a day (UTC)."""

    day: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


class DispatchState(Record, frozen=True, kw_only=True):
    """What `bus/state/dispatcher.json` holds; all of it can be rebuilt from the decision log.

    `log` is how far the decision log is folded in, `cursor` how far `events.jsonl` is read, `outbox` how long
    `actions.jsonl` is. `fingerprint` is a checksum of what was read before `cursor`; None if by an older prloom. Up
    to `rereading`, `events.jsonl` is read again, for it took another file's place, and what was taken in is known by
    the log. `done` counts the finished events by state, `delivered` the delivered actions without acknowledgements.
    `todos` are the TODOs that have not ended, with the conversations that wait for it. `rebase_requested` says that
    a comment requested a rebase of the branch that is not done, and `rebase_todo` which TODO that is. `work` is the
    TODO that is worked on, `block` why none is. `done_todos` are those that prloom did, and `reopened` the rounds of
    those that were requested again; `commits` counts the commits that they became. Where each TODO has to be allowed
    first, `proposed` is the one that waits for that, and `granted` are those that may begin. `paused_at` and
    `proposed_at` are when the plan was paused and when that TODO was proposed, and `blocked_at` when each of the TODOs
    that are blocked was, as far as a decision says so; states of older versions lack them. `unfinished` says that a
    TODO was done since the plan was finished last. `hooks_due` are the hook points about the whole plan that are to be
    called, and `plan_hooked` names the hooks of those that have run, as `hook:plugin`. `finish_rounds` counts how often
    the beforeFinish hooks have run and a TODO was open then, since the plan was finished last. `ended_at` is when the
    pull request was merged or closed, and `kept` until when, or why, the worktree is kept since then. `pull_request` is
    how far the pull request shows this. `ci_fixes` counts the TODOs for failed checks, and `own_head` is what prloom
    pushed last. `questions` are those about TODOs that wait for an answer, and `answers` what the next attempts at
    TODOs are told. `progressed_at` is when something last moved: a try that begins or fails again is no movement.
    `replies` counts the replies of today.
    """

    seq: int = 0
    log: Cursor = START
    cursor: Cursor = START
    fingerprint: int | None = None
    rereading: Cursor | None = None
    outbox: Cursor = START
    open: Mapping[str, OpenEvent] = field(default_factory=dict)
    done: Mapping[str, int] = field(default_factory=dict)
    queue: Mapping[str, QueuedAction] = field(default_factory=dict)
    delivered: int = 0
    todos: Mapping[str, tuple[Thread, ...]] = field(default_factory=dict)
    paused: bool = False
    paused_at: Timestamp | None = None
    rebase_requested: bool = False
    rebase_todo: str | None = None
    work: TodoWork | None = None
    block: Block | None = None
    done_todos: Mapping[str, DoneTodo] = field(default_factory=dict)
    reopened: Mapping[str, int] = field(default_factory=dict)
    granted: tuple[str, ...] = ()
    unfinished: bool = False
    plan_hooked: tuple[str, ...] = ()
    finish_rounds: int = 0
    hooks_due: tuple[LifeHook, ...] = ()
    ended_at: Timestamp | None = None
    kept: Kept | None = None
    ci_fixes: CiFixes = CiFixes()
    own_head: str | None = None
    pull_request: KeptPullRequest = KeptPullRequest()
    commits: int = 0
    proposed: str | None = None
    proposed_at: Timestamp | None = None
    blocked_at: Mapping[str, Timestamp] = field(default_factory=dict)
    progressed_at: Timestamp | None = None
    questions: Mapping[str, Question] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    replies: RepliesToday = RepliesToday()


class Attempt(Record, frozen=True):
    """A delivery that was begun: if there is no receipt, its outcome is not known."""

    count: int
    started_at: Timestamp


class Receipt(Record, frozen=True):
    """Proof of one delivery: what the target calls the thing that was posted."""

    action_id: str
    at: Timestamp
    url: str | None = None
    remote_id: str | None = None


class DeliveryState(Record, frozen=True, kw_only=True):
    """What `bus/state/bridge.<bridge>.actions.json` holds: attempts begun, and the latest receipts, oldest first."""

    attempts: Mapping[str, Attempt] = field(default_factory=dict)
    receipts: tuple[Receipt, ...] = ()


class IssuedPost(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One line of `issued/<forge>-<pr>.jsonl`: an action that was issued, or a post of an action that was found.

    `event_id` is the event that the action answers, as far as that is known; `ended` says that the event was done with
    the answer. A post that was `found` on the pull request has its `url`, the `thread` that it stands in, and the time
    at which it was written.
    """

    action_id: str
    event_id: str | None = None
    ended: bool = False
    found: bool = False
    thread: str | None = None
    written_at: str | None = None
    url: str | None = None


class IssuedTodo(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the same file of the kind `todo`: a TODO that was added to the plan, or one that `ended`.

    It has ended when its box was checked, or when it was taken out of `plan.md`.
    """

    todo: Todo
    ended: bool = False
