"""No text makes an expression, or a function that searches text, take time that grows faster than the text.

Measured by the processor's time for a text and for one twice as long: four times as much is the square, and fails.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

import prloom
from prloom.cli.output import terminal
from prloom.config import layers
from prloom.core.commands import comment_commands
from prloom.core.delivery import outbox, reply_sanitizer
from prloom.core.plans import plan_file, plan_reader, plan_text
from prloom.core.prompts import triage_prompt
from prloom.core.text import markdown, naming, secret_scan
from prloom.model.event import Event
from prloom.model.plan import Plan

SHORT = 1_500
"""Letters; so many that a square of them is seen."""
ENOUGH = 0.002
"""Seconds below which nothing is to be said, for everything is linear that takes no time."""
STEEPEST = 3.2
TRIES = 5

PIECES = (
    *"a-<>`~\\_/:@.0[]({}=' ",
    *("<!--", "-->", "\n", "\r\n", "\t", "<!-- prloom:action ", "- [ ] ", "* ", "# ", "```\n", "a@", "://", "://a:"),
    *("&#", "<a ", "\x1b[", "ghp_", "eyJ", "eyJa.eyJa.", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "sk-", "aws"),
    *("-----BEGIN PRIVATE KEY-----a: b\n", "http", "https://", "@a", "/a ", "1a", "a1-", "0.", "-0", "\u200b", "Z+"),
)
ENDS = ("", "!")
USES = frozenset({"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
"""The functions of `re` that take an expression."""


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(prloom.__path__, "prloom."):
        if not found.name.endswith("__main__") and "postgres" not in found.name:
            yield importlib.import_module(found.name)


def patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    """Yield the expressions on texts that a module's value is, or holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list | frozenset | set):
        for each in value:
            yield from patterns_in(each)
    elif isinstance(value, dict):
        yield from patterns_in(list(value.values()))


def written_in(module: ModuleType) -> Iterator[re.Pattern[str]]:
    """Yield the expressions on texts that a module gives to a function of `re`, as a text or by the name of one."""
    source = inspect.getsource(module)
    if "import re\n" not in source:  # each process that runs tests comes here, and to parse all modules takes seconds
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(ast.Attribute(ast.Name("re"), name), [ast.Constant(str(text)), *_]) if name in USES:
                yield re.compile(text)
            case ast.Call(ast.Attribute(ast.Name("re"), name), [ast.Name(of), *_]) if name in USES:
                text = getattr(module, of, None)
                assert isinstance(text, str), f"{module.__name__}: no test sees the expression in re.{name}({of})"
                yield re.compile(text)
            case ast.Call(ast.Attribute(ast.Name("re"), name)) if name in USES:
                pytest.fail(
                    f"{module.__name__}:{node.lineno}: no test sees the expression of re.{name}; give it a name"
                )


def every_pattern() -> dict[str, re.Pattern[str]]:
    return {
        pattern.pattern: pattern
        for module in modules()
        for found in (patterns_in(list(vars(module).values())), written_in(module))
        for pattern in found
        if isinstance(pattern.pattern, str)
    }


PATTERNS = every_pattern()


def took(use: Callable[[str], object], text: str) -> float:
    """Return the processor's time that it takes, the least of some tries."""
    best = float("inf")
    for _ in range(TRIES):
        before = time.process_time()
        use(text)
        best = min(best, time.process_time() - before)
        if best < ENOUGH:
            break
    return best


def steep(use: Callable[[str], object], pieces: tuple[str, ...] = PIECES) -> list[str]:
    """Return the pieces whose repetition takes time that grows faster than its length."""
    found = []
    for piece in pieces:
        for end in ENDS:
            text = (piece * SHORT)[:SHORT] + end
            long = took(use, (piece * SHORT * 2)[: 2 * SHORT] + end)
            if long >= ENOUGH and long > STEEPEST * took(use, text):
                # Anything may get in between once, and nothing does so for two lengths.
                longer = took(use, (piece * SHORT * 4)[: 4 * SHORT] + end)
                found += [f"{piece!r} to {end!r}"] if longer > STEEPEST * long else []
    return found


def test_the_expressions_are_found():
    assert len(PATTERNS) > 40
    assert PATTERNS.keys() >= {
        naming._COMMIT.pattern,
        r"\n{3,}",
        layers._POSITION,
    }  # as a value, a text, and by its name


def test_a_square_is_noticed():
    # By one of some looks: a processor that is slowed down while the shorter text is searched hides it from one.
    assert any(steep(re.compile(r"x+y").search, ("x",)) for _ in range(20))


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=lambda pattern: pattern.pattern[:40])
def test_an_expression_takes_time_in_proportion_to_the_text(pattern: re.Pattern[str]):
    """As it is used on what stands at one place; what searches a text is among the functions below."""
    assert steep(lambda text: [pattern.match(text), pattern.fullmatch(text)]) == []


def asked(text: str) -> object:
    event = Event(id="e", source="s", type="pr_comment", title=text, body=text, context={"diffHunk": text})
    plan = Plan(id="p", branch="b")
    arguments = {"head": None, "answer_path": "a", "fence": "f" * 32, "repository_context": None}
    return triage_prompt.triage_prompt(plan=plan, plan_text=text, events=(event,), **arguments)


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "the command of a comment": lambda text: comment_commands.parse(
        Event(id="e", source="s", type="pr_comment", body=text)
    ),
    "the marks of a text": outbox.marked,
    "the secrets of a text": lambda text: secret_scan.in_text(text, {"x": "0123456789abcdef"}),
    "the lines of a text": markdown.clean,
    "a line with its comments escaped": markdown.escaped_comments,
    "an agent's words": lambda text: reply_sanitizer.sanitize(text, to="ann"),
    "the TODOs of a plan": plan_file.todos,
    "the ids of a plan's TODOs": lambda text: plan_file.with_ids(
        f"## TODO\n{text}", lambda number, _title: str(number)
    ),
    "the description in a plan": plan_text.body,
    "the notes in a plan": lambda text: plan_text.append_notes(f"## Notes\n{text}", [text]),
    "the front matter of a plan": plan_reader.front_matter_lines,
    "a text for a terminal": terminal.clean_block,
    "a prompt": asked,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_takes_time_in_proportion_to_the_text(name: str):
    assert steep(FUNCTIONS[name]) == []
