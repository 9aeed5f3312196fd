"""Find events by their id or URL, or by the id or URL of a reply."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prloom.core.plans import plan_file
from prloom.engine.bus import entries, inbox, plans
from prloom.engine.bus.entries import ReceivedEvent
from prloom.engine.bus.inbox import PlanDraft
from prloom.engine.views import events, plan_names, snapshot
from prloom.engine.views.snapshot import REPOSITORY
from prloom.errors import PrloomError
from prloom.model.action import Action
from prloom.model.decision import Decision
from prloom.model.record import Position
from prloom.storage import json_codec, paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalEntry, JournalReader
from prloom.storage.safe_dir import SafeDir

_COMPARED = 5000  # the latest ids, among which the nearest is looked for
_NOT_POLLED = (
    "if it is newer than the last poll, run `prloom poll`; "
    "if prloom does not look after its pull request yet, run `prloom adopt PR`"
)


class SearchHits(NamedTuple):
    """The events of one plan that were meant; several where a comment was edited: the last is the newest."""

    plan: str
    event_ids: tuple[str, ...]


def find(repository: RepositoryPaths, named: str, *, plan: str | None = None) -> tuple[SearchHits, ...]:
    """Return the plans that have an event which was meant, with its id."""
    found = []
    for plan_id in (*plans.ids(repository), REPOSITORY) if plan is None else (plan,):
        try:
            bus = snapshot.open_bus(repository, plan_id)
        except PrloomError:
            if plan is not None:
                raise
            continue  # `prloom status` and `prloom doctor` tell of it
        if bus is not None:
            with bus:
                ids = _matching_ids(bus, named)
            if ids:
                found.append(SearchHits(plan_id, ids))
    return tuple(found)


def find_event(bus: SafeDir, event_id: str, position: Position | None) -> ReceivedEvent | None:
    """Return the line of an event: the one that was taken in at a position, else the first with its id."""
    journal = JournalReader(bus, paths.EVENTS)
    if position is not None:
        line = journal.read_at(position)
        if line is None:
            lines = []
        else:
            lines = [JournalEntry(position, line)]
        taken = next((came for came in entries.received_events(lines) if came.event.id == event_id), None)
        if taken is not None:
            return taken
    return next((came for came in _events_with(journal, event_id) if came.event.id == event_id), None)


def needle(text: str) -> bytes:
    """Return a text as prloom's own journals spell it."""
    return json_codec.encode(text)


def not_found_message(repository: RepositoryPaths, named: str) -> str:
    """Return the error about a name that nothing has, with the nearest ids, or why an address may not be known."""
    if "://" in named:
        return f"prloom knows no event and no reply with the address {named}; {_NOT_POLLED}"
    draft = next((each for each in inbox.every(repository) if _has_todo(each, named)), None)
    if draft is not None:
        return f"{named} is a TODO of a plan that has not begun: {plan_names.not_begun(draft)}"
    ids = list(dict.fromkeys(row.id for row in events.every(repository).rows))
    if not ids:
        return f"no event {named}: there are no events yet"
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake costs it

    close = get_close_matches(named, ids[-_COMPARED:], n=3)
    hint = "`prloom events` lists all events"
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    return f"no event, reply, action or TODO {named}; {hint}"


def _has_todo(draft: PlanDraft, todo_id: str) -> bool:
    return any(todo.id == todo_id for todo in plan_file.todos(draft.text))


def _matching_ids(bus: SafeDir, named: str) -> tuple[str, ...]:
    log = JournalReader(bus, paths.DECISIONS)
    journal = JournalReader(bus, paths.EVENTS)
    by_url = [came.event.id for came in _events_with(journal, named) if named in {came.event.url, came.event.id}]
    if by_url:
        return tuple(dict.fromkeys(by_url))
    if _was_taken_in(log, named):
        return (named,)
    actions = {named, *_delivered_to(log, named)}
    return tuple(dict.fromkeys(cause for action_id in actions for cause in _causes(log, action_id)))


def _was_taken_in(log: JournalReader, event_id: str) -> bool:
    """Whether the log knows an event of this id, whose line may be gone."""
    return any(
        change.event_id == event_id
        for said in entries.logged_decisions(log.containing(needle(event_id)))
        for change in said.decision.changes
    )


def _delivered_to(log: JournalReader, url: str) -> Iterator[str]:
    """Yield the actions that were posted at a URL."""
    for said in entries.logged_decisions(log.containing(needle(url))):
        yield from (delivery.action_id for delivery in said.decision.deliveries if delivery.url == url)


def _causes(log: JournalReader, action_id: str) -> Iterator[str]:
    """Yield the events that caused an action."""
    for said in entries.logged_decisions(log.containing(needle(action_id))):
        for action in said.decision.actions:
            if action.id == action_id:
                yield from answered_events(said.decision, action)


def answered_events(decision: Decision, action: Action) -> tuple[str, ...]:
    """Return the ids of the events that an action answers.

    Where a plugin did not say which event its action is about, those are all the events that the same call decided.
    """
    if action.related_event_id is not None:
        return (action.related_event_id,)
    return tuple(dict.fromkeys(change.event_id for change in decision.changes))


def _events_with(journal: JournalReader, text: str) -> Iterable[ReceivedEvent]:
    """Yield the events whose lines contain a text, as any program may spell it: in UTF-8 or in plain ASCII."""
    spellings = dict.fromkeys((needle(text), json.dumps(text).encode()))
    for spelling in spellings:
        yield from entries.received_events(journal.containing(spelling))
