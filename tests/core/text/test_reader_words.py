"""What people read on a pull request names no command of the operator's shell."""

from __future__ import annotations

import pytest

from prloom.core.text import reader_words

NOBODY = "the operator of prloom has to see to it"


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("3 attempts failed: no", "3 attempts failed: no"),
        ("the brake is on: 1 run today; `prloom resume a` lifts it", "the brake is on: 1 run today"),
        ("it was deleted; `git push` brings it back, or `prloom forget a` ends it", "it was deleted"),
        ("`prloom edit a` does so; until then it waits", "until then it waits"),
        ("It stopped. Run `prloom resume a`. It waits.", "It stopped. It waits."),
        ("run `prloom resume a`", NOBODY),
        ("`/prloom resume` goes on", "`/prloom resume` goes on"),
    ],
)
def test_parts_of_a_reason_that_name_a_command_are_left_out(reason: str, shown: str):
    assert reader_words.without_commands(reason) == shown
