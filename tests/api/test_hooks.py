from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prloom.api import hooks
from prloom.errors import ExtensionError
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
        ("BEFORE-TRIAGE", "beforeTriage"),
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


def test_an_unknown_name_is_a_warning_that_says_where_it_is_and_what_to_do() -> None:
    assert hooks.unknown("plugin x", ["beforeTodo", "after_todo", "beforeTriag", "zzz"]) == (
        "plugin x: no hook point is named 'beforeTriag'; did you mean 'beforeTriage'?",
        "plugin x: no hook point is named 'zzz'; docs/writing-a-plugin.md lists them",
    )


@pytest.mark.parametrize(
    ("name", "guards"),
    [
        ("preTol", "'preTool'"),
        ("PreTool", "'preTool'"),
        ("PRE_TOOL", "'preTool'"),
        ("pre-tool", "'preTool'"),
        ("preToolUse", "'preTool'"),
        ("beforeRout", "'beforeRoute'"),
        ("before_upserts", "'beforeUpsert'"),
        ("transformToolResults", "'transformToolResult'"),
        ("beforeTool", "'preTool' or 'postTool' or 'transformToolResult'"),
        ("onRoute", "'beforeRoute'"),
    ],
)
def test_a_name_by_which_a_guard_may_be_meant_is_refused_because_nothing_would_call_the_guard(
    name: str, guards: str
) -> None:
    with pytest.raises(ExtensionError) as caught:
        hooks.unknown("plugin x", [name])

    assert str(caught.value) == (
        f"plugin x: no hook point is named {name!r}, and a guard that is never called refuses nothing; "
        f"did you mean {guards}?"
    )


@pytest.mark.parametrize("name", [None, 7, print])
def test_what_is_not_a_text_is_refused_because_nobody_can_tell_what_is_meant(name: object) -> None:
    with pytest.raises(ExtensionError, match=r"^plugin x: .* is not the name of a hook point; write a text, such as "):
        hooks.unknown("plugin x", [name])


@pytest.mark.parametrize("name", [name for name, kind in HOOKS.items() if kind == "guard"])
@given(at=st.integers(0, 40))
def test_a_guard_without_one_of_its_letters_is_never_only_a_warning(name: str, at: int) -> None:
    at %= len(name)

    with pytest.raises(ExtensionError):
        hooks.unknown("plugin x", [name[:at] + name[at + 1 :]])
