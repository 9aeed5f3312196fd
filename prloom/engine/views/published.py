"""Read what a dispatcher has told of itself, its bridges, its plugins and the plans that it could not open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from prloom.engine.views.document import Dispatcher
from prloom.errors import StorageError
from prloom.model import record
from prloom.model.record import Json, Record
from prloom.storage import owner, paths
from prloom.storage.document import Document
from prloom.storage.folder import Folder

R = TypeVar("R", bound=Record)


def dispatcher(local: Folder) -> Dispatcher:
    """Return what is known of the dispatcher without asking it."""
    try:
        found = owner.owner(local)
    except StorageError:  # something else stands in the file's place: `prloom doctor` tells what
        return Dispatcher()
    if found is None:
        return Dispatcher()
    pid = found.pid if found.alive else None
    return Dispatcher(running=found.alive, pid=pid, last_tick_at=found.last_tick_at)


def of(local: Folder, name: str, key: str, shape: type[R]) -> tuple[R, ...]:
    """Return what the dispatcher last told of its bridges or plugins; nothing where none ever ran."""
    listed = _told(local, name).get(key)
    try:
        return tuple(record.from_wire(shape, each) for each in listed) if isinstance(listed, list) else ()
    except msgspec.ValidationError:
        return ()


def unopened(local: Folder) -> Mapping[str, str]:
    """Return why the dispatcher could not open a plan when it last tried, by plan."""
    told = _told(local, paths.PLANS).get("unreadable")
    return {name: why for name, why in told.items() if isinstance(why, str)} if isinstance(told, dict) else {}


def _told(local: Folder, name: str) -> Mapping[str, Json]:
    try:
        state = local.sub(paths.BUS, paths.BUS_STATE)
        if state is None:
            return {}
        with state:
            return Document(state, name).peek().value or {}
    except StorageError:  # likewise
        return {}
