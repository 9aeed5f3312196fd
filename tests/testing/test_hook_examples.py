"""A hook that no event leads to is about what the dispatcher gives it, in the harness, the contract and the command."""

from __future__ import annotations

from typing import Any

import pytest

from prloom.api import HOOKS, Action, Comment, PluginContext, Session, Target, ToolCall, ToolResult, UpsertPlan
from prloom.model.hook_points import HOOK_SUBJECTS
from prloom.testing import Harness, harness

KINDS = {"action": Action, "upsert": str, "tool_call": ToolCall, "tool_result": ToolCall}
OTHERS = [hook for hook, kind in HOOKS.items() if kind != "event" and hook != "beforeTriage"]


def asked(hook: str, **about: Any) -> tuple[Any, Any]:
    """Return what a plugin's function is asked about, and its context."""
    found = []

    def register(ctx: PluginContext) -> None:
        ctx.register_hook(hook, lambda subject, hook_ctx: found.append((subject, hook_ctx)))

    bench = harness(register)
    bench.write_plan("# Plan\n")
    bench.call(hook, **about)
    (only,) = found
    return only


@pytest.mark.parametrize("hook", HOOK_SUBJECTS)
def test_a_guard_is_asked_about_an_example(hook: str) -> None:
    about, _ = asked(hook)

    assert isinstance(about, KINDS[HOOK_SUBJECTS[hook]])
    assert (getattr(about, "result", None) is not None) == (HOOK_SUBJECTS[hook] == "tool_result")


def test_every_guard_has_what_it_is_asked_about() -> None:
    assert set(HOOK_SUBJECTS) == {hook for hook, kind in HOOKS.items() if kind == "guard"}


def test_a_guard_of_plans_knows_the_plan_that_is_to_be_written() -> None:
    text, ctx = asked("beforeUpsert")

    assert (text, ctx.upsert) == ("# Plan\n", UpsertPlan("tickets", "A plan", "# Plan\n"))


@pytest.mark.parametrize(("hook", "ended"), [("sessionStart", False), ("sessionEnd", True)])
def test_a_hook_of_a_run_gets_the_run(hook: str, *, ended: bool) -> None:
    run, _ = asked(hook)

    assert isinstance(run, Session)
    assert (run.result is not None) == ended


def test_a_hook_of_a_todo_knows_the_todo_and_after_it_the_change() -> None:
    (_, before), (plan, after) = asked("beforeTodo"), asked("afterTodo")

    assert (before.todo.title, before.diff, before.summary) == ("Rename it", None, None)
    assert (plan, after.todo.title, after.summary) == ("# Plan\n", "Rename it", "It is renamed.")
    assert after.diff.startswith("--- a/src/app.py")


@pytest.mark.parametrize(
    ("hook", "about"),
    [
        ("beforeRoute", Action(target=Target("slack"), payload=Comment("Hello."))),
        ("preTool", ToolCall(id="c", name="deploy")),
        ("postTool", ToolCall(id="c", name="deploy", result=ToolResult(success=False, error="no"))),
        ("sessionStart", Session(run_id="r", stage="triage", agent="codex")),
    ],
)
def test_a_test_may_say_what_a_hook_is_about(hook: str, about: Any) -> None:
    assert asked(hook, about=about)[0] == about


def test_the_refusal_of_a_guard_is_in_the_outcome() -> None:
    def register(ctx: PluginContext) -> None:
        @ctx.hook("preTool")
        def check(call: ToolCall, guard: Any) -> None:
            if call.name == "deploy":
                guard.block("nobody deploys on Fridays")

    bench = harness(register)

    assert bench.call("preTool", about=ToolCall(id="c", name="deploy")).block == "nobody deploys on Fridays"
    assert bench.call("preTool").block is None


@pytest.mark.parametrize("hook", OTHERS)
def test_every_hook_can_be_fired(hook: str) -> None:
    def register(ctx: PluginContext) -> None:
        ctx.register_hook(hook, lambda about, hook_ctx: None)

    bench: Harness = harness(register)

    assert bench.fire(hook).faults == ()
