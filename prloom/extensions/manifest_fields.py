"""Check the values of a table of a manifest, key by key: each error names the file, the key and what to write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args, get_origin

import msgspec

from prloom.errors import ExtensionError
from prloom.extensions import keys
from prloom.model.record import Json

_EXPECTED = {str: "a text", int: "a whole number", bool: "true or false"}


def checked(
    kind: type[msgspec.Struct], table: Mapping[Json, Json], where: str, *, without: Iterable[str] = ()
) -> tuple[dict[str, Json], tuple[str, ...]]:
    """Return the values that a table has for the fields of a kind, and a warning for each key that none of them has.

    Keys may be snake_case or camelCase. The fields named in `without` are left for the caller to check. Raises
    ExtensionError.
    """
    kinds = {field.name: field.type for field in msgspec.structs.fields(kind)}
    left_out = frozenset(without)
    values: dict[str, Json] = {}
    unknown = []
    for key, value in table.items():
        name = snake(key)
        if name not in kinds:
            unknown.append(_unknown(key, kinds, where))
        elif value is not None and name not in left_out:
            values[name] = converted(value, kinds[name], f"{where}: {key}")
    required = {field.encode_name for field in msgspec.structs.fields(kind) if field.required}
    for name in sorted(required - values.keys()):
        if not (kind.__name__ == "Manifest" and name == "name"):
            raise ExtensionError(f"{where}: {name} is missing; add it")
    return values, tuple(unknown)


def snake(key: Json) -> str:
    """Return the name that a key means, whichever way it is written."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: f"_{match[1].lower()}", _text(key))


def table(value: Json, where: str) -> Mapping[Json, Json]:
    """Return a value that must be a table; raises ExtensionError."""
    if not isinstance(value, Mapping):
        raise ExtensionError(f"{where}: expected a table of keys and values, got {shown(value)}")
    return value


def converted(value: Json, kind: Json, where: str) -> Json:
    """Return a value as the kind that it must be; raises ExtensionError."""
    try:
        made = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        hint = ""
        if kind is str and isinstance(value, int | float) and not isinstance(value, bool):
            hint = "; put it in quotes"
        raise ExtensionError(f"{where}: expected {_expected(kind)}, got {shown(value)}{hint}") from error
    check_characters(value, where)
    return made


def check_characters(value: Json, where: str) -> None:
    """Raise ExtensionError for what no path, argument or message can have: a NUL character, half of a character."""
    texts: Sequence[Json] = (value,)
    if isinstance(value, list | tuple):
        texts = value
    if any(isinstance(each, str) and "\0" in each for each in texts):
        raise ExtensionError(f"{where}: {shown(value)} contains a NUL character; remove it")
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError as error:
        raise ExtensionError(f"{where}: {shown(value)} contains half of a surrogate pair; remove it") from error
    except ValueError as error:
        raise ExtensionError(f"{where}: a number has thousands of digits; write a shorter one") from error
    except (TypeError, RecursionError):  # a date of YAML, or too deep: whoever uses the value says so
        pass


def _text(key: Json) -> str:
    if isinstance(key, str):
        return key
    return shown(key)


def _expected(kind: Json) -> str:
    origin: object = get_origin(kind)
    if origin is Literal:
        return "one of " + ", ".join(get_args(kind))
    if origin is Mapping:
        return "a table of keys and values"
    if origin is tuple:
        return "a list of texts"
    return _EXPECTED.get(kind, "a text")


def _unknown(key: Json, known: Iterable[str], where: str) -> str:
    close = keys.nearest(_text(key), known)
    hint = ""
    if close:
        hint = f"; did you mean {close!r}?"
    return f"{where}: the key {shown(key)} is not known and has no effect{hint}"


def shown(value: Json) -> str:
    """Return a value as an error shows it."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no more than some 4,300 digits
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else text[:59] + "…"  # noqa: PLR2004 - what fits beside the rest on a line
