"""`prloom adopt`: what is said to a wrong command line."""

from __future__ import annotations

import pytest
from command_line import Prloom, Refusal


@pytest.mark.parametrize("given", ["abc", "0", "7x", "²", "9" * 30])
def test_what_is_no_number_of_a_pull_request_is_said_in_one_clear_line(refused: Refusal, given: str) -> None:
    assert refused("adopt", given, code=2) == (
        f"prloom: {given} is not the number of a pull request; to adopt a branch without a pull request, "
        f"run `prloom adopt --branch {given}`. See `prloom adopt --help`.\n"
    )


def test_a_number_may_have_its_sign(prloom: Prloom) -> None:
    assert "is not the number" not in prloom("adopt", "#7").err
