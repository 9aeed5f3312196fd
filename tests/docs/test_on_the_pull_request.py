"""docs/on-the-pull-request.md is what prloom posts."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import on_the_pull_request


@pytest.fixture
def written() -> str:
    return on_the_pull_request.PAGE.read_text("utf-8")


def test_the_page_shows_what_is_posted_in_a_whole_conversation(written: str, tmp_path: Path):
    played = on_the_pull_request.page(tmp_path)

    changed = "\n".join(difflib.unified_diff(written.splitlines(), played.splitlines(), "page", "played", lineterm=""))
    assert changed == "", f"write the page anew with `make conversation`, and read it:\n{changed}"


def test_nothing_that_is_posted_names_a_command_of_the_operators_shell(written: str):
    assert "`prloom " not in written.partition("\n## ")[2]
