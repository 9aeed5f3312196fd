"""Follow one TODO through the decision log of its plan: from the events that requested it to its commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from prloom.core.plans import plan_file
from prloom.core.plans.plan_file import TodoItem
from prloom.engine.bus import late_results, plans, replay
from prloom.engine.bus.replay import ReplayStep
from prloom.engine.views import event_history, history, runtime_status, search, snapshot, work_status
from prloom.engine.views.event_history import EventHistory
from prloom.engine.views.history import HistoryStep, Mentions
from prloom.errors import PrloomError
from prloom.model.decision import Todo
from prloom.model.state import DispatchState
from prloom.model.work_report import RunWait
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir

_BLOCKS = (b'"block":', b'"unblocked":')
_ENDS = frozenset(("done", "nothing_to_do", "parked", "removed"))


class TodoHistory(NamedTuple):
    """A TODO as the plan has it (`state` is `removed` where it has it no more), and all that happened to it.

    `now` is the state of the plan, and `wait` what its next run waits for, if it does. `events` are those that
    requested the TODO, as far as they can be found.
    """

    plan: str
    item: TodoItem
    state: str
    happened: tuple[HistoryStep, ...]
    now: DispatchState
    events: tuple[EventHistory, ...] = ()
    wait: RunWait | None = None

    @property
    def commit(self) -> str | None:
        """The TODO's newest commit."""
        return next((step.commit for step in reversed(self.happened) if step.commit is not None), None)

    @property
    def attempts(self) -> int:
        """How many attempts were begun."""
        return attempts_begun((step.verdict, step.attempt) for step in self.happened)


def attempts_begun(steps: Iterable[tuple[str, int | None]]) -> int:
    """Return how many attempts were begun by the steps of a TODO, each a verdict and the number of its attempt.

    A run that was cut short is no attempt: the attempt begins anew, with the same number. Where the TODO is taken
    again, the numbers begin anew.
    """
    begun = 0
    before: int | None = 0  # no attempt has this number
    for verdict, attempt in steps:
        if verdict == "started":
            begun += attempt != before
            before = attempt
        elif verdict == "taken":
            before = 0
    return begun


def find(repository: RepositoryPaths, todo_id: str, *, plan: str | None = None) -> tuple[TodoHistory, ...]:
    """Return the history of the TODO of this id, in each plan, or in the one that is named, that has or had it."""
    found = []
    for plan_id in plans.ids(repository) if plan is None else (plan,):
        try:
            one = _of_plan(repository, plan_id, todo_id)
        except PrloomError:
            if plan is not None:
                raise
            continue  # `prloom status` and `prloom doctor` tell of it
        if one is not None:
            found.append(one)
    return tuple(found)


def _of_plan(repository: RepositoryPaths, plan_id: str, todo_id: str) -> TodoHistory | None:
    local = SafeDir.open(repository.worktree(plan_id), *paths.LOCAL)
    if local is None:
        return None
    replayed, now = _TodoReplay(todo_id), DispatchState()
    with local:
        text = (local.read_bytes(paths.PLAN_TEXT) or b"").decode("utf-8", "replace")
        bus = local.sub(paths.BUS)
    if bus is not None:
        with bus:
            now = snapshot.current_state(bus)
            for step in replay.steps(JournalReader(bus, paths.DECISIONS), replayed.is_mentioned):
                replayed.add(step)
    item = next((todo for todo in plan_file.todos(text) if todo.id == todo_id), None)
    state = "removed"
    if item is not None:
        state = item.state
    if item is None:
        item = replayed.item()
    if item is None:
        return None
    events = _events(repository, plan_id, replayed.event_ids or item.event_ids)
    steps = _with_late_results(replayed.steps(), repository.worktree(plan_id))
    return TodoHistory(plan_id, item, state, steps, now, events, _wait(repository, plan_id, now))


def _with_late_results(steps: tuple[HistoryStep, ...], worktree: Path) -> tuple[HistoryStep, ...]:
    """Return the steps with what machines came to that had lost one of the runs by then, in the order of time."""
    late: list[HistoryStep] = []
    for run in dict.fromkeys(step.run for step in steps if step.run is not None):
        folder = worktree.joinpath(*paths.LOCAL, paths.RUNS, run)
        for each in late_results.read(folder):
            reason = f"the result came late, when another machine had the run, and is not used: {each.described}"
            late.append(HistoryStep(each.at, "work", each.machine, "late", reason=reason, run=run))
    if not late:
        return steps
    return tuple(sorted((*steps, *late), key=attrgetter("ts")))


def _wait(repository: RepositoryPaths, plan_id: str, now: DispatchState) -> RunWait | None:
    local = SafeDir.open(repository.root, *paths.LOCAL)
    if local is None:
        return None
    with local:
        return work_status.wait(runtime_status.waiting_work(local), plan_id, now)


def _events(repository: RepositoryPaths, plan_id: str, event_ids: tuple[str, ...]) -> tuple[EventHistory, ...]:
    found = []
    for event_id in event_ids:
        try:
            found.append(event_history.follow(repository, plan_id, event_id))
        except PrloomError:  # its line is gone: the step that added the TODO still names it
            continue
    return tuple(found)


@dataclass
class _TodoReplay:
    """What the log says of one TODO, as far as it was read; `at_work` says that it is the one that is worked on."""

    todo_id: str
    added: Todo | None = None
    title: str = ""
    event_ids: tuple[str, ...] = ()
    happened: list[HistoryStep] = field(default_factory=list)
    mentions: Mentions = field(default_factory=Mentions)
    at_work: bool = False
    blocked: bool = False

    def __post_init__(self) -> None:
        self._needle = search.needle(self.todo_id)
        self.mentions.watch(self.todo_id)

    def is_mentioned(self, line: bytes) -> bool:
        """Whether a line can be about the TODO: blocks of the plan stop the work on it, and do not name it."""
        return self.mentions.is_in(line) or any(mark in line for mark in _BLOCKS)

    def item(self) -> TodoItem | None:
        """Return the TODO as the log knows it, or None where it says nothing of it."""
        if self.added is not None:
            return TodoItem(self.todo_id, self.added.title, context=self.added.context, event_ids=self.added.event_ids)
        if self.title:
            return TodoItem(self.todo_id, self.title, event_ids=self.event_ids)
        return None

    def steps(self) -> tuple[HistoryStep, ...]:
        """Return all that happened."""
        return self.mentions.with_actions_now(self.happened)

    def add(self, said: ReplayStep) -> None:
        """Add what a decision did to the TODO."""
        decision = said.decision
        if said.recalled is not None:
            self._recall(said, said.recalled)
        steps = []
        for todo in decision.todos:
            if todo.id == self.todo_id:
                self.added, self.event_ids = todo, todo.event_ids
                steps.append(history.happened(said, "added")._replace(reason=", ".join(todo.event_ids) or None))
        steps += self._worked(said)
        steps += self._blocked(said)
        if self.todo_id in decision.todos_done and not (self.happened and self.happened[-1].verdict in _ENDS):
            steps.append(history.happened(said, "done")._replace(reason="its box was checked"))
        if self.todo_id in decision.todos_dropped:
            steps.append(history.happened(said, "taken out"))
        if decision.work is not None and decision.work.todo_id == self.todo_id and decision.actions:
            steps[-1] = steps[-1]._replace(actions=self.mentions.queue(action.id for action in decision.actions))
        self.happened += [*steps, *self.mentions.deliveries(said)]

    def _worked(self, said: ReplayStep) -> list[HistoryStep]:
        step = said.decision.work
        if step is None or step.todo_id != self.todo_id:
            return []
        self.at_work = step.work is not None
        if step.work is not None:
            self.title, self.event_ids = step.work.title, step.work.event_ids or self.event_ids
        return [history.worked(said, step)]

    def _blocked(self, said: ReplayStep) -> list[HistoryStep]:
        """Return the beginning or the end of a block of the plan that keeps this TODO from being worked on."""
        block = said.decision.block
        if block is not None and (self.at_work or block.todo == self.todo_id):
            self.blocked = True
            return [history.happened(said, "blocked")._replace(reason=block.reason)]
        if said.decision.unblocked and self.blocked:
            self.blocked = False
            return [history.happened(said, "unblocked")]
        return []

    def _recall(self, said: ReplayStep, state: DispatchState) -> None:
        """Take up the TODO from a snapshot, where the segments before it were taken away."""
        if self.happened:
            return
        self.at_work = state.work is not None and state.work.id == self.todo_id
        if state.work is not None and self.at_work:
            self.title, self.event_ids = state.work.title, state.work.event_ids
            reason = "what came before is not in the log any more; it was worked on by then"
            self.happened.append(history.happened(said, state.work.phase)._replace(reason=reason, todo=self.todo_id))
        done = state.done_todos.get(self.todo_id)
        if done is not None:
            reason = "what came before is not in the log any more; it was done by then"
            self.happened.append(history.happened(said, "done")._replace(reason=reason, commit=done.commit))
