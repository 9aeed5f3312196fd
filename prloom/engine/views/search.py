"""Find events by their id or URL, or by the id or URL of a reply, and the targets that an operator's request names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prloom.core import trust
from prloom.engine.bus import entries, plans
from prloom.engine.bus.entries import ReceivedEvent
from prloom.engine.views import events, snapshot
from prloom.engine.views.snapshot import REPOSITORY, Snapshot
from prloom.errors import PrloomError
from prloom.model.action import Action
from prloom.model.event import Event, digest
from prloom.model.record import Position
from prloom.model.state import OpenEvent, QueuedAction
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
    ids = list(dict.fromkeys(row.id for row in events.every(repository).rows))
    if not ids:
        return f"no event {named}: there are no events yet"
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake costs it

    close = get_close_matches(named, ids[-_COMPARED:], n=3)
    hint = "`prloom events` lists all events"
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    return f"no event, reply or action {named}; {hint}"


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
    """Yield the event that caused an action."""
    for said in entries.logged_decisions(log.containing(needle(action_id))):
        for action in said.decision.actions:
            if action.id == action_id and action.related_event_id is not None:
                yield action.related_event_id


def _events_with(journal: JournalReader, text: str) -> Iterable[ReceivedEvent]:
    """Yield the events whose lines contain a text, as any program may spell it: in UTF-8 or in plain ASCII."""
    spellings = dict.fromkeys((needle(text), json.dumps(text).encode()))
    for spelling in spellings:
        yield from entries.received_events(journal.containing(spelling))


class RequestTarget(NamedTuple):
    """What a name means in one plan: an open event, an event that has yet to be taken in, or a queued action."""

    plan: str
    id: str
    event: OpenEvent | None = None
    action: QueuedAction | None = None

    @property
    def state(self) -> str:
        """The event's state, or the action's."""
        if self.action is not None:
            if self.action.failed:
                return "withheld" if self.action.withheld else "failed"
            if self.action.draft:
                return "draft"
            return "queued"
        if self.event is not None:
            return self.event.state
        return "pending"


def targets_named(
    repository: RepositoryPaths, names: Iterable[str], *, plan: str | None = None
) -> tuple[RequestTarget, ...]:
    """Return what the names mean, in all plans or in one; raises PrloomError where one means nothing that is open.

    The name of an event that is done means the actions of its that failed.
    """
    found = [each for each in snapshot.every(repository) if plan in {None, each.plan.id}]
    targets: list[RequestTarget] = []
    for name in dict.fromkeys(names):
        meant = [target for each in found for target in _targets_in(each, name)]
        if not meant:
            raise PrloomError(_nothing_open(repository, name))
        targets += meant
    return tuple(targets)


def targets_held_by(repository: RepositoryPaths, login: str, *, plan: str | None = None) -> tuple[RequestTarget, ...]:
    """Return the held events by an author, of all plans or of one; raises PrloomError where there are none."""
    held = targets_in_state(repository, ["held"], plan=plan)
    found = tuple(each for each in held if each.event and each.event.author and trust.named(each.event.author, [login]))
    if not found:
        raise PrloomError(f"no event by {login} is held; `prloom events --state held` lists those that are")
    return found


def targets_in_state(
    repository: RepositoryPaths, states: Iterable[str], *, plan: str | None
) -> tuple[RequestTarget, ...]:
    """Return the open events in these states, of all plans or of one."""
    wanted = set(states)
    return tuple(
        RequestTarget(each.plan.id, event.id, event=event)
        for each in snapshot.every(repository)
        if plan in {None, each.plan.id}
        for event in each.bus.state.open.values()
        if event.state in wanted
    )


def target_action(repository: RepositoryPaths, target: RequestTarget) -> Action:
    """Return what a queued action would do; raises PrloomError where its line cannot be read."""
    bus = snapshot.open_bus(repository, target.plan)
    found = None
    if bus is not None and target.action is not None:
        with bus:
            found = entries.action(JournalReader(bus, paths.ACTIONS).read_at(target.action.position))
    if found is None or target.action is None or found.id != target.action.id:
        raise PrloomError(f"the line of {target.id} in actions.jsonl cannot be read; `prloom doctor` names it")
    return found


def target_event(repository: RepositoryPaths, target: RequestTarget) -> Event:
    """Return what an open event says; raises PrloomError where that is not what came in."""
    opened = target.event
    bus = snapshot.open_bus(repository, target.plan)
    came = None
    if bus is not None and opened is not None:
        with bus:
            came = find_event(bus, target.id, opened.position)
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


def _nothing_open(repository: RepositoryPaths, name: str) -> str:
    """Return why a name means nothing that could be worked on: it is done, or it never was."""
    if find(repository, name):
        return f"{name} is already done; `prloom why` shows how it ended"
    return not_found_message(repository, name)
