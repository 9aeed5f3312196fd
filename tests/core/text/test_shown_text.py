"""Text from outside as it is shown, and as a word of a command to copy."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

import pytest

from prloom.core.text import one_line, shown_text
from prloom.core.text.shown_text import Word


@pytest.mark.parametrize(
    "name",
    [
        "plain-1",
        "two words",
        "it's",
        "$HOME `id` \\n !1",
        "a\x1b[2Jb",
        "it's\x07\\x07",
        "first\nsecond\t\r\n",
        "\u202edleh",
        "\x7fé\u200b",
    ],
)
def test_a_command_with_a_name_from_outside_hides_nothing_and_means_that_name_to_a_shell(name: str) -> None:
    command = shown_text.command("retry", name)

    assert shown_text.clean(command) == command
    assert len(shlex.split(command)) == 3
    read = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True).stdout
    assert read.decode().split("\0") == ["prloom", "retry", name, ""]


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("approve", "--parked"), "prloom approve -- --parked"),
        (("approve", "a", "-x", "--y"), "prloom approve a -- -x --y"),
        (("why", "-x", ("--plan", "work")), "prloom why --plan work -- -x"),
        (("why", "x", ("--plan", "work")), "prloom why x --plan work"),
        (("retry", ("--parked",), "work"), "prloom retry --parked work"),
        (("drop", "-x", ("--reason", "-y z")), "prloom drop --reason '-y z' -- -x"),
        (("retry", "x", ()), "prloom retry x"),
    ],
)
def test_a_name_is_no_option_in_a_command(words: Sequence[Word], command: str) -> None:
    assert shown_text.command(*words) == command


ACUTE = "\u0301"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("caf" + "e" + ACUTE, "caf" + "e" + ACUTE),
        ("a" + 6 * ACUTE, "a" + 6 * ACUTE),
        ("a" + 8 * ACUTE + "b" + ACUTE, "a" + 6 * ACUTE + "\\u0301\\u0301" + "b" + ACUTE),
        ("a" + 5 * ACUTE + "\u20dd\u20dd", "a" + 5 * ACUTE + "\u20dd" + "\\u20dd"),
        (ACUTE + "a", "\\u0301a"),
        ("\u1e02\u0323 \u0e01\u0e34\u0e48", "\u1e02\u0323 \u0e01\u0e34\u0e48"),
        ("\u0928\u092e\u0938\u094d\u0924\u0947", "\u0928\u092e\u0938\u094d\u0924\u0947"),
    ],
)
def test_combining_marks_after_the_first_few_of_a_letter_and_those_of_none_are_written_out(
    text: str, shown: str
) -> None:
    assert shown_text.clean(text) == shown
    assert shown_text.clean_block(text) == shown
    assert shown_text.clean(shown) == shown


def test_a_mark_at_the_begin_of_a_line_does_not_join_what_stands_before_the_line() -> None:
    assert shown_text.clean_block("a\r\n" + ACUTE + "b", prefix="| ") == "| a\n| \\u0301b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb\x1b", "a\\x1b[2Jb\\x1b"),
        ("\x7f\x9f", "\\x7f\\x9f"),
        ("\u202edleh\u200b", "\\u202edleh\\u200b"),
        ("\U000e0041\udcff", "\\U000e0041\\udcff"),
        ("\u3164\ufeff", "\\u3164\\ufeff"),
        ("caf\u00e9 \u4e2d \U0001f600", "caf\u00e9 \u4e2d \U0001f600"),
    ],
)
def test_what_a_terminal_would_obey_or_not_show_is_written_out_each_time(text: str, shown: str) -> None:
    assert [shown_text.clean(text), shown_text.clean(text)] == [shown, shown]


def test_a_name_that_is_not_utf_8_is_a_word_of_its_bytes() -> None:
    assert shown_text.command("retry", "a\udcff") == "prloom retry $'a\\xff'"


PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
HINDI = "\u0915\u094d\u200d\u0937"
MALAYALAM = "\u0d05\u0d35\u0d28\u0d4d\u200d done"
FAMILY = "\U0001f468\U0001f3fd\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f\u200d\U0001f525"


@pytest.mark.parametrize("text", [PERSIAN, HINDI, MALAYALAM, FAMILY])
def test_a_joiner_that_is_spelling_is_kept(text: str) -> None:
    assert shown_text.clean(text) == text
    assert shown_text.clean_block(text) == text
    assert one_line.of(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u200dab\u200cc", "\\u200dab\\u200cc"),
        ("\u0645\u200c\u200d\u200c", "\u0645\u200c\\u200d\\u200c"),
        ("\u202e\u200d", "\\u202e\\u200d"),
        ("\u200b\u200d", "\\u200b\\u200d"),
        ("a" + 6 * ACUTE + "\u200d" + ACUTE, "a" + 6 * ACUTE + "\u200d\\u0301"),
    ],
)
def test_a_joiner_that_only_hides_is_written_out(text: str, shown: str) -> None:
    assert shown_text.clean(text) == shown
    assert shown_text.clean(shown) == shown


def test_one_line_shows_a_sign_for_a_joiner_that_only_hides_and_for_what_is_obeyed() -> None:
    assert one_line.of("a\u200db \u202e\u200c \u0645\u200c\u200c") == "a\ufffdb \ufffd\ufffd \u0645\u200c\ufffd"
