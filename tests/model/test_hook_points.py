from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import syntax_tree

import prloom
from prloom.model import hook_points
from prloom.model.hook_points import HOOKS

FIRES = {"HookCall", "RunHooks", "run", "of_todo", "_run", "_intercept", "_show", "_with"}
"""What fires the hook point that it is given; `_with` of `dispatch.py` returns the plugins that get an event."""

PACKAGES = ("engine", "core/events", "core/work")


def fired() -> set[str]:
    """Return the names of the constants that the source gives to something that fires them."""
    package = Path(prloom.__file__).parent
    trees = [syntax_tree.of(file) for folder in PACKAGES for file in sorted((package / folder).rglob("*.py"))]
    return {name for tree in trees for call in ast.walk(tree) if isinstance(call, ast.Call) for name in given(call)}


def given(call: ast.Call) -> Iterator[str]:
    """Yield the names that a call gets, if it fires hooks."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    if called in FIRES:
        for value in (*call.args, *(keyword.value for keyword in call.keywords)):
            if isinstance(value, ast.Name):
                yield value.id


def not_fired(names: Iterable[str], constants: dict[str, str]) -> list[str]:
    """Return the hook points that nothing fires."""
    fired_points = {constants.get(name) for name in fired()}
    return [name for name in names if name not in fired_points]


def test_every_hook_point_is_fired_because_a_guard_that_is_never_called_refuses_nothing() -> None:
    constants = {name: value for name, value in vars(hook_points).items() if isinstance(value, str)}

    assert not_fired(HOOKS, constants) == []
    assert not_fired([*HOOKS, "preCommit"], {**constants, "PRE_COMMIT": "preCommit"}) == ["preCommit"]
