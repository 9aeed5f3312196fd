"""Text from outside as it is shown, and as a word of a command to copy."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

import pytest

from prloom.core.text import shown_text
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
