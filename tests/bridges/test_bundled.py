"""Bundled bridges are third-party code: they know of prloom what every author may know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import syntax_tree

from prloom.model.kinds import KINDS

BRIDGES = Path(__file__).parents[2] / "bridges"
FILES = sorted(BRIDGES.rglob("*.py"))
WORDS = re.compile(r"pr_[a-z_]+|[a-z_]+_(?:comment|discussion|feedback|message|note|reply|review)")


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(BRIDGES)))
def test_a_bundled_bridge_imports_only_prlooms_api(file: Path) -> None:
    tree = syntax_tree.of(file)

    assert {name for name in imported(tree) if name.split(".")[0] == "prloom"} <= {"prloom.api"}


def named_types(tree: ast.AST) -> Iterator[str]:
    """Yield the texts that name a type of events: what a call gets as `type`, and what is named like words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and WORDS.fullmatch(node.value):
            yield node.value
        elif isinstance(node, ast.keyword) and node.arg == "type" and isinstance(node.value, ast.Constant):
            yield node.value.value


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(BRIDGES)))
def test_each_type_of_events_of_a_bundled_bridge_is_in_the_one_list(file: Path) -> None:
    assert set(named_types(syntax_tree.of(file))) - KINDS.keys() == set()


def test_a_type_that_is_not_in_the_list_is_noticed_wherever_it_is_named() -> None:
    tree = ast.parse('post(item, ("discussion_comment", "said"))\nEvent(id="a", type="label_added")\nread(x, "number")')

    assert set(named_types(tree)) == {"discussion_comment", "label_added"}
