from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.api import hooks
from prloom.model import hook
from prloom.model.hook_points import HOOKS

# The hook points of the design, by what they are called with.
POINTS = {
    "plan": [
        "afterDesign",
        "beforeTodo",
        "afterTodo",
        "beforeFinish",
        "afterFinish",
        "afterMerge",
        "afterActivate",
        "beforeTriage",
    ],
    "event": ["onEvent", "onGlobalEvent"],
    "guard": ["beforeRoute", "beforeUpsert", "preTool", "postTool", "transformToolResult"],
    "lifecycle": ["sessionStart", "sessionEnd"],
}


def test_every_hook_point_of_the_design_is_known_by_its_kind() -> None:
    assert {name: kind for kind, names in POINTS.items() for name in names} == HOOKS


def test_the_hook_points_of_events_only_observe() -> None:
    assert {name for name, kind in HOOKS.items() if kind == "event"} == set(hook.OBSERVERS)


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_point_is_known_by_both_spellings(name: str) -> None:
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)

    assert hooks.canonical(name) == hooks.canonical(snake) == name


@pytest.mark.parametrize(
    "name",
    ["", "beforetriage", "BeforeTriage", "before-triage", "before__triage", "_before_triage", "triage", "onEvent "],
)
def test_nothing_else_is_a_hook_point(name: str) -> None:
    assert hooks.canonical(name) is None


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("beforeTriag", "beforeTriage"),
        ("before_triag", "beforeTriage"),
        ("BeforeTriage", "beforeTriage"),
        ("on_event", "onEvent"),
        ("onEvents", "onEvent"),
        ("session_begin", "sessionEnd"),
        ("zzz", None),
        ("", None),
    ],
)
def test_the_nearest_hook_point_is_suggested(name: str, nearest: str | None) -> None:
    assert hooks.nearest(name) == nearest


@given(name=st.text())
def test_any_name_is_a_hook_point_or_not_and_never_an_error(name: str) -> None:
    assert hooks.canonical(name) in {None, *HOOKS}
    assert hooks.nearest(name) in {None, *HOOKS}
