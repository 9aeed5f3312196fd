"""The map for newcomers names functions that exist, and each of them does handle a comment."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import call_path
import pytest


@cache
def traced() -> tuple[call_path.Called, call_path.Called]:
    call_path.run()  # modules that are imported on the way do not count
    return call_path.run()


@pytest.fixture
def functions(named: Callable[[str], Any]) -> list[str]:
    """Return the functions that the map names, in its order."""
    section = named("docs/how-it-works.md").text.partition("## A map for newcomers\n")[2].partition("\n## ")[0]
    return re.findall(r"^\|[^|]*\| `([\w.]+)` \|", section, re.MULTILINE)


def test_each_function_that_the_map_names_handles_a_comment(functions: list[str]):
    _, called = traced()
    known = {dotted(file, name) for file, name in called}

    assert len(functions) > 20
    assert [function for function in functions if function not in known] == []


def dotted(file: str, function: str) -> str:
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"{module}.{function}"
