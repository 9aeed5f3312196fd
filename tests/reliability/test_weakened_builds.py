"""A matrix that cannot fail proves nothing: each weakened build fails it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import weakened
from weakened import Weakening


@pytest.mark.timeout(600)
@pytest.mark.parametrize("weakening", weakened.WEAKENINGS, ids=lambda weakening: weakening.what)
def test_the_matrix_notices_a_weakened_build(weakening: Weakening, tmp_path: Path):
    assert weakened.fails(weakening, tmp_path) is not None
