"""Read events that a person or a program hands in as JSON, or say what is wrong with which of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.event import Author, Event
from prloom.model.record import Json
from prloom.storage import wire
from prloom.storage.wire import Unreadable

OPERATOR = "operator"
"""The trust of an author for whom the operator speaks."""

NAMELESS = "cli"
"""The author of an event that nobody signed, where its trust is to be less than the operator's."""


def read(content: bytes) -> tuple[Event, ...]:
    """Return the events of a text that is one JSON object, an array of them, or one on each line.

    An object may also be a whole line of `events.jsonl`. Raises PrloomError that names the first that is wrong.
    """
    found = tuple(_event(value, where) for where, value in _values(content))
    if not found:
        raise PrloomError("there is no event in it; write an object with id, source and type")
    seen: set[str] = set()
    for event in found:
        if event.id in seen:
            raise PrloomError(f"two of its events have the id {event.id}; an id means one event")
        seen.add(event.id)
    return found


def spoken_for(event: Event, trust: str | None) -> Event:
    """Return the event as `prloom emit` hands it in: it speaks for the operator, unless the event or `trust` says less.

    The trust given wins over that of the event.
    """
    if event.author is None:
        return event if trust is None else replace(event, author=Author(NAMELESS, trust))
    return replace(event, author=replace(event.author, trust=trust or event.author.trust or OPERATOR))


def _values(content: bytes) -> Iterator[tuple[str, Json]]:
    """Yield each JSON value with where it stands."""
    whole = wire.parse(content)
    if isinstance(whole, list):
        yield from ((f"event {number}", value) for number, value in enumerate(whole, 1))
    elif not isinstance(whole, Unreadable):
        yield "the event", whole
    else:
        yield from _lines(content.split(b"\n"), whole)


def _lines(lines: Sequence[bytes], whole: Unreadable) -> Iterator[tuple[str, Json]]:
    full = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for number, line in full:
        value = wire.parse(line)
        if isinstance(value, Unreadable):
            reason = whole.reason if len(full) == 1 or line is full[0][1] else value.reason
            raise PrloomError(f"line {number} is no JSON: {reason}")
        yield f"line {number}", value


def _event(value: Json, where: str) -> Event:
    if isinstance(value, dict) and value.get("kind") == "event" and isinstance(value.get("data"), dict):
        value = value["data"]
    try:
        event = record.from_wire(Event, value)
        if event.created_at is not None:
            record.moment(event.created_at)
    except msgspec.ValidationError as error:
        raise PrloomError(f"{where}: {error}; an event has at least an id, a source and a type") from error
    except ValueError as error:
        raise PrloomError(f"{where}: createdAt is no time: {error}; write it as 2026-11-21T12:00:00Z") from error
    for name in ("source", "type"):
        if not getattr(event, name).strip():
            raise PrloomError(f"{where}: {name} is empty")
    return event
