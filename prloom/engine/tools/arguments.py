"""Check the arguments of a tool's call against the tool's JSON Schema."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

import msgspec

from prloom.core.text import bounds
from prloom.engine.tools import bounded_schema
from prloom.engine.tools.bounded_schema import TooMuchWorkError
from prloom.model.record import Json

LARGEST_SCHEMA: Final = 64 * 1024
"""Bytes of JSON that a schema may have."""

_LONGEST: Final = 300
_MOST_ERRORS: Final = 20


class ArgumentChecks:
    """Checks arguments beside the event loop, one call of a plugin after the other: none waits for another plugin's."""

    def __init__(self) -> None:
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def problem(self, plugin: str, schema: Mapping[str, Json], given: Mapping[str, Json]) -> str | None:
        """Return what is wrong with the arguments of a plugin's tool, and where, or None."""
        if not schema:
            return None
        async with self._locks[plugin]:
            return await asyncio.to_thread(problem, schema, given)

    async def schema_problem(self, plugin: str, schema: Mapping[str, Json]) -> str | None:
        """Return why a mapping cannot be the schema of an object, or None."""
        async with self._locks[plugin]:
            return await asyncio.to_thread(schema_problem, schema)


def problem(schema: Mapping[str, Json], given: Mapping[str, Json]) -> str | None:
    """Return what is wrong with the arguments, and where, or None.

    A schema that is none itself allows nothing. What it refers to is looked for in itself only, never on the network.
    """
    try:
        errors = islice(bounded_schema.errors(schema, dict(given)), _MOST_ERRORS)
        found = next(iter(sorted(errors, key=lambda error: list(map(str, error.path)))), None)
    except TooMuchWorkError:
        return "to check them takes too long, because of how the tool's own schema is made"
    except Exception as error:  # noqa: BLE001 - a plugin's schema may be anything
        return f"the tool's own schema cannot be used: {bounds.cut(str(error), _LONGEST)}"
    if found is None:
        return None
    where = ".".join(str(part) for part in found.absolute_path)
    text = bounds.cut(" ".join(found.message.split()), _LONGEST)
    if where:
        return f"{where}: {text}"
    return text


def schema_problem(schema: Mapping[str, Json]) -> str | None:
    """Return why a mapping cannot be the schema of an object, or None."""
    import jsonschema  # noqa: PLC0415 - slow to import, and only calls of tools need it

    if schema.get("type", "object") != "object":
        return 'its type is not "object"'
    size = len(msgspec.json.encode(schema))
    if size > LARGEST_SCHEMA:
        return f"it has {size} bytes; at most {LARGEST_SCHEMA} are accepted"
    try:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
        found = filter(None, map(bounded_schema.pattern_problem, _patterns(schema)))
        return next(found, None)
    except jsonschema.SchemaError as error:
        return bounds.cut(" ".join(error.message.split()), _LONGEST)
    except RecursionError:
        return "it is nested too deeply"


def _patterns(schema: Json) -> Iterator[str]:
    """Yield all patterns in a schema."""
    if isinstance(schema, list):
        for each in schema:
            yield from _patterns(each)
    if isinstance(schema, Mapping):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        if isinstance(schema.get("patternProperties"), Mapping):
            yield from schema["patternProperties"]
        for each in schema.values():
            yield from _patterns(each)
