"""SECURITY.md names tests that exist, and claims nothing of a place to report to that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def test_there_are_tests_named():
    assert len(NAMED) > 25


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_test_that_the_page_names_exists(file: str, name: str):
    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE)


def test_every_test_of_an_attack_is_named():
    named = {file for file, _ in NAMED}

    assert {str(file.relative_to(ROOT)) for file in (ROOT / "tests/hostile").glob("test_*.py")} - named <= {
        "tests/hostile/test_security_page.py",
        "tests/hostile/test_interleavings.py",
    }


def test_no_address_is_made_up():
    assert re.findall(r"[\w.+-]+@[\w-]+\.\w+", PAGE) == []
