"""The work on a plan's TODOs: how far it has come, what each step of it came to, and why a plan is blocked."""

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from prloom.model.record import Cursor, Record, Timestamp
from prloom.model.run import UnusableAgent

Phase = Literal[
    "taken", "prepared", "ready", "running", "changed", "checked", "reviewed", "accepted", "committed", "pushed"
]
"""How far the work on a TODO is: each step begins in one phase and ends in the next, or goes back to `ready`.

`taken`: prepare the worktree. `prepared`: run the beforeTodo hooks. `ready`: start a worker. `running`: wait for it and
inspect its change. `changed`: run the checks. `checked`: have the change reviewed. `reviewed`: run the afterTodo hooks.
`accepted`: commit. `committed`: push. `pushed`: report.
"""

WorkVerdict = Literal[
    "taken",
    "prepared",
    "ready",
    "started",
    "changed",
    "checked",
    "approved",
    "rejected",
    "accepted",
    "committed",
    "pushed",
    "not_pushed",
    "done",
    "nothing_to_do",
    "failed",
    "violated",
    "limited",
    "delayed",
    "cut_short",
    "resolved",
    "lifted",
    "parked",
    "reopened",
    "removed",
    "hooked",
    "proposed",
    "granted",
    "asked",
    "answered",
    "retried",
    "corrected",
    "finished",
    "hooks_run",
]
"""What a step of the work came to; docs/files.md says what each of them means."""

LifeHook = Literal["afterActivate", "beforeFinish", "afterFinish", "afterMerge"]
"""The hook points about a plan as a whole that the dispatcher calls."""

BoxState = Literal["open", "done", "blocked"]
"""What the box of a TODO in `plan.md` shows after a step."""


class NewTodo(Record, frozen=True):
    """A change that an agent reports as one to be made; of a triage agent's, also the events that request it."""

    title: str
    context: str = ""
    event_ids: tuple[str, ...] = ()


class TodoWork(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The work on one TODO between two of its steps.

    `round` counts how often the TODO was requested. `attempt` numbers the present attempt, which began at `started_at`;
    `failures` and `rejections` count against their limits. `base` is the commit that the change is made on. `run`,
    `agent` and `session` are those of the worker. `feedback` is what the next attempt is told of the last one,
    `answer` what a person answered to a question of an earlier one, `fingerprints` are digests of what that one
    produced, and `violated` says that it broke a rule. `tree` is the inspected change, `summary` and `message` the
    worker's own words about it, `todos` the further TODOs of its answer, `commit` what it became. Nothing is done
    before `retry_at`, because of `waits_for`, which began at `waits_since`; `limited` says that this is a limit,
    which ends then, and `unusable` which agent program it waits for; `tried` that a person has the program tried
    before that. `hooked` are the plugins whose hooks of this phase have run. A `rebase` is one of the branch:
    `base` is its old tip, `commit` its new one, and `tree` a commit: the note of a conflict, its inspected
    resolution, or the new tip. `lifted` says that a person lifted the daily limits for this TODO. `refusals` counts
    how often machines refused its run, or then the remote its commit, and `review_failures` the runs of reviewers
    that gave no verdict on the change. `moves` counts how often somebody else moved the branch before the change
    was committed, or the result of a rebase pushed, and `losses` how many runs in a row were lost because their
    processes were killed.
    """

    id: str
    title: str
    phase: Phase = "taken"
    round: int = 1
    attempt: int = 1
    started_at: Timestamp | None = None
    failures: int = 0
    rejections: int = 0
    event_ids: tuple[str, ...] = ()
    base: str | None = None
    run: str | None = None
    agent: str | None = None
    session: str | None = None
    feedback: str | None = None
    answer: str | None = None
    fingerprints: tuple[str, ...] = ()
    violated: bool = False
    tree: str | None = None
    summary: str | None = None
    message: str | None = None
    todos: tuple[NewTodo, ...] = ()
    commit: str | None = None
    retry_at: Timestamp | None = None
    waits_for: str | None = None
    waits_since: Timestamp | None = None
    limited: bool = False
    unusable: UnusableAgent | None = None
    tried: bool = False
    hooked: tuple[str, ...] = ()
    rebase: bool = False
    lifted: bool = False
    refusals: int = 0
    review_failures: int = 0
    moves: int = 0
    losses: int = 0
    checks: tuple[str, ...] = ()


class Question(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What a worker asked about a TODO, and where: answers are looked for behind `after` in `events.jsonl`.

    It was asked in the conversations `threads`, as replies to the events `event_ids`, or in no conversation of its own:
    then `targets` are the places.
    """

    text: str
    after: Cursor
    threads: tuple[str, ...] = ()
    event_ids: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


class WorkStep(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One step of the work on a TODO, as a decision records it.

    `work` is the state after the step; None ends the work on the TODO. `box` is what `plan.md` shows from then on, with
    the reason where that is `blocked`; `notes` are added to the plan for later TODOs. A step with a `hook` is about the
    plan as a whole: every plugin's hook of that point has run. A `question` waits for an answer by a trusted person,
    and an `answer` is what the next attempt is told. `moved` are the new commits of TODOs that are done, by their ids,
    where a rebase has put other commits in the place of theirs. `output` is the end of what a failed check printed.
    """

    todo_id: str
    verdict: WorkVerdict
    reason: str | None = None
    work: TodoWork | None = None
    box: BoxState | None = None
    commit: str | None = None
    notes: str | None = None
    hook: LifeHook | None = None
    question: Question | None = None
    answer: str | None = None
    moved: Mapping[str, str] = field(default_factory=dict)
    output: str | None = None


class Block(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Why no TODO of a plan is worked on, since when, and the command that lets the plan continue.

    A block with a `todo` ends as soon as that TODO is not blocked any more. `cause` tells apart the blocks that prloom
    itself can lift.
    """

    reason: str
    since: Timestamp
    way_on: str
    todo: str | None = None
    cause: Literal["todo", "worktree", "branch", "hook", "setup", "signature", "operator", "limit"] = "operator"


class Kept(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Until when the worktree of a plan that has ended is kept; or why it is, until a person has seen to that."""

    until: Timestamp | None = None
    reason: str | None = None


class CiFixes(Record, frozen=True, kw_only=True, omit_defaults=True):
    """How many TODOs failed checks became since a person last made a head, the latest of them for the commit `head`."""

    count: int = 0
    head: str | None = None


class DoneTodo(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A TODO that was done, in which round, and by which commit; None where there was nothing to do.

    `summary` is what its worker says of it, whose program `agent` names, and `checks` are those that passed before the
    commit.
    """

    round: int = 1
    commit: str | None = None
    agent: str | None = None
    summary: str | None = None
    checks: tuple[str, ...] = ()
