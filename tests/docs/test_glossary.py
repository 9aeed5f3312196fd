"""Names use the words of docs/glossary.md: no retired word, no two classes with one name, no term without a use."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"

RETIRED: dict[str, frozenset[str]] = {
    "turn": frozenset(),
    "turns": frozenset(),
    "told": frozenset({"told"}),
    "tell": frozenset({"tell"}),
    "tells": frozenset(),
    "news": frozenset(),
    "trouble": frozenset(),
    "troubles": frozenset(),
    "rest": frozenset(),
    "rests": frozenset(),
    "stillness": frozenset(),
    "place": frozenset({"place"}),
    "places": frozenset({"places"}),
    "known": frozenset({"_is_known", "known"}),
    "look": frozenset({"_look_up_permissions", "look_up"}),
    "looks": frozenset({"_looks_like_item"}),
    "stand": frozenset(),
    "stands": frozenset({"stands"}),
    "standing": frozenset(),
    "settled": frozenset({"Settled", "_settled_progress", "is_settled", "settled"}),
    "ledger": frozenset(),
    "ask": frozenset(),
    "asks": frozenset(),
    "asked": frozenset(),
    "asking": frozenset(),
    "desk": frozenset(),
    "desks": frozenset(),
    "hand": frozenset(),
    "hands": frozenset(),
    "crew": frozenset(),
    "roster": frozenset(),
    "wish": frozenset(),
    "wishes": frozenset(),
    "hush": frozenset(),
    "sight": frozenset(),
    "sights": frozenset(),
    "eye": frozenset(),
    "eyes": frozenset(),
    "who": frozenset(),
    "somebody": frozenset(),
    "mend": frozenset(),
    "mended": frozenset(),
    "surely": frozenset(),
    "pokes": frozenset(),
    "poke": frozenset(),
    "ears": frozenset(),
    "ear": frozenset(),
    "surroundings": frozenset(),
    "errand": frozenset(),
    "errands": frozenset(),
    "obey": frozenset(),
    "vouch": frozenset(),
    "vouched": frozenset({"is_vouched"}),
    "vouches": frozenset(),
    "handout": frozenset(),
    "permits": frozenset(),
    "tables": frozenset(),
    "aside": frozenset(),
    "asides": frozenset(),
    "alarm": frozenset(),
    "bell": frozenset(),
    "leftovers": frozenset(),
    "terms": frozenset(),
    "fate": frozenset({"Fate"}),
    "fates": frozenset(),
    "leaks": frozenset(),
    "intake": frozenset({"Intake", "intake"}),
    "rota": frozenset(),
    "wording": frozenset(),
    "refusals": frozenset(),
    "held": frozenset({"Held", "HeldEvent", "_held", "_refuse_if_held", "held", "held_before", "targets_held_by"}),
    "hold": frozenset({"_hold_lock"}),
    "holds": frozenset({"_holds", "holds_forge_token"}),
    "guard": frozenset({"WorktreeGuard", "worktree_guard"}),
    "turned": frozenset(),
    "courtesy": frozenset(),
    "courtesies": frozenset(),
}
"""Words that mean too many things, each with the names in which it has its plain meaning."""


class Name(NamedTuple):
    """A module, class or function, and the file that defines it."""

    name: str
    kind: str
    file: str

    @property
    def words(self) -> frozenset[str]:
        return words(self.name)

    @property
    def package(self) -> str:
        """`prloom/core`, `bridges/github`; a package below one of these belongs to it."""
        return "/".join(self.file.split("/")[:2]).removesuffix(".py")


def words(name: str) -> frozenset[str]:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return frozenset(snake.split("_")) - {""}


@cache
def names() -> tuple[Name, ...]:
    return tuple(
        name
        for top in ("prloom", "bridges", "plugins")
        for file in ROOT.glob(f"{top}/**/*.py")
        for name in _names(file)
    )


def _names(file: Path) -> Iterator[Name]:
    path = str(file.relative_to(ROOT))
    for part in path.removesuffix(".py").split("/"):
        yield Name(part, "module", path)
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.ClassDef(name=name):
                yield Name(name, "class", path)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield Name(name, "function", path)
            case _:
                continue


@cache
def terms() -> tuple[str, ...]:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    return tuple(row.strip() for row in rows if row.strip() != "Term")


@pytest.mark.parametrize("word", RETIRED)
def test_no_name_has_a_retired_word(word: str):
    found = {f"{name.name} ({name.file})" for name in names() if word in name.words and name.name not in RETIRED[word]}

    assert sorted(found) == [], f"find a better word than {word}: docs/glossary.md has those of the field"


def test_no_two_public_classes_of_a_package_have_one_name():
    files = defaultdict(set)
    for name in names():
        if name.kind == "class" and not name.name.startswith("_"):
            files[name.package, name.name].add(name.file)

    assert {name: sorted(where) for name, where in files.items() if len(where) > 1} == {}


def test_the_glossary_defines_some_forty_terms_once_each():
    assert 40 <= len(terms()) <= 80
    assert len(set(terms())) == len(terms())


@pytest.mark.parametrize("term", terms())
def test_each_term_of_the_glossary_is_in_use(term: str):
    wanted = frozenset(term.lower().split())
    plural = frozenset(f"{word}s" for word in wanted)

    assert any(wanted <= name.words or plural <= name.words for name in names())


@pytest.mark.parametrize("term", terms())
def test_no_term_of_the_glossary_is_a_retired_word(term: str):
    assert term == "guard" or term not in RETIRED
