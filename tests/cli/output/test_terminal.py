import json
import os
import pty
import subprocess
import sys
import termios
import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import click
import msgspec
import pytest
import terminal_output
from hypothesis import given
from hypothesis import strategies as st

from prloom.cli.output import terminal

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
ANY_TEXT = st.text(st.characters(exclude_categories=()))


# Text from outside is shown, never obeyed.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b[31mred", r"\x1b[2J\x1b[31mred"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b31m\x85", r"\x9b31m\x85"),
        ("a\x00b\x7f\b", r"a\x00b\x7f\x08"),
        ("user\u202egnp.exe", r"user\u202egnp.exe"),
        ("\u2066a\u2069\u200e\u061c", r"\u2066a\u2069\u200e\u061c"),
        ("a\u200bb\ufeff\u2060\u00ad", r"a\u200bb\ufeff\u2060\xad"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("fill\u3164\U000e0100", r"fill\u3164\U000e0100"),
        ("\ud800 lone", r"\ud800 lone"),
        ("line\u2028break\u2029", r"line\u2028break\u2029"),
        ("rewritten\rline", r"rewritten\x0dline"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_shown(text: str, shown: str) -> None:
    assert terminal.clean(text) == shown
    assert terminal.clean_block(text) == shown


@pytest.mark.parametrize("text", ["Grüße, 世界! 🎉 ❤️ c'est ça", "½ → ∞", "a b", r"C:\x1b", ""])
def test_ordinary_text_of_any_language_stays_as_it_is(text: str) -> None:
    assert terminal.clean(text) == text


def test_a_line_stays_one_line() -> None:
    assert terminal.clean("one\r\ntwo\nthree\tfour") == "one two three    four".replace("    ", " ")


def test_a_block_keeps_its_lines_and_each_has_the_prefix() -> None:
    assert terminal.clean_block("one\r\n\n\ttwo \x1b", prefix="| ") == "| one\n|\n|     two \\x1b"


@given(ANY_TEXT)
def test_no_text_whatever_brings_a_control_character_to_the_terminal(text: str) -> None:
    assert {unicodedata.category(char) for char in terminal.clean(text)} & HIDDEN == set()
    assert {unicodedata.category(char) for char in terminal.clean_block(text).replace("\n", "")} & HIDDEN == set()


# Colours.


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, None),
        ({"NO_COLOR": ""}, None),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, None),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm-256color"}, None),
    ],
)
def test_the_user_decides_about_colours_and_else_the_terminal(environ: dict[str, str], wanted: bool | None) -> None:  # noqa: FBT001 - a column of the table
    assert terminal.wants_colour(environ) is wanted


@pytest.mark.parametrize("role", ["good", "bad", "warn", "dim", "strong", "name"])
def test_there_is_no_colour_in_a_pipe(role: terminal.Role, capsys: pytest.CaptureFixture[str]) -> None:
    painted = terminal.paint("text", role)

    click.echo(painted)

    assert painted != "text"
    assert capsys.readouterr().out == "text\n"


# Room.


@pytest.mark.parametrize(("columns", "width"), [("120", 120), ("5", 40), ("0", 100), ("x", 100), ("", 100), ("²", 100)])
def test_the_width_is_what_the_user_says_or_else_a_readable_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)

    assert terminal.width() == width


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("世界", 4), ("e\u0301", 1), ("\u0645\u200c\u062e", 2), (click.style("abc", fg="red"), 3), ("", 0)],
)
def test_columns_are_counted_as_a_terminal_fills_them(text: str, columns: int) -> None:
    assert terminal.columns_of(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "kept"),
    [
        ("short", 5, "short"),
        ("longer text", 7, "longer…"),
        ("longer", 4, "lon…"),
        ("世界世界", 5, "世界…"),
        ("ab", 1, "…"),
    ],
)
def test_a_text_too_long_is_cut_and_says_so(text: str, columns: int, kept: str) -> None:
    assert terminal.fit(text, columns) == kept
    assert terminal.columns_of(kept) <= columns


def test_a_table_aligns_its_columns_whatever_the_colours() -> None:
    rows = [["a", "first", "x"], [terminal.paint("bbb", "bad"), "世界"], []]

    assert [click.unstyle(line) for line in terminal.table(rows)] == ["a    first  x", "bbb  世界", ""]


# Times.


@pytest.mark.parametrize(
    ("span", "told"),
    [
        (timedelta(0), "0 s"),
        (timedelta(seconds=-5), "0 s"),
        (timedelta(milliseconds=450), "450 ms"),
        (timedelta(seconds=1, milliseconds=990), "1.9 s"),
        (timedelta(seconds=9), "9 s"),
        (timedelta(seconds=30, milliseconds=900), "30 s"),
        (timedelta(minutes=2), "2 min"),
        (timedelta(minutes=2, seconds=5), "2 min 5 s"),
        (timedelta(hours=2, minutes=5, seconds=59), "2 h 5 min"),
        (timedelta(hours=2, seconds=59), "2 h"),
        (timedelta(days=3, hours=4), "3 d 4 h"),
        (timedelta(days=400), "400 d"),
    ],
)
def test_a_span_is_told_in_its_two_largest_units(span: timedelta, told: str) -> None:
    assert terminal.duration(span) == told


@pytest.mark.parametrize(
    ("seconds", "told"), [(30, "in 30 s"), (-7500, "2 h 5 min ago"), (0, "now"), (0.4, "now"), (-0.4, "now")]
)
def test_a_moment_is_told_as_seen_from_now(seconds: float, told: str) -> None:
    assert terminal.when(NOW + timedelta(seconds=seconds), NOW) == told


def test_a_moment_is_told_in_the_zone_of_the_reader() -> None:
    assert terminal.clock(NOW, UTC) == "2026-11-21 12:00:00"
    assert terminal.clock(NOW, timezone(timedelta(hours=2))) == "2026-11-21 14:00:00"


# For programs.


class Sample(msgspec.Struct, rename="camel"):
    started_at: datetime


def test_json_is_one_document_that_a_program_reads_back(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"text": "Grüße \x1b\x9b\x7f\u202e\ud800", "sample": Sample(NOW), "none": None}

    terminal.echo_json(document)

    text = capsys.readouterr().out
    assert json.loads(text) == {
        "text": "Grüße \x1b\x9b\x7f\u202e\ud800",
        "sample": {"startedAt": "2026-11-21T12:00:00Z"},
        "none": None,
    }
    assert text.replace("\n", "").isprintable()
    assert text.isascii()


# Progress.

STEP = """
import sys
from prloom.cli.output import terminal
with terminal.progress("counting \\x1b[31m [/nope]") as update:
    print("answer")
    sys.stdout.flush()
    update("still \\u202e counting")
print("rich" in sys.modules)
"""


@pytest.mark.parametrize(("rows", "columns", "size"), [(24, 80, "24 80"), (0, 0, "None 100"), (24, 5, "24 40")])
def test_a_terminal_that_does_not_say_its_size_has_an_unknown_one(rows: int, columns: int, size: str) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (rows, columns))

    environ = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    code = "from prloom.cli.output import terminal; print(terminal.height(), terminal.width(), end='')"
    subprocess.run([sys.executable, "-c", code], stdout=theirs, check=True, env=environ)

    os.close(theirs)
    assert terminal_output.read_all(ours).decode() == size


def test_progress_is_silent_and_free_in_a_pipe() -> None:
    done = subprocess.run([sys.executable, "-c", STEP], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("answer\nFalse\n", "")


def test_progress_shows_on_a_terminal_and_leaves_stdout_alone() -> None:
    ours, theirs = pty.openpty()

    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    done = subprocess.run([sys.executable, "-c", STEP], stdout=subprocess.PIPE, stderr=theirs, check=True, env=environ)

    os.close(theirs)
    seen = terminal_output.read_all(ours).decode()
    assert done.stdout == b"answer\nTrue\n"
    assert r"counting \x1b[31m [/nope]" in seen
    assert "\x1b[31m [/nope]" not in seen.replace(r"\x1b[31m [/nope]", "")


def test_progress_is_the_lines_alone_on_a_terminal_that_cannot_move_its_cursor() -> None:
    ours, theirs = pty.openpty()

    environ = {**os.environ, "TERM": "dumb"}
    subprocess.run([sys.executable, "-c", STEP], stdout=subprocess.PIPE, stderr=theirs, check=True, env=environ)

    os.close(theirs)
    assert terminal_output.read_all(ours) == b"still \\u202e counting\r\n"
