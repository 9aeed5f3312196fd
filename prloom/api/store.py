"""One of a plugin's two stores as a hook sees it: values at the call, and the writes on top."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

import msgspec

from prloom.api import strict
from prloom.errors import ExtensionError
from prloom.model.decision import Scope
from prloom.model.hook import Writes
from prloom.model.record import Json


class Store:
    """Reads and writes of one scope; what was read is remembered, so that a lost update is seen before it happens."""

    def __init__(self, plugin: str, scope: Scope, values: Mapping[str, Json], *, limit: int) -> None:
        self._plugin = plugin
        self._scope: Scope = scope
        self._values = dict(values)
        self._limit = limit
        self._read: dict[str, None] = {}
        self._written: dict[str, None] = {}

    @property
    def touched(self) -> bool:
        """Whether the hook read or wrote anything here."""
        return bool(self._read or self._written)

    def get(self, key: str, default: Json = None) -> Json:
        """Return a copy of the value, or the default."""
        self._check_key("get", key)
        if key not in self._written:
            self._read[key] = None
        if key in self._values:
            return strict.copy(self._values[key])
        return default

    def set(self, key: str, value: Json) -> None:
        """Set the value; None removes it. Raises ExtensionError for what is not JSON or is too large."""
        self._put("set", key, value)

    def update(self, key: str, fn: Callable[[Json], Json]) -> Json:
        """Set the value to fn(value) and return it."""
        value = fn(self.get(key))
        self._put("update", key, value)
        return value

    def writes(self) -> Writes:
        """Return what was read and written."""
        values = {key: self._values[key] for key in self._written if key in self._values}
        deleted = tuple(key for key in self._written if key not in self._values)
        return Writes(scope=self._scope, read=tuple(self._read), values=values, deleted=deleted)

    def _put(self, verb: str, key: str, value: Json) -> None:
        self._check_key(verb, key)
        if value is None:
            self._values.pop(key, None)
        else:
            wanted = {**self._values, key: self._json(verb, key, value)}
            self._check_size(verb, key, wanted)
            self._values = wanted
        self._written[key] = None

    def _check_key(self, verb: str, key: str) -> None:
        if not isinstance(key, str) or not key or key.startswith("$") or not _encodes(key):
            self._refuse(verb, key, "a key is a text that is not empty and does not start with '$'")

    def _json(self, verb: str, key: str, value: Json) -> Json:
        try:
            return strict.copy(value)
        except ValueError as error:
            self._refuse(verb, key, f"the value is not JSON ({error})")

    def _check_size(self, verb: str, key: str, wanted: Mapping[str, Json]) -> None:
        """Refuse what would make the store too large; one that is so already (the limit was lowered) may shrink."""
        size = _size(wanted)
        if size > self._limit and size > _size(self._values):
            problem = f"the store would hold {size} bytes; the limit is {self._limit}; store less in it"
            self._refuse(verb, key, problem)

    def _refuse(self, verb: str, key: Json, problem: str) -> NoReturn:
        if self._scope == "global":
            call = f"{verb}_global_state"
        else:
            call = f"{verb}_state"
        raise ExtensionError(f"plugin {self._plugin}: {call}({key!r}): {problem}")


def _size(values: Mapping[str, Json]) -> int:
    return len(msgspec.json.encode(values))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
