"""What the panes of `prloom top` say of each thing in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from operator_scene import OperatorScene

from prloom.engine.views import dashboard
from prloom.engine.views.dashboard_schema import Wait
from prloom.top import rows


@pytest.mark.parametrize(
    ("milliseconds", "said"), [(118 * 60_000, "in 1 h 58 min"), (90_000, "in 1 min 30 s"), (900, "in a moment")]
)
def test_the_time_until_a_wait_ends_is_not_cut_to_its_largest_unit(
    tmp_path: Path, milliseconds: int, said: str
) -> None:
    scene = OperatorScene(tmp_path)
    wait = Wait(kind="todo", plan="pr-1", id="t-1", text="Add it", reason="the limit", ends_in_ms=milliseconds)

    (row,) = rows.of(replace(dashboard.read(scene.where, scene.now), waiting=(wait,)))["waiting"]

    assert f"  {said}  " in row.text
