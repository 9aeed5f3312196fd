"""How the pages write values for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from prloom.web import render

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(("minutes", "said"), [(118, ">in 1 h 58 min<"), (-118, ">1 h ago<"), (0, ">now<")])
def test_what_is_to_come_is_not_cut_to_its_largest_unit(minutes: int, said: str) -> None:
    assert said in str(render.ago((NOW + timedelta(minutes=minutes)).isoformat(), NOW))
