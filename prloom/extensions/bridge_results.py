"""Check what a bridge's methods return: every field has the type that the protocol gives it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from types import UnionType
from typing import Any, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

from prloom.api.bridge import Delivered, Polled, Refused
from prloom.api.forge import Forge, Issue, PostedComment, PullRequest
from prloom.errors import ExtensionError

T = TypeVar("T")

BridgeResult = Polled | Delivered | Refused | PullRequest | Issue | PostedComment


def problem(result: Any) -> str | None:  # noqa: ANN401 - any `BridgeResult`
    """Return which field of a `BridgeResult` has another type than it must have, in a few words; None where all fit.

    Of the events of a poll, each is judged by itself elsewhere: the others are to be taken in.
    """
    for name, expected in _expected(type(result)).items():
        value = getattr(result, name)
        if not _fits(value, expected):
            return f"`{name}` of {type(result).__name__} is {_shown(value)}, not {_named(expected)}"
    return None


def checked_poll(polled: object) -> tuple[Polled, str | None]:
    """Return what a poll found, and what is wrong with another field than its events, which are taken in all the same.

    Raises where it has no events that could be taken in.
    """
    if not isinstance(polled, Polled):
        raise TypeError(f"events() returned {type(polled).__name__}, not Polled")
    wrong = problem(polled)
    if wrong is None:
        return polled, None
    mistake = f"events() returned a wrong field: {wrong}; correct the bridge"
    alone = Polled(polled.events)
    if problem(alone) is not None:
        raise ExtensionError(mistake)
    return alone, mistake


def checked(method: str, value: T) -> T:
    """Return what a method of a forge returned; raises ExtensionError where that is not what the protocol says."""
    expected = get_type_hints(getattr(Forge, method))["return"]
    if not _fits(value, expected):
        raise ExtensionError(f"{method}() returned {_shown(value)}, not {_named(expected)}; correct the bridge")
    results: Collection[object] = (value,)
    if _is_collection(value):
        results = value
    wrong = next(filter(None, (problem(each) for each in results if isinstance(each, BridgeResult))), None)
    if wrong is not None:
        raise ExtensionError(f"{method}() returned a wrong field: {wrong}; correct the bridge")
    return value


def _expected(kind: type[Any]) -> Mapping[str, Any]:
    """Return the type of each field."""
    hints = get_type_hints(next(each for each in get_args(BridgeResult) if issubclass(kind, each)))
    if issubclass(kind, Polled):
        hints["events"] = Sequence[Any]
    return {each.name: hints[each.name] for each in fields(kind) if each.name in hints}


def _fits(value: object, expected: Any) -> bool:  # noqa: ANN401 - a type as an annotation has it
    inner = get_args(expected)
    if expected is Any:
        return True
    if _is_union(expected):
        return any(_fits(value, each) for each in inner)
    if _is_list(expected):
        return _is_collection(value) and all(_fits(each, inner[0]) for each in value)
    if get_origin(expected) is Mapping:
        return isinstance(value, Mapping) and all(
            _fits(key, inner[0]) and _fits(each, inner[1]) for key, each in value.items()
        )
    return _is_one(value, expected)


def _is_one(value: object, kind: type) -> bool:
    if kind is str:  # one of a class derived from it cannot be written
        return type(value) is str or isinstance(value, StrEnum)
    if kind is int and isinstance(value, bool):
        return False
    if isinstance(value, datetime) and value.utcoffset() is None:
        return False
    return isinstance(value, kind)


def _is_collection(value: object) -> TypeGuard[Collection[object]]:
    return isinstance(value, Collection) and not isinstance(value, str | bytes | bytearray | Mapping)


def _is_union(expected: object) -> bool:
    return get_origin(expected) in {Union, UnionType}


def _is_list(expected: object) -> bool:
    return get_origin(expected) in {Sequence, tuple}


def _named(expected: Any) -> str:  # noqa: ANN401 - a type as an annotation has it
    """Return the type as people write it."""
    inner = get_args(expected)
    if _is_union(expected):
        return " or ".join("None" if each is type(None) else _named(each) for each in inner)
    if _is_list(expected):
        return "a list" if inner[0] is Any else f"a list of {_named(inner[0])}"
    if get_origin(expected) is Mapping:
        return f"a mapping of {_named(inner[0])} to {_named(inner[1])}"
    if expected is datetime:
        return "a datetime with a time zone"
    return str(expected.__name__)


def _shown(value: object) -> str:
    """Return of what type a value is, and what is in it."""
    if isinstance(value, Mapping):
        return f"a mapping of {_kinds(value)} to {_kinds(value.values())}"
    if _is_collection(value):
        return f"a list of {_kinds(value)}"
    if isinstance(value, datetime) and value.utcoffset() is None:
        return "a datetime without a time zone"
    return _name(value)


def _kinds(values: Collection[object]) -> str:
    return " and ".join(sorted({_name(each) for each in values})) or "nothing"


def _name(value: object) -> str:
    return "None" if value is None else type(value).__name__
