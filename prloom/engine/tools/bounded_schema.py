"""Evaluate a JSON Schema that a plugin has written: however it is made, that takes a bounded time.

Patterns are matched by an engine that takes linear time, each keyword looks at the clock, and what could be quadratic
is not. Nothing that a schema refers to is looked for on the network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache, wraps
from typing import Any, Final, Protocol

import msgspec

from prloom.model.record import Json

LIMIT: Final = 0.3
"""Seconds of the processor's time, of one thread, that an evaluation may take."""

_PATTERN_BYTES: Final = 256 * 1024
"""Bytes that a pattern may have once it is compiled: what each character takes grows with it."""

_deadline: ContextVar[float] = ContextVar("deadline")

Errors = Iterator[Any]
"""Errors of a library that is slow to import."""


class Validator(Protocol):
    """Checks parts of an instance."""

    def descend(self, instance: Json, schema: Json, path: Json = None, schema_path: Json = None) -> Errors:
        """Yield the errors of a part by a schema for it."""


Keyword = Callable[[Validator, Json, Json, Mapping[str, Json]], Errors | None]
"""Yields the errors of a keyword: (validator, the keyword's value, the instance, the schema)."""


class TooMuchWorkError(Exception):
    """An evaluation has taken all of its time."""


def errors(schema: Mapping[str, Json], instance: Json) -> Errors:
    """Yield the errors of an instance; raises TooMuchWorkError, and whatever a schema that is none leads to."""
    from referencing import Registry  # noqa: PLC0415 - slow to import, and only calls of tools need it

    written = msgspec.json.encode(schema)
    if b'"unevaluatedProperties"' in written and b'"patternProperties"' in written:
        raise ValueError("unevaluatedProperties and patternProperties cannot be used together")
    validator = _validator()(dict(schema), registry=Registry())
    _deadline.set(time.thread_time() + LIMIT)  # what was imported for it does not count
    yield from validator.iter_errors(instance)


def pattern_problem(pattern: str) -> str | None:
    """Return why a pattern cannot be matched in linear time, or None."""
    try:
        _linear(pattern)
    except ValueError:
        return f"the pattern {pattern[:100]!r} cannot be used: it is invalid, looks around, refers back, or is too big"
    return None


@cache
def _validator() -> Any:  # noqa: ANN401 - a class that jsonschema makes
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - see `errors`

    keywords: dict[str, Keyword] = {
        **Draft202012Validator.VALIDATORS,
        "additionalProperties": _additional_properties,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    return validators.extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {name: _timed(keyword) for name, keyword in keywords.items()}
    )


def _timed(keyword: Keyword) -> Keyword:
    @wraps(keyword)
    def timed(validator: Validator, value: Json, instance: Json, schema: Mapping[str, Json]) -> Errors | None:
        if time.thread_time() > _deadline.get():
            raise TooMuchWorkError
        return keyword(validator, value, instance, schema)

    return timed


# ---- keywords that would take longer


def _pattern(validator: Validator, pattern: Json, instance: Json, schema: Mapping[str, Json]) -> Errors:
    if isinstance(instance, str) and not _linear(str(pattern)).is_valid(instance):
        yield _error(f"it does not match {pattern!r}")


def _pattern_properties(validator: Validator, patterns: Json, instance: Json, schema: Mapping[str, Json]) -> Errors:
    if isinstance(instance, dict) and isinstance(patterns, dict):
        for pattern, below in patterns.items():
            for name in filter(_linear(pattern).is_valid, instance):
                yield from validator.descend(instance[name], below, path=name, schema_path=pattern)


def _additional_properties(validator: Validator, below: Json, instance: Json, schema: Mapping[str, Json]) -> Errors:
    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), [_linear(each) for each in schema.get("patternProperties", {})]
    for name in instance:
        if name in known or any(each.is_valid(name) for each in patterns):
            continue
        if below is False:
            yield _error(f"Additional properties are not allowed ({name!r} was unexpected)")
        else:
            yield from validator.descend(instance[name], below, path=name)


def _unique_items(validator: Validator, wanted: Json, instance: Json, schema: Mapping[str, Json]) -> Errors:
    if not wanted or not isinstance(instance, list):
        return
    if len({msgspec.json.encode(each, order="sorted") for each in instance}) < len(instance):
        yield _error("two of its items are equal")


@lru_cache(maxsize=256)
def _linear(pattern: str) -> Any:  # noqa: ANN401 - a class of a library without types
    """Return what matches a pattern anywhere in a text; raises ValueError for one that is not possible."""
    import jsonschema_rs  # noqa: PLC0415 - few schemas have patterns

    options = jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES)
    return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)


def _error(text: str) -> Any:  # noqa: ANN401 - likewise
    from jsonschema import ValidationError  # noqa: PLC0415 - see `errors`

    return ValidationError(text)
