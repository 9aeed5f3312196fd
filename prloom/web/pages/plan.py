"""Build the page of a plan: its description, TODOs, conversation and runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from prloom.core.plans import plan_file, plan_text
from prloom.core.plans.plan_file import TodoItem
from prloom.engine.bus.plan_files import PlanFile
from prloom.engine.operator import plan_texts
from prloom.engine.operator.plan_texts import NamedPlan
from prloom.engine.runs import listing
from prloom.engine.views import event_history, events, status, why
from prloom.engine.views.events import EventFilter, EventRow
from prloom.engine.views.history import CausedTodo
from prloom.engine.views.status_schema import PlanStatus
from prloom.engine.views.why import WhyStep
from prloom.errors import PrloomError, StorageError
from prloom.model.record import Record
from prloom.model.run import RunRecord
from prloom.model.work import DoneTodo
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir
from prloom.web.site import Page, Query, Site

_EVENTS = 20
_MOST_EVENTS = 500
_RUNS = 20


class TodoLine(Record, frozen=True, kw_only=True):
    """A TODO of a plan, and the commit that did it; `reason` says why it is blocked."""

    id: str | None
    title: str
    state: str
    context: str
    event_ids: tuple[str, ...]
    commit: str | None
    reason: str | None


class Said(Record, frozen=True, kw_only=True):
    """An event of the conversation, with all that happened to it."""

    id: str
    type: str
    author: str | None
    title: str
    body: str
    url: str | None
    came_at: str
    state: str
    reason: str | None
    steps: tuple[WhyStep, ...]
    todos: tuple[CausedTodo, ...]


class PlanDocument(Record, frozen=True, kw_only=True):
    """A plan: the newest event and the newest run come first; `events` is how many events there are."""

    plan: PlanStatus
    description: str
    notes: str
    todos: tuple[TodoLine, ...]
    events: int
    conversation: tuple[Said, ...]
    runs: tuple[RunRecord, ...]


def page(site: Site, query: Query) -> Page:
    """Return the page of a plan or a draft, named as commands name it."""
    named = plan_texts.find(site.where, query.path["plan"])
    now = site.clock()
    shown = status.read(site.where, now, plan=named.id).plans
    if not shown:
        raise PrloomError(f"plan {named.id} is gone; see `prloom status`")
    text = _text(site, named)
    limit = query.number("limit", _EVENTS, _MOST_EVENTS)
    rows: tuple[EventRow, ...] = ()
    runs: tuple[RunRecord, ...] = ()
    if not named.is_draft:
        rows = events.every(site.where, EventFilter(), plan=named.id).rows
        runs = listing.listed(site.where, now, plan_id=named.id, limit=_RUNS)
    done: Mapping[str, DoneTodo] = {}
    with suppress(StorageError):  # the status says that, and why
        done = plan_texts.state(site.where, named).done_todos
    value = PlanDocument(
        plan=shown[0],
        description=plan_text.body(text),
        notes=plan_text.notes(text),
        todos=tuple(_todo(each, done) for each in plan_file.todos(text)),
        events=len(rows),
        conversation=tuple(_said(site, row) for row in reversed(rows[-limit:])),
        runs=tuple(reversed(runs)),
    )
    more = {"is_draft": named.is_draft, "limit": limit}
    return Page("plan.html", shown[0].title or named.id, value, more, (named.id,))


def _text(site: Site, named: NamedPlan) -> str:
    """Return the text of a plan, also of one that cannot be used."""
    if named.is_draft:
        return plan_texts.read(site.where, named)
    local = SafeDir.open(site.where.worktree(named.id), *paths.LOCAL)
    if local is None:
        return ""
    with local:
        return PlanFile(local).read()


def _todo(item: TodoItem, done: Mapping[str, DoneTodo]) -> TodoLine:
    commit = done.get(item.id or "", DoneTodo()).commit
    return TodoLine(
        id=item.id,
        title=item.title,
        state=item.state,
        context=item.context,
        event_ids=item.event_ids,
        commit=commit,
        reason=item.reason,
    )


def _said(site: Site, row: EventRow) -> Said:
    """Return an event with its history; one whose line cannot be read keeps what its row says."""
    body, came_at = "", row.created_at or row.updated_at
    steps: tuple[WhyStep, ...] = ()
    with suppress(PrloomError):
        followed = event_history.follow(site.where, row.plan, row.id)
        body, came_at = followed.event.body, followed.came_at or came_at
        steps = tuple(why.step(each) for each in followed.happened)
    return Said(
        id=row.id,
        type=row.type,
        author=row.author,
        title=row.title,
        body=body,
        url=row.url,
        came_at=came_at,
        state=row.state,
        reason=row.reason,
        steps=steps,
        todos=row.todos or (),
    )
