"""Checking arguments against a plugin's schema, whatever the plugin has written into it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import pytest

from prloom.engine.tools import arguments, bounded_schema
from prloom.engine.tools.arguments import ArgumentChecks


def text(**schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}}


def doubling(levels: int) -> dict[str, Any]:
    """Return a schema of a few lines that has to be looked at 2^levels times."""
    steps = {f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**steps, f"s{levels}": {"type": "object"}}, "$ref": "#/$defs/s0"}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


BACKTRACKING = "^(a+)+$"
LONG = "a" * 50_000 + "b"


@pytest.mark.parametrize(
    ("schema", "given", "problem"),
    [
        (text(pattern=BACKTRACKING), {"a": "aaa"}, None),
        (text(pattern=BACKTRACKING), {"a": LONG}, "a: it does not match '^(a+)+$'"),
        (
            {"patternProperties": {BACKTRACKING: {"type": "string"}}},
            {LONG: 1, "aa": 1},
            "aa: 1 is not of type 'string'",
        ),
        (
            {"patternProperties": {BACKTRACKING: {}}, "additionalProperties": False},
            {"aa": 1, "b": 1},
            "Additional properties are not allowed ('b' was unexpected)",
        ),
        (
            {"properties": {"a": {}}, "additionalProperties": {"type": "string"}},
            {"b": 1},
            "b: 1 is not of type 'string'",
        ),
        (text(uniqueItems=True), {"a": [{"n": 1}, {"n": 2}]}, None),
        (text(uniqueItems=True), {"a": [{"n": 1, "m": 2}, {"m": 2, "n": 1}]}, "a: two of its items are equal"),
    ],
)
def test_patterns_and_what_depends_on_them_mean_what_they_mean_in_json_schema(
    schema: Mapping[str, Any], given: Mapping[str, Any], problem: str | None
):
    assert arguments.problem(schema, given) == problem


@pytest.mark.parametrize(
    ("schema", "given", "problem"),
    [
        (doubling(40), {}, "to check them takes too long, because of how the tool's own schema is made"),
        ({"$ref": "#"}, {}, "the tool's own schema cannot be used: maximum recursion depth exceeded"),
        (nested(5000), {}, "the tool's own schema cannot be used: "),
        (text(pattern="^(?=a)a$"), {"a": "a"}, "the tool's own schema cannot be used: "),
        (text(pattern="((a{100}){100}){100}"), {"a": "a"}, "the tool's own schema cannot be used: "),
        ({"$ref": "http://example.invalid/schema"}, {}, "the tool's own schema cannot be used: Unresolvable"),
        (
            {"unevaluatedProperties": False, "patternProperties": {BACKTRACKING: {}}},
            {LONG: 1},
            "the tool's own schema cannot be used: unevaluatedProperties and patternProperties cannot be used together",
        ),
    ],
)
def test_a_schema_that_would_take_for_ever_allows_nothing(schema: Any, given: Any, problem: str):
    begun = time.thread_time()

    assert str(arguments.problem(schema, given)).startswith(problem)
    assert time.thread_time() - begun < 10 * bounded_schema.LIMIT


SLOW_IMPORT = """
import sys, time
from prloom.engine.tools import arguments, bounded_schema

class Slow:
    def find_spec(self, name, path=None, target=None):
        while name == "jsonschema" and time.thread_time() < 1.2 * bounded_schema.LIMIT + begun: pass

begun = time.thread_time()
sys.meta_path.insert(0, Slow())
print(arguments.problem({"type": "object", "required": ["a"]}, {}))
"""


def test_the_first_check_has_all_of_its_time_however_long_the_import_of_the_library_takes():
    done = subprocess.run([sys.executable, "-c", SLOW_IMPORT], capture_output=True, text=True, check=True)

    assert done.stdout == "'a' is a required property\n"


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (text(pattern=BACKTRACKING), None),
        ({"type": "array"}, 'its type is not "object"'),
        ({"properties": {"a": {"type": "objekt"}}}, "'objekt' is not valid under any of the given schemas"),
        (
            text(pattern="(?=a)"),
            "the pattern '(?=a)' cannot be used: it is invalid, looks around, refers back, or is",
        ),
        ({"patternProperties": {r"(a)\1": {}}}, "the pattern '(a)\\\\1' cannot be used: "),
        (text(description="x" * 70_000), "it has 70055 bytes; at most 65536 are accepted"),
        (nested(900), "it is nested too deeply"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_when_it_is_registered(schema: Any, problem: str | None):
    found = arguments.schema_problem(schema)

    assert (found or "").startswith(problem or "")
    assert (found is None) == (problem is None)


async def test_a_schema_that_takes_long_delays_neither_the_event_loop_nor_the_calls_of_another_plugin():
    checks, longest, others = ArgumentChecks(), 0.0, 0
    evil = [asyncio.create_task(checks.problem("evil", doubling(40), {})) for _ in range(2)]
    await asyncio.sleep(0)
    while not all(task.done() for task in evil):
        begun = time.thread_time()
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - begun)
        assert await checks.problem("good", text(type="string"), {"a": "x"}) is None
        others += 1

    assert {await task for task in evil} == {
        "to check them takes too long, because of how the tool's own schema is made"
    }
    assert others > 2
    assert longest < bounded_schema.LIMIT
