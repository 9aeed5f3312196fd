"""The slice of GitHub's OpenAPI description, turned into JSON Schemas that a validator can use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from . import relaxations

SLICE = Path(__file__).parents[2] / "data/github/openapi.json"
NULL = {"type": "null"}


@cache
def read() -> Mapping[str, Any]:
    """Return the slice with all schemas in the dialect of JSON Schema, relaxed where GitHub is known to depart."""
    whole = json.loads(SLICE.read_text())
    relax(whole["components"]["schemas"])
    joined = join(whole, whole["components"]["schemas"])
    return {**joined, **{part: translated(joined[part]) for part in ("paths", "components")}}


def join(node: Any, schemas: Mapping[str, Any]) -> Any:
    """Return the description with objects of several parts (`allOf`) made one, so that they can be closed."""
    if isinstance(node, list):
        return [join(item, schemas) for item in node]
    if not isinstance(node, dict):
        return node
    parts = node.get("allOf", ())
    if len(parts) < 2:
        return {key: join(value, schemas) for key, value in node.items()}
    whole_parts = [schemas[part["$ref"].rpartition("/")[2]] if "$ref" in part else part for part in parts]
    return {
        "type": "object",
        "properties": {key: join(prop, schemas) for part in whole_parts for key, prop in part["properties"].items()},
        "required": [name for part in whole_parts for name in part.get("required", ())],
    }


def relax(schemas: Mapping[str, Any]) -> None:
    for name, properties in relaxations.NULLABLE.items():
        for prop in properties:
            allow_null(schemas[name]["properties"], prop)
    for name, places in relaxations.NULLABLE_INSIDE.items():
        for outer, inner in places:
            inside = schemas[name]["properties"][outer]
            allow_null(inside.get("items", inside)["properties"], inner)


def allow_null(properties: dict[str, Any], prop: str) -> None:
    properties[prop] = {"allOf": [properties[prop]], "nullable": True}


def translated(node: Any) -> Any:
    """Return OpenAPI 3.0 as JSON Schema: `nullable` becomes a type, and objects have no properties but those named.

    That is stricter than the description, which leaves room for more. A client that sends what is not described, or a
    fake that answers with it, has mostly misspelled something.
    """
    if isinstance(node, list):
        return [translated(item) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {key: translated(value) for key, value in node.items() if key != "nullable"}
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("additionalProperties", False)
    if node.get("nullable") is True:
        return {"anyOf": [NULL, schema]}
    return schema


def resolve(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a reference to a component means; anything else as it is."""
    if "$ref" not in node:
        return node
    found: Any = read()
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return resolve(found)
