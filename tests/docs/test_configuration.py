"""docs/configuration.md has every key with its default, and none that does not exist."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from prloom.config import layers, reference
from prloom.config.reference import Key
from prloom.core import bot_logins

PAGE = "docs/configuration.md"
_ROW = re.compile(r"^\| `(?P<key>\w+)` \| (?P<default>[^|]*) \| (?P<meaning>[^|]+) \|$", re.MULTILINE)


def table(path: tuple[str, ...]) -> str:
    """Return the head of a table as it is spelled in the file."""
    name = ".".join(path)
    return f"[[{name}]]" if reference.is_list(path) else f"[{name}]"


def rows(named: Callable[[str], Any], path: tuple[str, ...]) -> dict[str, str]:
    """Return the defaults that the page gives in the section of a table, by key."""
    heading = f"`{table(path)}`" if path else "Top level"
    return {row["key"]: row["default"] for row in _ROW.finditer(named(PAGE).section(heading))}


@pytest.mark.parametrize("key", reference.all_keys(), ids=lambda key: ".".join(key.path))
def test_a_key_is_in_its_section_with_its_default(key: Key, named: Callable[[str], Any]):
    said = rows(named, key.path[:-1])[key.path[-1]]

    spelled = {"none"} if reference.missing(key.default) else {json.dumps(each) for each in (key.default, key.example)}
    assert said.strip("`") in spelled


def test_the_page_has_no_key_that_does_not_exist(named: Callable[[str], Any]):
    known = {key.path for key in reference.all_keys()}
    tables = {path[:-1] for path in known}

    assert {(*path, name) for path in tables for name in rows(named, path)} == known
    assert set(re.findall(r"^### `(\[.*\])`$", named(PAGE).text, re.MULTILINE)) == {
        table(path) for path in tables if path
    }


def test_prlooms_own_variables_are_in_the_page(named: Callable[[str], Any]):
    text = named(PAGE).section("Environment variables")

    assert [name for name in layers.RESERVED if name not in text] == []


@pytest.mark.parametrize("name", bot_logins.LOGINS)
def test_every_bot_that_doctor_knows_is_in_the_page_of_github(name: str, named: Callable[[str], Any]):
    (row,) = [line for line in named("docs/github.md").text.splitlines() if line.startswith(f"| {name} |")]

    assert [login for login in bot_logins.LOGINS[name] if f"`{login}`" not in row] == []
