from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stage import Stage

Prloom = Callable[..., Any]

INLINE = "[plugins]\nisolation = 'inline'\n"


def test_a_round_with_a_bridge_that_cannot_be_loaded_is_done_and_fails_with_one_line(
    stage: Stage, prloom: Prloom
) -> None:
    stage.adopt()
    (stage.root / "ci.py").write_text("raise OSError('no such file')")
    (stage.root / "prloom.toml").write_text(f'{INLINE}[bridges.ci]\nmodule = "./ci.py"\n')

    ran = prloom("start", "--once")

    assert (ran.code, ran.out) == (1, "1 plan: nothing waits. `prloom status` shows more.\n")
    assert ran.err == (
        "prloom: bridge ci (./ci.py): its module raised OSError: no such file (ci.py, line 1); "
        "fix it, or set enabled = false in [bridges.ci]\n"
    )


@pytest.mark.parametrize("table", ["module = './ci.py'", "module = './ci.py'\nenabled = false"])
def test_a_bridge_that_is_missing_fails_the_round_only_if_it_is_enabled(
    stage: Stage, prloom: Prloom, table: str
) -> None:
    (stage.root / "prloom.toml").write_text(f"{INLINE}[bridges.ci]\n{table}\n")

    ran = prloom("start", "--once")

    assert ran.code == int("enabled" not in table)
    assert ran.err.count("\n") == ran.code
