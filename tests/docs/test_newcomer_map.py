"""The map for newcomers names functions that exist, and each of them does handle a comment."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import call_path
import pytest

MOST_FUNCTIONS, MOST_FILES = 165, 77


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


def test_the_way_of_a_comment_does_not_grow_longer():
    # On a busy machine a comment may wait for a lock or another try: only what each comment passes through counts.
    way = passed_through()
    for _ in range(7):
        if is_short(way):
            break
        way &= passed_through()

    assert is_short(way), f"{len(way)} functions in {len(files(way))} files"


def is_short(way: set[str]) -> bool:
    return len(way) <= MOST_FUNCTIONS and len(files(way)) <= MOST_FILES


def files(way: set[str]) -> set[str]:
    return {function.partition(":")[0] for function in way}


def passed_through() -> set[str]:
    """Trace in a process of its own: what other tests have imported or logged does not count."""
    printed = subprocess.run([sys.executable, call_path.__file__], capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r"^  (\S+: \S+)$", printed, re.MULTILINE))
    assert len(found) > 20, printed
    return found


def dotted(file: str, function: str) -> str:
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"{module}.{function}"
