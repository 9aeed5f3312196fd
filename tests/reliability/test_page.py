"""docs/reliability.md says what the crash matrix says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import table

PAGE = Path(__file__).parents[2] / "docs/reliability.md"


@pytest.fixture
def rows() -> list[list[str]]:
    made = PAGE.read_text().partition(table.BEGIN)[2].partition(table.END)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in made.splitlines() if line]


def test_the_page_has_the_protocols_and_the_calls_that_the_matrix_breaks(
    rows: list[list[str]], ran: Callable[..., Any]
):
    known = {tuple(row.split("|")) for row, *_ in ran("crash_matrix.py", "once", "--list")["rows"]}

    assert {(row[0], row[1]) for row in rows if len(row) > 3} - {("Protocol", "Call"), ("---", "---")} == known


def test_nothing_on_the_page_has_failed(rows: list[list[str]]):
    assert rows
    assert not [row for row in rows if "failed" in " ".join(row)]
    assert [row[2] for row in rows if len(row) == 3][2:] == ["0"] * 6


def test_a_cell_that_went_wrong_is_told_as_failed():
    report = {"cells": 3, "rows": [["cursor|write", "kill", 3, 1]], "wrong": ["lost"]}
    kills = {"rounds": 1, "events": 1, "strangers": 0, "on GitHub": 1, "cut short": 0, "seed": 1, "wrong": []}
    kinds = dict.fromkeys(("once", "twice", "power", "traced"), report)

    made = table.page(f"{table.BEGIN}{table.END}", kinds, {}, kills)

    assert "| cursor | write | failed (1 of 3) |" in made
