"""Make the JSON Schema of a hook's call and outcome from the code; `python -m prloom.testing.hook_schema` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import prloom
from prloom.model import json_schema
from prloom.model.hook import HookCall, Outcome
from prloom.model.record import Timestamp

PATH = Path(prloom.__file__).parent / "api" / "hook.schema.json"
"""The schema in the package: `$defs` has HookCall and Outcome, and what they are made of."""


def build() -> dict[str, Any]:
    """Return the schema: of the params of `run_hook`, and below `$defs` of the outcome."""
    _, components = json_schema.components((HookCall, Outcome), schema_hook=_of)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "prloom hooks: the params of run_hook; its result is null or #/$defs/Outcome",
        "type": "object",
        "properties": {"hook": {"type": "string"}, "call": {"$ref": "#/$defs/HookCall"}},
        "required": ["hook", "call"],
        "$defs": {name: components[name] for name in sorted(components)},
    }


def text() -> str:
    """Return the schema as its file has it."""
    return json.dumps(build(), indent=2, ensure_ascii=False) + "\n"


def _of(kind: type) -> dict[str, Any]:
    if kind is Timestamp:
        return {"type": "string", "format": "date-time"}
    raise NotImplementedError(kind.__name__)


if __name__ == "__main__":
    PATH.write_text(text(), "utf-8")
