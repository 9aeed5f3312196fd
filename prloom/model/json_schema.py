"""Make JSON Schemas of prloom's types, with their docstrings as descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import cleandoc
from typing import Any

import msgspec

REF = "#/$defs/{name}"
"""Where a schema has the types that its parts are made of."""


def components(
    types: Iterable[type], *, schema_hook: Callable[[type], dict[str, Any]] | None = None
) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """Return the schemas of some types, and those of what they are made of, by name.

    Descriptions are docstrings without their indentation, which not every version of msgspec takes off.
    """
    schemas, found = msgspec.json.schema_components(types, schema_hook=schema_hook, ref_template=REF)
    return tuple(map(_cleaned, schemas)), {name: _cleaned(each) for name, each in found.items()}


def _cleaned(value: Any) -> Any:  # noqa: ANN401 - any part of a schema
    if isinstance(value, dict):
        return {
            key: cleandoc(each) if key == "description" and isinstance(each, str) else _cleaned(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    return value
