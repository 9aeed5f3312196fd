"""Put events on a plan's bus by hand, as a source would: one made of options, or those that a text holds as JSON."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from prloom.core.events import admission
from prloom.engine.bus import entries, plans
from prloom.engine.bus.worktree_guard import WorktreeGuard
from prloom.engine.views import search
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.event import Author, Event
from prloom.model.plan import Plan
from prloom.model.record import Json
from prloom.storage import json_codec, paths
from prloom.storage.journal import Journal
from prloom.storage.json_codec import Unreadable
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

EXAMPLE = '{"id": "ci-1", "source": "ci", "type": "pr_comment", "body": "…"}'

OPERATOR = "operator"
"""The trust of an author whose text the operator approves."""

NAMELESS = "cli"
"""The author of an event that names none, if its trust is to be less than the operator's."""


def plan(repository: RepositoryPaths, plan_id: str) -> Plan:
    """Return what is known of a plan; raises PrloomError where it cannot be read."""
    with open_local(repository, plan_id) as local:
        return plans.load(local)


def append(repository: RepositoryPaths, plan_id: str, events: Sequence[Event], now: datetime) -> None:
    """Append events to a plan's bus, all or none; raises PrloomError where one of the ids is known already."""
    with open_local(repository, plan_id) as local, local.make_sub(paths.BUS) as bus:
        for event in events:
            if search.find_event(bus, event.id, None) is not None:
                raise PrloomError(
                    f"plan {plan_id} already has an event {event.id}, so nothing was appended; "
                    f"`prloom why` shows what happened to it"
                )
        written = [admission.shortened(event) for event in events]
        entries.append(Journal(bus, paths.EVENTS), written, now)


def parse(content: bytes, name: str) -> tuple[Event, ...]:
    """Return the events of a text that is one JSON object, an array of them, or one on each line.

    An object may also be a whole line of `events.jsonl`. Raises PrloomError that names the text and the first event
    that is wrong, or where it is not valid JSON.
    """
    try:
        return _parse(content)
    except PrloomError as error:
        raise PrloomError(f"{name}: {error}") from error


def _parse(content: bytes) -> tuple[Event, ...]:
    found = tuple(checked_event(value, where) for where, value in _values(content))
    if not found:
        raise PrloomError("there is no event in it; write an object with id, source and type")
    seen: set[str] = set()
    for event in found:
        if event.id in seen:
            raise PrloomError(f"two of its events have the id {event.id}; an id means one event")
        seen.add(event.id)
    return found


def with_trust(event: Event, trust: str | None) -> Event:
    """Return the event as `prloom emit` hands it in: it speaks for the operator, unless the event or `trust` says less.

    The trust given wins over that of the event.
    """
    if event.author is None:
        if trust is None:
            return event
        return replace(event, author=Author(NAMELESS, trust))
    return replace(event, author=replace(event.author, trust=trust or event.author.trust or OPERATOR))


def _values(content: bytes) -> Iterator[tuple[str, Json]]:
    """Yield each JSON value with where it stands."""
    whole = json_codec.parse(content)
    if isinstance(whole, list):
        yield from ((f"event {number}", value) for number, value in enumerate(whole, 1))
    elif not isinstance(whole, Unreadable):
        yield "the event", whole
    else:
        yield from _lines(content)


def _lines(content: bytes) -> Iterator[tuple[str, Json]]:
    """Yield the value of each line; where the first one is not a value, the text is taken for one that spans lines."""
    full = [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    for number, line in full:
        value = json_codec.parse(line)
        if isinstance(value, Unreadable):
            in_lines = number != full[0][0]
            raise PrloomError(_not_json(line, value, number) if in_lines else _not_json(content, value, 1))
        yield f"line {number}", value


def _not_json(content: bytes, unreadable: Unreadable, first: int) -> str:
    """Return where and why a text is not valid JSON, and how to fix it; its lines count from `first`."""
    import json  # noqa: PLC0415 - only a mistake costs it

    try:
        json.loads(content)
    except json.JSONDecodeError as error:
        where, why = f"line {first + error.lineno - 1}, column {error.colno}", error.msg
    except (ValueError, RecursionError):
        where, why = f"line {first}", unreadable.reason
    else:
        where, why = f"line {first}", unreadable.reason
    return f"{where}: not valid JSON: {why}; fix that place, or write one event such as {EXAMPLE}"


def checked_event(value: Json, where: str) -> Event:
    """Return the event that a JSON value is; raises PrloomError for one that no reader of a bus would take in."""
    if isinstance(value, dict) and value.get("kind") == "event" and isinstance(value.get("data"), dict):
        value = value["data"]
    problem = admission.size_problem(value)
    if problem is not None:
        raise PrloomError(f"{where}: {problem}")
    try:
        event = record.from_wire(Event, value)
        if event.created_at is not None:
            record.moment(event.created_at)
    except msgspec.ValidationError as error:
        raise PrloomError(f"{where}: {error}; an event has at least an id, a source and a type") from error
    except ValueError as error:
        raise PrloomError(f"{where}: createdAt is not a time: {error}; write it as 2026-11-21T12:00:00Z") from error
    for name in ("source", "type"):
        if not getattr(event, name).strip():
            raise PrloomError(f"{where}: {name} is empty")
    return event


def open_local(repository: RepositoryPaths, plan_id: str) -> SafeDir:
    """Open the `prloom/.local` of a plan; raises PrloomError where its branch brings files that pass for prloom's."""
    worktree = repository.worktree(plan_id)
    problem = WorktreeGuard(repository.root).problem(worktree)
    if problem is not None:
        raise PrloomError(problem)
    local = SafeDir.open(worktree, *paths.LOCAL)
    if local is None:
        raise PrloomError(f"there is no {worktree.joinpath(*paths.LOCAL)}; adopt its branch or pull request again")
    return local
