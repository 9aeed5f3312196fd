from __future__ import annotations

import unicodedata

import pytest

from prloom.core.text import path_patterns
from prloom.core.text.path_patterns import PathPatterns


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("AGENTS.md", "AGENTS.md"),
        ("AGENTS.md", "deep/down/AGENTS.md"),
        (".github/workflows/**", ".github/workflows/ci.yml"),
        (".claude/**", "pkg/.claude/settings.json"),
        ("*.pyc", "a/b.pyc"),
        ("/only.md", "only.md"),
        ("a/**", "a"),
        (".claude/**", "pkg/.claude"),
        (".github/workflows/**", ".github"),
        ("**/.cargo/config.toml", "pkg/.cargo"),
        (".renovaterc*", ".renovaterc.json5"),
    ],
)
def test_a_pattern_matches_as_people_expect(pattern: str, path: str):
    assert PathPatterns([pattern]).find(path) == pattern


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (".github/workflows/**", "docs/.github/workflows/ci.yml"),
        ("/only.md", "deep/only.md"),
        ("AGENTS.md", "AGENTS.md.txt"),
        (".github/workflows/**", ".github/labels.yml"),
        (".github/workflows/**", "docs/.github"),
        ("**/AGENTS.md", "docs"),
        ("AGENTS.md", "agent~1"),
    ],
)
def test_a_pattern_matches_no_more_than_that(pattern: str, path: str):
    assert PathPatterns([pattern]).find(path) is None


@pytest.mark.parametrize(
    "path",
    [
        ".GITHUB/Workflows/x.yml",
        ".github/work\u200cflows/x.yml",
        unicodedata.normalize("NFD", ".github/workflows/é.yml"),
        ".github./workflows /x.yml",
        ".github::$INDEX_ALLOCATION/workflows/x.yml:stream",
        "GITHUB~1/WORKFL~1/x.yml",
        "gi4a1f~1/workflows/x.yml",
        "GITHUB~1",
    ],
)
def test_no_spelling_that_a_file_system_takes_for_the_same_gets_past(path: str):
    assert PathPatterns([".github/workflows/**"]).find(path) == ".github/workflows/**"


def test_the_last_pattern_that_matches_decides_and_is_the_one_named():
    patterns = PathPatterns(["*.md", "!README.md", "docs/**"])

    assert patterns.find("x.md") == "*.md"
    assert patterns.find("README.md") is None
    assert patterns.find("docs/README.md") == "docs/**"
    assert PathPatterns([".vscode/**", "!.vscode/**"]).find(".vscode") is None


def test_git_is_given_the_pattern_that_it_reads_in_the_same_way():
    assert path_patterns.for_git("node_modules/**") == "**/node_modules/**"
    assert path_patterns.for_git("!build/**") == "!**/build/**"
    assert path_patterns.for_git("a/b/**") == "a/b/**"
    assert path_patterns.for_git("*.pyc") == "*.pyc"
