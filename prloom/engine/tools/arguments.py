"""Check the arguments of a tool's call against the tool's JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping

from prloom.core.text import bounds
from prloom.model.record import Json

_LONGEST = 300


def problem(schema: Mapping[str, Json], given: Mapping[str, Json]) -> str | None:
    """Return what is wrong with the arguments, and where, or None.

    A schema that is none itself allows nothing. What it refers to is looked for in itself only, never on the network.
    """
    import jsonschema  # noqa: PLC0415 - slow to import, and only calls of tools need it
    from referencing import Registry  # noqa: PLC0415 - likewise

    made = jsonschema.Draft202012Validator(dict(schema), registry=Registry())
    try:
        found = next(iter(sorted(made.iter_errors(dict(given)), key=lambda error: list(map(str, error.path)))), None)
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
    """Return why a mapping is not the schema of an object, or None."""
    import jsonschema  # noqa: PLC0415 - see `problem`

    if schema.get("type", "object") != "object":
        return 'its type is not "object"'
    try:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        return bounds.cut(" ".join(error.message.split()), _LONGEST)
    return None
