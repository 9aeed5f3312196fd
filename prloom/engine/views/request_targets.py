"""Find what an operator's request is about: open events and queued actions, by their names, author or state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from prloom.core import trust
from prloom.core.plans.plan_file import TodoItem
from prloom.core.text import shown_text
from prloom.engine.bus import entries
from prloom.engine.views import search, snapshot, todo_history
from prloom.engine.views.snapshot import Snapshot
from prloom.errors import PrloomError
from prloom.model.action import Action
from prloom.model.event import Event, digest
from prloom.model.state import OpenEvent, QueuedAction
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader


class RequestTarget(NamedTuple):
    """What a name means in one plan: an open event, one that has yet to be taken in, a queued action, or a TODO.

    `waits` says that the TODO waits for something that a person can end.
    """

    plan: str
    id: str
    event: OpenEvent | None = None
    action: QueuedAction | None = None
    todo: TodoItem | None = None
    waits: bool = False

    @property
    def state(self) -> str:
        """The event's state, the action's, or the TODO's."""
        if self.todo is not None:
            return self.todo.state
        if self.action is not None:
            if self.action.failed:
                return "withheld" if self.action.withheld else "failed"
            if self.action.draft:
                return "draft"
            return "queued"
        if self.event is not None:
            return self.event.state
        return "pending"


def named(
    repository: RepositoryPaths, names: Iterable[str], *, plan: str | None = None, todos: bool = False
) -> tuple[RequestTarget, ...]:
    """Return what the names mean, in all plans or in one; raises PrloomError where one means nothing that is open.

    TODOs are among that where they are asked for.

    The name of an event that is done means the actions of its that failed.
    """
    found = [each for each in snapshot.every(repository) if plan in {None, each.plan.id}]
    targets: list[RequestTarget] = []
    for name in dict.fromkeys(names):
        meant = [target for each in found for target in _targets_in(each, name)]
        if todos and not meant:
            meant = [target for each in found for target in _todos_in(each, name)]
        if not meant:
            raise PrloomError(_nothing_open(repository, name))
        targets += meant
    return tuple(targets)


def by_author(
    repository: RepositoryPaths, login: str, states: Collection[str], *, plan: str | None = None
) -> tuple[RequestTarget, ...]:
    """Return the open events by an author that are in one of these states; raises PrloomError where there are none."""
    open_events = in_state(repository, states, plan=plan)
    found = tuple(
        each for each in open_events if each.event and each.event.author and trust.named(each.event.author, [login])
    )
    if not found:
        option = f"--author {login}"
        if len(states) == 1:
            option = f"--state {next(iter(states))}"
        raise PrloomError(
            f"no event by {login} is {' or '.join(states)}; `prloom events {option}` lists those that are"
        )
    return found


def in_state(repository: RepositoryPaths, states: Iterable[str], *, plan: str | None) -> tuple[RequestTarget, ...]:
    """Return the open events in these states, of all plans or of one."""
    wanted = set(states)
    return tuple(
        RequestTarget(each.plan.id, event.id, event=event)
        for each in snapshot.every(repository)
        if plan in {None, each.plan.id}
        for event in each.bus.state.open.values()
        if event.state in wanted
    )


def actions(repository: RepositoryPaths, state: str, *, plan: str | None) -> tuple[RequestTarget, ...]:
    """Return the actions in this state, `failed` or `withheld` as a rule, of all plans or of one."""
    found = (
        RequestTarget(each.plan.id, queued.id, action=queued)
        for each in snapshot.every(repository)
        if plan in {None, each.plan.id}
        for queued in each.bus.state.queue.values()
    )
    return tuple(target for target in found if target.state == state)


def action(repository: RepositoryPaths, target: RequestTarget) -> Action:
    """Return what a queued action would do; raises PrloomError where its line cannot be read."""
    bus = snapshot.open_bus(repository, target.plan)
    found = None
    if bus is not None and target.action is not None:
        with bus:
            found = entries.action(JournalReader(bus, paths.ACTIONS).read_at(target.action.position))
    if found is None or target.action is None or found.id != target.action.id:
        raise PrloomError(f"the line of {target.id} in actions.jsonl cannot be read; `prloom doctor` names it")
    return found


def event(repository: RepositoryPaths, target: RequestTarget) -> Event:
    """Return what an open event says; raises PrloomError where that is not what came in."""
    opened = target.event
    bus = snapshot.open_bus(repository, target.plan)
    came = None
    if bus is not None and opened is not None:
        with bus:
            came = search.find_event(bus, target.id, opened.position)
    if came is None or opened is None or digest(came.event) != opened.digest:
        raise PrloomError(
            f"the text of {target.id} in events.jsonl is not the text that came in, so it cannot be approved; "
            "find out what changed it, or drop it with `prloom drop`"
        )
    return came.event


def _targets_in(of: Snapshot, name: str) -> Iterator[RequestTarget]:
    queue = of.bus.state.queue
    opened = of.bus.state.open.get(name)
    if opened is not None:
        yield RequestTarget(of.plan.id, name, event=opened)
    elif name in of.bus.untaken:
        yield RequestTarget(of.plan.id, name)
    elif name in queue:
        yield RequestTarget(of.plan.id, name, action=queue[name])
    else:
        failed = [each for each in queue.values() if each.failed and each.event_id == name]
        yield from (RequestTarget(of.plan.id, name, action=each) for each in failed)


def _todos_in(of: Snapshot, name: str) -> Iterator[RequestTarget]:
    work = of.bus.state.work
    for todo in of.todos:
        if todo.id == name:
            waits = todo.state == "blocked" or (work is not None and work.id == name and work.retry_at is not None)
            yield RequestTarget(of.plan.id, name, todo=todo, waits=waits)


def _nothing_open(repository: RepositoryPaths, name: str) -> str:
    """Return why a name means nothing that could be worked on: it is done, or it never was."""
    if search.find(repository, name):
        return f"{name} is already done; `prloom why` shows how it ended"
    if _has_written(repository, name):
        return f"no event, reply, action or TODO {name}; did you mean @{name}, the events by {name}?"
    todos = todo_history.find(repository, name)
    if todos:
        choices = shown_text.any_to_run([("todo", each.plan, do, name) for each in todos for do in ("open", "drop")])
        return f"{name} is a TODO and not an event; change it with one of: {choices}"
    return search.not_found_message(repository, name)


def _has_written(repository: RepositoryPaths, login: str) -> bool:
    """Whether somebody of this login is the author of an open event."""
    opened = (event for each in snapshot.every(repository) for event in each.bus.state.open.values())
    return any(event.author is not None and trust.named(event.author, [login]) for event in opened)
