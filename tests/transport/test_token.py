"""Where the token of a bridge comes from."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from prloom.transport import token


@pytest.fixture
def keeper(tmp_path: Path) -> Path:
    """A program that prints a token, or what else it is told to."""
    program = tmp_path / "keeper"
    program.write_text('#!/bin/sh\n[ "$1" = bad ] && exit 1\nprintf "%s\\n" "${KEPT-from the keeper}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_the_first_variable_that_is_set_has_it(keeper: Path) -> None:
    environ = {"A": " ", "B": "from b\n", "C": "from c"}

    assert token.find(("A", "B", "C"), (str(keeper),), environ) == "from b"


def test_else_the_program_that_keeps_it_is_asked(keeper: Path) -> None:
    assert token.find(("A",), (str(keeper),), {}) == "from the keeper"


@pytest.mark.parametrize("argument", ["bad"])
def test_a_program_that_fails_has_none(keeper: Path, argument: str) -> None:
    assert token.find((), (str(keeper), argument), {}) is None


def test_a_program_that_prints_nothing_has_none(keeper: Path) -> None:
    assert token.find((), (str(keeper),), {"KEPT": ""}) is None


def test_a_program_that_is_not_there_has_none() -> None:
    assert token.find((), ("/nowhere/gh", "auth", "token"), {}) is None


def test_nowhere_to_look_is_none() -> None:
    assert token.find((), (), {"GITHUB_TOKEN": "x"}) is None
