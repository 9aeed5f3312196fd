from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace
from values import NoServices, an_event, hook_call

from prloom.api.context import HookContext
from prloom.api.manifest import Manifest
from prloom.api.plugin import Hook, PluginContext
from prloom.api.triage import TriageContext
from prloom.errors import ExtensionError
from prloom.extensions import calling
from prloom.model.action import Action, Comment, UpsertPlan
from prloom.model.event import Event, Target
from prloom.model.hook import HookCall, Mark, Outcome, Writes
from prloom.model.hook_points import HOOKS
from prloom.model.tool import Session, ToolCall, ToolResult


@pytest.fixture
def ctx(tmp_path: object) -> PluginContext:
    return PluginContext("noted", Manifest(name="noted"), {}, folder=None)  # type: ignore[arg-type]


@pytest.fixture
def run(ctx: PluginContext) -> Callable[[HookCall], Outcome]:
    def run_one(call: HookCall) -> Outcome:
        return calling.run_hook("noted", ctx.registrations, call, NoServices())

    return run_one


Run = Callable[[HookCall], Outcome]


def failure(run: Run, call: HookCall) -> str:
    with pytest.raises(ExtensionError) as caught:
        run(call)
    return str(caught.value)


def test_plan_hooks_run_in_order_and_each_gets_the_text_of_the_one_before(ctx: PluginContext, run: Run) -> None:
    ctx.register_hook("beforeTodo", lambda plan, ctx: plan + "one\n")
    ctx.register_hook("beforeTodo", lambda plan, ctx: None)
    ctx.register_hook("beforeTodo", lambda plan, ctx: plan + "two\n")

    assert run(hook_call("beforeTodo")).plan == "# Plan\none\ntwo\n"


def test_a_plan_that_comes_back_as_it_was_is_no_change(ctx: PluginContext, run: Run) -> None:
    ctx.register_hook("beforeTriage", lambda plan, ctx: plan)

    assert run(hook_call("beforeTriage")) == Outcome()


def test_an_event_hook_gets_each_event_and_what_it_says_is_filed_under_that_event(ctx: PluginContext, run: Run) -> None:
    ctx.register_hook("onEvent", lambda event, ctx: ctx.emit_comment(None, f"saw {event.id}"))

    outcome = run(hook_call("onEvent", an_event("e1"), an_event("e2")))

    assert outcome.actions == (
        Action(target=Target("plan"), payload=Comment("saw e1"), related_event_id="e1"),
        Action(target=Target("plan"), payload=Comment("saw e2"), related_event_id="e2"),
    )


def test_an_event_hook_sees_what_it_stored_at_the_events_before(ctx: PluginContext, run: Run) -> None:
    def count(event: Event, ctx: HookContext) -> None:
        ctx.update_state("seen", lambda seen: [*(seen or []), event.id])
        ctx.update_global_state("count", lambda count: (count or 0) + 1)
        ctx.set_state("last", None if event.id == "e3" else event.id)

    ctx.register_hook("onEvent", count)
    events = [an_event(name) for name in ("e1", "e2", "e3")]

    outcome = run(hook_call("onEvent", *events, state={"seen": ["e0"]}, global_state={"count": 5}))

    assert outcome.writes == (
        Writes(scope="plan", read=("seen",), values={"seen": ["e0", "e1", "e2", "e3"]}, deleted=("last",)),
        Writes(scope="global", read=("count",), values={"count": 8}),
    )


def test_a_key_that_was_removed_and_set_again_is_set(ctx: PluginContext, run: Run) -> None:
    ctx.register_hook("onEvent", lambda event, ctx: ctx.set_state("k", None if event.id == "e1" else event.id))

    outcome = run(hook_call("onEvent", an_event("e1"), an_event("e2"), state={"k": "old"}))

    assert outcome.writes == (Writes(scope="plan", values={"k": "e2"}),)


ACTION = Action(id="a-1", target=Target("forge"), payload=Comment("Hello"))
CALL = ToolCall(id="c-1", name="draw", arguments={"what": "a tree"})
UPSERT = UpsertPlan(source="forge", title="Trees", plan_markdown="# Plan\n")
RUN = Session(run_id="run-1", stage="worker", agent="claude")


@pytest.mark.parametrize(
    ("hook", "about", "given"),
    [
        ("beforeRoute", {"action": ACTION}, ACTION),
        ("beforeUpsert", {"upsert": UPSERT}, "# Plan\n"),
        ("preTool", {"tool": CALL}, CALL),
        ("afterActivate", {}, "# Plan\n"),
        ("sessionEnd", {"session": RUN}, RUN),
    ],
)
def test_a_function_is_called_with_what_its_hook_point_is_about(
    ctx: PluginContext, run: Run, *, hook: str, about: dict[str, object], given: object
) -> None:
    shown: list[object] = []

    def handler(value: object, ctx: HookContext) -> None:
        shown.append(value)
        ctx.set_state("seen", ctx.hook_point)

    ctx.registrations.hooks.append(Hook(hook, handler))

    assert run(hook_call(hook, **about)).writes == (Writes(scope="plan", values={"seen": hook}),)
    assert shown == [given]


GUARDS = tuple(name for name, kind in HOOKS.items() if kind == "guard")

every_guard = pytest.mark.parametrize("guard", GUARDS)


@every_guard
@pytest.mark.parametrize(
    ("about", "given"), [({"action": ACTION}, ACTION), ({"upsert": UPSERT}, "# Plan\n"), ({"tool": CALL}, CALL)]
)
def test_what_a_guard_is_asked_about_is_what_its_call_carries_whatever_the_guards_name(
    ctx: PluginContext, run: Run, *, guard: str, about: dict[str, object], given: object
) -> None:
    shown: list[object] = []
    ctx.registrations.hooks.append(Hook(guard, lambda value, ctx: shown.append(value)))

    run(hook_call(guard, **about))

    assert shown == [given]


@every_guard
def test_a_guard_can_put_another_action_text_or_other_arguments_in_the_place_of_those_of_its_call(
    ctx: PluginContext, run: Run, guard: str
) -> None:
    other = replace(ACTION, id="", payload=Comment("Good morning"))
    changed = {"action": other, "arguments": {"what": "a house"}}
    ctx.register_hook(guard, lambda value, ctx: ctx.change(changed["action" if value == ACTION else "arguments"]))

    assert run(hook_call(guard, action=ACTION)).action == other
    assert run(hook_call(guard, tool=CALL)).arguments == {"what": "a house"}

    ctx.registrations.hooks[:] = [Hook(guard, lambda value, ctx: f"{value}More.\n")]

    assert run(hook_call(guard, upsert=UPSERT)).plan == "# Plan\nMore.\n"


@pytest.mark.parametrize(
    ("guard", "about", "value", "kind"),
    [
        ("preTool", {"tool": CALL}, ACTION, "Action"),
        ("postTool", {"tool": replace(CALL, result=ToolResult(success=True))}, {"what": "a house"}, "dict"),
        ("beforeUpsert", {"upsert": UPSERT}, {"title": "Houses"}, "dict"),
    ],
)
def test_a_guard_cannot_change_what_is_not_there_to_be_changed(
    ctx: PluginContext, run: Run, *, guard: str, about: dict[str, object], value: object, kind: str
) -> None:
    ctx.register_hook(guard, lambda _, ctx: ctx.change(value))

    assert failure(run, hook_call(guard, **about)) == f"plugin noted: change: {guard} cannot change {kind}"


@every_guard
def test_a_guard_that_is_called_about_nothing_fails_and_lets_nothing_pass(
    ctx: PluginContext, run: Run, guard: str
) -> None:
    ctx.registrations.hooks.append(Hook(guard, lambda value, ctx: None))

    assert f"called {guard} without saying what it is about" in failure(run, hook_call(guard))


@pytest.mark.parametrize(
    ("returned", "said"), [("Noted.", ["Noted."]), (None, []), ("", []), (" \n", []), (5, []), (["Noted."], [])]
)
def test_the_text_that_a_command_returns_is_the_reply(
    ctx: PluginContext, run: Run, returned: object, said: list[str]
) -> None:
    ctx.register_command("note", lambda event, triage: returned)

    outcome = run(hook_call("command:/note"))

    assert [action.payload.message for action in outcome.actions if isinstance(action.payload, Comment)] == said
    assert all(action.target == Target("github", {"comment": "e1"}) for action in outcome.actions)
    assert all(action.related_event_id == "e1" for action in outcome.actions)


def test_what_a_command_returns_and_is_not_a_text_is_warned_of(
    ctx: PluginContext, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    ctx.register_command("note", lambda event, triage: triage.update_state("n", lambda n: (n or 0) + 1))

    run(hook_call("command:/note"))

    assert caplog.messages == ["command:/note returned int, which is not posted; return a text"]


def test_a_slash_command_in_upper_or_lower_case_goes_to_its_function_which_may_mark(
    ctx: PluginContext, run: Run
) -> None:
    ctx.register_command("Note", lambda event, triage: triage.mark_event_handled(event.id))

    assert run(hook_call("command:/note")).marks == (Mark("e1", "handled"),)


def test_an_agents_run_that_is_not_awaited_makes_the_hook_fail(ctx: PluginContext, run: Run) -> None:
    ctx.register_hook("beforeTriage", lambda plan, triage: triage.emit_comment(None, f"{triage.run_agent('look')}"))

    assert failure(run, hook_call()) == (
        "plugin noted: run_agent: it was not awaited, so no agent ran; write `await` before the call"
    )


@pytest.mark.parametrize("hook", ["onEvent", "command:/note"])
def test_a_hook_that_nobody_registered_is_an_error(run: Run, hook: str) -> None:
    assert failure(run, hook_call(hook)) == f"plugin noted: nothing is registered for {hook}"


def test_a_wrong_return_type_is_an_error_that_names_plugin_and_hook(ctx: PluginContext, run: Run) -> None:
    ctx.register_hook("beforeTriage", lambda plan, ctx: 5)

    assert failure(run, hook_call()) == (
        "plugin noted: beforeTriage returned int; return the plan's text, or None to keep it"
    )


@pytest.mark.parametrize("hook", ["beforeTriage", "onEvent"])
def test_a_generator_is_an_error_because_nothing_of_it_has_run(ctx: PluginContext, run: Run, hook: str) -> None:
    def lazy(value: object, ctx: HookContext) -> object:
        yield value

    ctx.register_hook(hook, lazy)

    assert failure(run, hook_call(hook)) == (
        f"plugin noted: {hook} raised TypeError: the function is a generator, so its code did not run; "
        "use return instead of yield"
    )


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit("no"), GeneratorExit("no")])
def test_whatever_a_hook_raises_is_an_error_that_names_plugin_and_hook(
    ctx: PluginContext, run: Run, error: BaseException
) -> None:
    async def fail(plan: str, ctx: HookContext) -> str:
        raise error

    ctx.register_hook("beforeTriage", fail)

    assert failure(run, hook_call()) == f"plugin noted: beforeTriage raised {type(error).__name__}: no"


def test_a_wrong_use_of_the_context_is_told_in_the_contexts_own_words(ctx: PluginContext, run: Run) -> None:
    ctx.register_hook("beforeTriage", lambda plan, triage: triage.mark_event_handled("e9"))

    assert failure(run, hook_call()) == (
        "plugin noted: mark_event_handled: event 'e9' is not in this batch; use an id of `triage.events`"
    )


@pytest.mark.parametrize(
    "hook",
    [
        lambda plan, triage: "\ud800",
        lambda plan, triage: triage.mark_event_handled("e1", "\ud800"),
    ],
)
def test_an_outcome_that_could_not_be_sent_is_an_error(
    ctx: PluginContext, run: Run, hook: Callable[..., object]
) -> None:
    ctx.register_hook("beforeTriage", hook)

    assert failure(run, hook_call()).startswith("plugin noted: beforeTriage: its result is not valid: ")


def test_a_hook_that_raises_takes_no_effect_at_all(ctx: PluginContext, run: Run) -> None:
    call = hook_call(state={"n": {"deep": [1]}})
    before = msgspec.json.encode(call)

    def fail(plan: str, triage: TriageContext) -> str:
        triage.get_state("n")["deep"].append(2)
        triage.update_state("n", lambda n: {**n, "more": 1})
        triage.mark_event_handled("e1")
        raise ValueError

    ctx.register_hook("beforeTriage", fail)

    failure(run, call)

    assert msgspec.json.encode(call) == before


def test_an_interrupt_from_the_keyboard_is_passed_on(ctx: PluginContext, run: Run) -> None:
    def interrupted(plan: str, ctx: HookContext) -> str:
        raise KeyboardInterrupt

    ctx.register_hook("beforeTriage", interrupted)

    with pytest.raises(KeyboardInterrupt):
        run(hook_call())
