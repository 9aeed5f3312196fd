"""Where the token of a bridge comes from."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from prloom.transport import token
from prloom.transport.token import NoTokenError, Token


@pytest.fixture
def keeper(tmp_path: Path) -> str:
    """A program that prints a token, or what else it is told to."""
    program = tmp_path / "keeper"
    program.write_text('#!/bin/sh\n[ "$1" = bad ] && exit 1\nprintf "%s\\n" "${KEPT-from the keeper}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "token"


def missing(*where: object) -> str:
    with pytest.raises(NoTokenError) as caught:
        token.find(*where)  # type: ignore[arg-type]
    return str(caught.value)


def test_the_first_variable_that_is_set_has_it(keeper: str) -> None:
    environ = {"A": " ", "B": "from b\n", "C": "from c"}

    assert token.find(("A", "B", "C"), (keeper,), environ) == Token("from b", "B")


def test_else_the_program_that_keeps_it_is_asked(keeper: str) -> None:
    assert token.find(("A",), (keeper,), {}) == Token("from the keeper", f"`{keeper}`")


def test_a_file_comes_before_the_variable_and_is_read_anew_each_time(file: Path) -> None:
    environ = {"A": "from a", "A_FILE": str(file)}
    found = []

    for text in ("first\n", "second"):
        file.write_text(text)
        found.append(token.find(("A",), (), environ))

    assert [each.text for each in found] == ["first", "second"]
    assert found[0].source == f"the file {file} (A_FILE)"


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (None, "which cannot be read: No such file or directory; fix it"),
        (b"", "which is empty; write a token into it"),
        (b" \n", "which is empty; write a token into it"),
        (b"\xff\xfe", "which does not contain a token; write one into it"),
    ],
)
def test_who_names_a_file_means_that_file(keeper: str, file: Path, content: bytes | None, wrong: str) -> None:
    if content is not None:
        file.write_bytes(content)

    text = missing(("A", "B"), (keeper,), {"A_FILE": str(file), "A": "from a", "B": "from b"})

    assert text == f"A_FILE names {file}, {wrong}"


def test_of_a_file_no_more_is_read_than_a_token_can_have(file: Path) -> None:
    file.write_text("x" * 10 * token.LARGEST)

    assert len(token.find(("A",), (), {"A_FILE": str(file)}).text) == token.LARGEST


@pytest.mark.parametrize(
    ("argument", "kept", "why"), [("bad", "x", "it ended with exit code 1"), ("", "", "it prints nothing")]
)
def test_a_program_that_has_none_is_named(keeper: str, argument: str, kept: str, why: str) -> None:
    text = missing(("A", "B"), (keeper, argument), {"KEPT": kept})

    places = (
        f"set A, or name a file that contains it in A_FILE, or make sure that `{keeper} {argument}` prints one ({why})"
    )
    assert text == f"there is no token: {places}"


def test_a_program_that_is_not_there_is_said_to_be_so() -> None:
    text = missing((), ("/nowhere/gh", "auth", "token"), {})

    assert text == "there is no token: make sure that `/nowhere/gh auth token` prints one (it is not installed)"


def test_neither_an_error_nor_what_is_logged_of_a_token_shows_it(file: Path) -> None:
    file.write_bytes(b"secret \xff")

    assert "secret" not in missing(("A",), (), {"A_FILE": str(file)})
    assert "secret" not in repr(Token("secret", "A"))
    assert re.fullmatch(r"Token\('A'\)", str(Token("secret", "A")))
