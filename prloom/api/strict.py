"""Tell what JSON can say from what it cannot."""

from __future__ import annotations

import inspect
import math

import msgspec

from prloom.model.record import Json


def copy(value: Json) -> Json:
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


def _strict(value: Json) -> Json:
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
            raise ValueError(f"{described(value)} cannot be represented as JSON")


def described(value: object) -> str:
    """Return what a value is that is refused, for an error; for a coroutine, what was forgotten."""
    if inspect.iscoroutine(value):
        value.close()  # so that Python does not warn of it once more
    if inspect.isawaitable(value):
        return f"{type(value).__name__} (write `await` before the call that returned it)"
    return type(value).__name__
