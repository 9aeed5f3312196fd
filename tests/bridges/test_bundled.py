"""Bundled bridges are third-party code: they know of prloom what every author may know."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import syntax_tree

BRIDGES = Path(__file__).parents[2] / "bridges"
FILES = sorted(BRIDGES.rglob("*.py"))


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
