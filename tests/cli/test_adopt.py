"""`prloom adopt`: what is said to a wrong command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Prloom = Callable[..., Any]


@pytest.mark.parametrize("given", ["abc", "0", "7x", "²", "9" * 30])
def test_what_is_no_number_of_a_pull_request_is_said_in_one_clear_line(prloom: Prloom, given: str) -> None:
    ran = prloom("adopt", given)

    assert ran.code == 2
    assert ran.err == (
        f"prloom: {given} is not the number of a pull request; to adopt a branch without a pull request, "
        f"run `prloom adopt --branch {given}`. See `prloom adopt --help`.\n"
    )


def test_a_number_may_have_its_sign(prloom: Prloom) -> None:
    assert "is not the number" not in prloom("adopt", "#7").err
