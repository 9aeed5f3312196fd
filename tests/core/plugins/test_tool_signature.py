"""Which functions can be called with what a tool's schema allows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from prloom.core.plugins import tool_signature

WORD: dict[str, Any] = {"properties": {"word": {"type": "string"}}, "required": ["word"]}
OPTIONAL: dict[str, Any] = {"properties": {"word": {"type": "string"}}}


def problem(schema: dict[str, Any], handler: Callable[..., object]) -> str | None:
    return tool_signature.problem(schema, inspect.signature(handler))


@pytest.mark.parametrize(
    ("schema", "handler"),
    [
        (WORD, lambda word: word),
        (WORD, lambda word, ctx: word),
        (WORD, lambda *, word, more=1: word),
        (WORD, lambda **arguments: arguments),
        (OPTIONAL, lambda word=None: word),
        ({}, lambda: None),
        ({}, lambda ctx: None),
        ({"$ref": "#/$defs/Word"}, lambda word: word),
        ({"properties": 7, "required": "word"}, lambda: None),
    ],
)
def test_a_function_that_every_valid_call_can_reach_fits(schema: dict[str, Any], handler: Any) -> None:
    assert problem(schema, handler) is None


@pytest.mark.parametrize(
    ("schema", "handler", "said"),
    [
        (WORD, lambda: None, "the schema has 'word', and the function has no parameter 'word'; add it"),
        (WORD, lambda *word: None, "the schema has 'word', and the function has no parameter 'word'; add it"),
        (
            OPTIONAL,
            lambda word: word,
            "parameter 'word' has no default, and the schema does not require it; let it, or add a default",
        ),
        (
            {},
            lambda plan, ctx: plan,
            "parameter 'plan' has no default, and the schema does not require it; let it, or add a default",
        ),
        (WORD, lambda word, /: word, "parameter 'word' takes no argument by its name; remove the '/' behind it"),
        (
            {"properties": {"ctx": {}}},
            lambda ctx: ctx,
            "parameter 'ctx' is the context of the call; give the argument of the schema another name",
        ),
    ],
)
def test_a_function_that_a_valid_call_could_not_reach_is_told_of(
    schema: dict[str, Any], handler: Any, said: str
) -> None:
    assert problem(schema, handler) == said
