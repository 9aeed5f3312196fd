"""Build the history of one TODO: the document of `prloom why TODO-ID --json`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from prloom.core.text import shown_text
from prloom.engine.views import todo_history, why, work_status
from prloom.engine.views.status_schema import BlockStatus, CurrentTodo
from prloom.engine.views.todo_history import TodoHistory
from prloom.engine.views.why import WhyStep
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.record import Json, Record
from prloom.storage.paths import RepositoryPaths


class ExplainedTodo(Record, frozen=True, kw_only=True):
    """The TODO, with the keys of `prloom todo --json` and its plan and context."""

    id: str
    title: str
    state: str
    event_ids: tuple[str, ...]
    commit: str | None
    attempts: int
    reason: str | None
    plan: str
    context: str


class WhyTodo(Record, frozen=True, kw_only=True):
    """The document: `events` are those that the TODO came from, `now` what is in progress, `block` what stops that."""

    todo: ExplainedTodo
    state: str
    steps: tuple[WhyStep, ...]
    events: tuple[Mapping[str, Json], ...]
    now: CurrentTodo | UnsetType = UNSET
    block: BlockStatus | UnsetType = UNSET


def find(repository: RepositoryPaths, named: str, *, plan: str | None = None) -> TodoHistory | None:
    """Return the history of the TODO of this id; None where no plan has or had it.

    Raises PrloomError where several plans have one.
    """
    found = todo_history.find(repository, named, plan=plan)
    if len(found) > 1:
        choices = shown_text.any_to_run([("why", named, ("--plan", each.plan)) for each in found])
        raise PrloomError(f"{named} is a TODO of several plans; choose one: {choices}")
    return next(iter(found), None)


def current(of: TodoHistory) -> CurrentTodo | None:
    """Return the TODO as the one that is worked on, or None where it is not."""
    found = work_status.current(of.now, of.wait)
    if found is None or found.id != of.item.id:
        return None
    return found


def block(of: TodoHistory) -> BlockStatus | None:
    """Return what keeps the TODO from being worked on, if anything does; one that has ended is not worked on anyway."""
    found = work_status.block(of.now)
    if found is None or of.state not in {"open", "blocked"}:
        return None
    return found


def document(of: TodoHistory) -> WhyTodo:
    """Return the document for `--json`."""
    todo = ExplainedTodo(
        id=of.item.id or "",
        title=of.item.title,
        state=of.state,
        event_ids=tuple(each.event.id for each in of.events) or of.item.event_ids,
        commit=of.commit,
        attempts=of.attempts,
        reason=of.item.reason,
        plan=of.plan,
        context=of.item.context,
    )
    return WhyTodo(
        todo=todo,
        state=of.state,
        steps=tuple(why.step(each) for each in of.happened),
        events=tuple({**record.to_wire(each.event), "state": each.state} for each in of.events),
        now=current(of) or UNSET,
        block=block(of) or UNSET,
    )
