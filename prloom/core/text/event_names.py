"""Read what names events on the command line: an id, or `@AUTHOR`; an id that begins with `@` gets one more of them."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

_AUTHOR = "@"


class ById(Struct, frozen=True):
    """The event or the action with this id."""

    id: str


class ByAuthor(Struct, frozen=True):
    """The events by the author with this login."""

    login: str


Named: TypeAlias = ById | ByAuthor


def of(event_id: str) -> str:
    """Return the name of the event with this id."""
    if event_id.startswith(_AUTHOR):
        return _AUTHOR + event_id
    return event_id


def read(name: str) -> Named:
    """Return what a name means."""
    rest = name.removeprefix(_AUTHOR)
    if rest == name or rest.startswith(_AUTHOR):
        return ById(rest)
    return ByAuthor(rest)
