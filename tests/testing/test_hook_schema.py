"""The JSON Schema of hooks for authors in any language is that of the code."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

from prloom.model import record
from prloom.model.hook import HookCall, Mark, Outcome
from prloom.testing import GOLDEN_EVENTS, hook_schema


def of(name: str) -> jsonschema_rs.Validator:
    schema = json.loads(hook_schema.PATH.read_text("utf-8"))
    return jsonschema_rs.validator_for({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


def test_the_schema_in_the_package_is_that_of_the_code():
    assert hook_schema.PATH.read_text("utf-8") == hook_schema.text(), "run `python -m prloom.testing.hook_schema`"


def test_a_call_with_events_of_every_shape_is_valid():
    call = HookCall(
        hook="beforeTriage",
        plan_id="p",
        repo_root="/r",
        worktree="/w",
        now="2026-01-01T00:00:00.000Z",
        events=tuple(GOLDEN_EVENTS.values()),
    )

    of("HookCall").validate(json.loads(json.dumps(record.to_builtins(call))))


def test_an_outcome_is_valid_and_so_is_an_empty_one():
    of("Outcome").validate(record.to_builtins(Outcome(marks=(Mark("e", "deferred", None, 5),))))
    of("Outcome").validate({})


@pytest.mark.parametrize("wrong", [{"marks": "all"}, {"marks": [{"eventId": "e", "verdict": "gone"}]}, {"plan": 5}])
def test_what_is_no_outcome_is_not_valid(wrong: dict[str, object]):
    assert not of("Outcome").is_valid(wrong)
