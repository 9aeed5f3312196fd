"""Names use the words of docs/glossary.md: no retired word, no two classes with one name, no term without a use."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
import syntax_tree

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"

RETIRED = frozenset(
    (
        *("turn", "turns", "told", "tell", "tells", "news", "trouble", "troubles", "rest", "rests", "stillness"),
        *("place", "places", "seen", "known", "look", "looks", "stand", "stands", "standing", "settled", "ledger"),
        *("ask", "asks", "asked", "asking", "guard", "held", "hold", "holds", "desk", "board", "hand", "hands", "crew"),
        *("roster", "wish", "wishes", "wakes", "hush", "sight", "sights", "eye", "eyes", "who", "somebody", "nobody"),
        *("mend", "mended", "surely", "poke", "pokes", "ear", "ears", "surroundings", "errand", "errands", "obey"),
        *("vouch", "vouched", "vouches", "handout", "permits", "aside", "asides", "alarm", "bell", "leftovers"),
        *("fate", "fates", "leaks", "rota", "wording", "refusals", "courtesy", "courtesies", "drafting", "opening"),
        *("repeating", "overview", "incoming", "knowledge", "damage", "buses", "checking", "merging", "requesting"),
        "trail",
    )
)
"""Words that mean too many things, or that only this code used; docs/glossary.md has the words of the field."""

LOCAL = frozenset(("asked", "held", "known", "place", "places", "rest", "seen", "settled", "told"))
"""Words that do no harm in variables, parameters and attributes, of which hundreds live for a few lines. No module,
class, function, type or constant has one in its name."""

PLAIN = {
    "Held": "the judgement that leads to the state",
    "HeldEvent": "an event in the state, in `prloom status`",
    "_held": "the state of an event, and of a lock",
    "held_before": "the events in the state before an approval",
    "_refuse_if_held": "a lock that another process has",
    "_holds": "a text holds a value",
    "holds_forge_token": "likewise",
    "Settled": "what `settle`, a word of the glossary, returns",
    "_settled_progress": "likewise",
    "settled": "likewise",
    "is_settled": "likewise",
    "WorktreeGuard": "keeps two programs out of one worktree",
    "worktree_guard": "likewise",
    "SeenIds": "the usual word for ids that a consumer has had",
    "seen_ids": "likewise",
    "load_seen_ids": "likewise",
    "look_up": "an English verb, for permissions",
    "_look_up_permissions": "likewise",
    "looks_like_item": "likewise",
    "_is_known": "the usual form of a predicate",
    "place": "a key in the output of `prloom plugins --json`",
    "is_vouched": "a name that plugins use",
    "vouched": "a verdict in the log, a key of stored events, and what a hook is told",
    "Fate": "a name that tests of plugins use",
    "fate": "likewise",
    "fates": "likewise",
    "Trouble": "a name that bridges use",
    "trouble": "likewise, and a key of the result of a run and of `prloom status --json`",
    "trouble_since": "a key of `prloom status --json`",
    "courtesy": "a key of stored actions: an acknowledgement",
    "courtesies": "a key of decisions: the acknowledgements",
    "refusals": "a key of the stored work on a TODO",
    "MOST_REFUSALS": "how many `refusals` there may be",
    "turns": "the usual word for the steps of an agent program, and a key of the result of a run",
    "wakes": "a key of what a hook returns",
    "_wakes": "likewise",
    "_worktree_guard": "a `WorktreeGuard`",
    "GuardHookName": "the names of the hooks that the glossary calls guards",
    "SEEN_IDS": "the file of the seen ids",
    "_ASIDE": "a file that is set aside",
}
"""Names in which a retired word has its plain meaning, each with that meaning."""


SHARED = frozenset(
    (
        "Duration",  # one for `prloom.api`, and one for the configuration: both are a time that is written "2h"
        "Json",  # likewise a value, which the configuration checks
        "Outcome",  # what a hook returns, and what came of a daemon's request
    )
)
"""Names of several types of prloom, each with the reason."""


class Name(NamedTuple):
    """A name, what it names, and the file that defines it; `meaning` tells types of one name apart."""

    name: str
    kind: Literal["module", "class", "function", "alias", "constant", "variable"]
    file: str
    meaning: str = ""

    @property
    def words(self) -> frozenset[str]:
        return words(self.name)

    @property
    def retired(self) -> frozenset[str]:
        """The retired words in it."""
        if self.kind == "variable":
            return self.words & (RETIRED - LOCAL)
        return self.words & RETIRED

    @property
    def package(self) -> str:
        """`prloom`, `bridges/github`, `plugins/notify`; a package below one of these belongs to it."""
        top, below = self.file.split("/")[:2]
        if top == "prloom":
            return top
        return f"{top}/{below.removesuffix('.py')}"


@cache
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
    tree = syntax_tree.of(file)
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name[0].isupper() and not name.isupper():
                    yield Name(name, "alias", path, ast.unparse(node.value) if node.value else "")
                else:
                    yield Name(name, "constant", path)
            case _:
                continue
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name):
                yield Name(name, "class", path, path)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield Name(name, "function", path)
            case (
                ast.arg(arg=name)
                | ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.MatchAs(name=str(name))
            ):
                yield Name(name, "variable", path)
            case _:
                continue


@cache
def terms() -> tuple[str, ...]:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    return tuple(row.strip() for row in rows if row.strip() != "Term")


def test_no_name_has_a_retired_word():
    found = {(name.name, name.file) for name in names() if name.retired and name.name not in PLAIN}

    assert sorted(found) == [], "docs/glossary.md has the words of the field"


def test_no_module_or_class_of_the_tests_has_a_retired_word():
    """Their functions and variables are not checked: they have thousands, and most of them are read on one page."""
    for_tests = (name for file in ROOT.glob("tests/**/*.py") for name in _names(file))
    named = {name for name in for_tests if name.kind in {"module", "class"} and not name.name.startswith("test_")}

    assert sorted({(name.name, name.file) for name in named if name.retired and name.name not in PLAIN}) == []


def test_each_exception_is_still_needed():
    assert PLAIN.keys() - {name.name for name in names() if name.retired} == set()


def test_no_two_public_types_of_a_package_have_one_name():
    """Classes, and aliases: two aliases of the same type may have one name."""
    types = [name for name in names() if name.kind in {"class", "alias"} and not name.name.startswith("_")]
    meanings = defaultdict(set)
    for name in types:
        meanings[name.package, name.name].add(name.meaning)
    shared = {key for key, known in meanings.items() if len(known) > 1 and key[1] not in SHARED}

    assert {(name.name, name.file) for name in types if (name.package, name.name) in shared} == set()


def test_the_glossary_defines_some_forty_terms_once_each():
    assert 40 <= len(terms()) <= 90
    assert len(set(terms())) == len(terms())


@pytest.mark.parametrize("term", terms())
def test_each_term_of_the_glossary_is_in_use(term: str):
    wanted = frozenset(term.lower().split())
    plural = frozenset(f"{word}s" for word in wanted)

    assert any(wanted <= name.words or plural <= name.words for name in names() if name.kind != "variable")


def test_no_term_of_the_glossary_is_a_retired_word():
    assert {term for term in terms() if words(term) & RETIRED} == {"guard"}
