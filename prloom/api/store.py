"""Copy what a plugin hands over, which must be JSON: the values of its stores, and the actions that it requests."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import msgspec

from prloom.core.delivery import outbox
from prloom.errors import ExtensionError
from prloom.model import record
from prloom.model.action import Action
from prloom.model.decision import Scope
from prloom.model.event import Event, Target
from prloom.model.hook import Writes
from prloom.model.record import Json, JsonValue


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
            return json_copy(self._values[key])
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
            values = {**self._values, key: self._json(verb, key, value)}
            self._check_size(verb, key, values)
            self._values = values
        self._written[key] = None

    def _check_key(self, verb: str, key: str) -> None:
        if not isinstance(key, str) or not key or key.startswith("$") or not record.is_encodable(key):
            self._refuse(verb, key, "a key is a text that is not empty and does not start with '$'")

    def _json(self, verb: str, key: str, value: Json) -> Json:
        try:
            return json_copy(value)
        except ValueError as error:
            self._refuse(verb, key, f"the value is not JSON ({error})")

    def _check_size(self, verb: str, key: str, values: Mapping[str, Json]) -> None:
        """Refuse what would make the store too large; one that is so already (the limit was lowered) may shrink."""
        size = _size(values)
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


def check_action(
    requested: Action | Mapping[str, Json], related_event_id: str | None, events: Sequence[Event]
) -> Action:
    """Return the requested action, copied, so that nothing that the plugin does to it later matters.

    Its id is left to be derived. Raises ValueError, whose text says what is wrong.
    """
    try:
        wire = json_copy(msgspec.to_builtins(requested))
        if related_event_id is not None and isinstance(wire, dict):
            wire["relatedEventId"] = related_event_id
        read = record.from_wire(Action, wire)
    except (TypeError, RecursionError, msgspec.ValidationError) as error:
        raise ValueError(str(error)) from error
    given = requested.target if isinstance(requested, Action) else requested.get("target")
    cause = read.related_event_id or _answered(events, given, read.target)
    return msgspec.structs.replace(read, id="", related_event_id=cause)


def _answered(events: Sequence[Event], given: Json, target: Target) -> str | None:
    """Return the event that an action for this target answers, or None where that could be several.

    Many events may be answered in one place; the very value that was taken from one of them says which is meant.
    """
    if len(events) == 1:
        return events[0].id
    if target.target == outbox.PLAN_TARGET:
        wanted_target = None
    else:
        wanted_target = target
    same_target = [event.id for event in events if given is not None and event.reply_to is given]
    answered = same_target or [event.id for event in events if event.reply_to == wanted_target]
    if len(answered) == 1:
        return answered[0]
    return None


def json_copy(value: JsonValue) -> Json:
    """Return a deep copy of the value in plain JSON terms: lists for tuples, built-in types for everything.

    Raises ValueError, whose text says what has no JSON form: NaN, sets, bytes, objects, keys that are not texts, texts
    that are no Unicode, what contains itself.
    """
    try:
        return msgspec.json.decode(msgspec.json.encode(_strict(value)))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except (TypeError, msgspec.MsgspecError) as error:
        raise ValueError(str(error)) from error


def _strict(value: JsonValue) -> JsonValue:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} cannot be represented as JSON")
            return value
        case list() | tuple():
            return [_strict(item) for item in value]
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise ValueError("the keys of an object must be texts")
            return {key: _strict(item) for key, item in value.items()}
        case _:
            raise ValueError(f"{type_name(value)} cannot be represented as JSON")


def type_name(value: object) -> str:
    """Return what a value is that is refused, for an error; for a coroutine, what was forgotten."""
    if inspect.iscoroutine(value):
        value.close()  # so that Python does not warn of it once more
    if inspect.isawaitable(value):
        return f"{type(value).__name__} (write `await` before the call that returned it)"
    return type(value).__name__
