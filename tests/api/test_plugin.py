from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prloom.api.manifest import Manifest
from prloom.api.plugin import Command, Hook, PluginContext, Skill, Tool
from prloom.errors import ExtensionError


@pytest.fixture
def ctx(tmp_path: Path) -> PluginContext:
    return PluginContext("image/openai", Manifest(name="openai"), {"quiet": "2m"}, folder=tmp_path)


def plan_hook(plan: str, ctx: object) -> str:
    return plan


def draw_tool(**arguments: object) -> str:
    return "drawn"


def mistake(call: Callable[[], object]) -> str:
    with pytest.raises(ExtensionError) as caught:
        call()
    return str(caught.value)


class Callable2:
    def __call__(self, plan: str, ctx: object) -> str:
        return plan

    def method(self, plan: str, ctx: object) -> str:
        return plan

    async def later(self, plan: str, ctx: object) -> str:
        return plan


# ---- hooks


def test_a_plugin_is_told_who_it_is(ctx: PluginContext) -> None:
    assert (ctx.key, ctx.manifest.name, ctx.config) == ("image/openai", "openai", {"quiet": "2m"})
    assert ctx.log.name == "prloom.plugin.image/openai"


@pytest.mark.parametrize("name", ["beforeTriage", "before_triage"])
def test_a_hook_is_registered_under_its_one_name_however_it_is_spelled(ctx: PluginContext, name: str) -> None:
    ctx.register_hook(name, plan_hook)

    assert ctx.registrations.hooks == [Hook("beforeTriage", plan_hook)]
    assert ctx.registrations.warnings == []


def test_a_decorated_function_is_registered_and_stays_a_function(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def remember(plan: str, triage: object) -> str:
        return plan

    assert ctx.registrations.for_hook("beforeTriage") == [remember]
    assert remember("x", None) == "x"


def test_functions_of_one_hook_point_keep_their_order(ctx: PluginContext) -> None:
    def second(plan: str, triage: object) -> str:
        return plan

    ctx.register_hook("beforeTriage", plan_hook)
    ctx.register_hook("onEvent", plan_hook)
    ctx.register_hook("before_triage", second)

    assert ctx.registrations.for_hook("beforeTriage") == [plan_hook, second]
    assert ctx.registrations.for_hook("afterTodo") == []


@pytest.mark.parametrize(
    ("name", "warning"),
    [
        ("beforeTriag", "plugin image/openai: no hook point is named 'beforeTriag'; did you mean 'beforeTriage'?"),
        ("zzz", "plugin image/openai: no hook point is named 'zzz'; docs/writing-a-plugin.md lists them"),
    ],
)
def test_a_hook_point_that_is_not_known_is_a_warning_with_the_nearest_one(
    ctx: PluginContext, name: str, warning: str
) -> None:
    ctx.register_hook(name, plan_hook)

    assert ctx.registrations.warnings == [warning]
    assert ctx.registrations.hooks == []


def test_a_guard_under_a_name_that_is_not_known_is_refused(ctx: PluginContext) -> None:
    with pytest.raises(ExtensionError, match=r"^plugin image/openai: no hook point is named 'preTol', .*'preTool'\?$"):
        ctx.register_hook("preTol", plan_hook)


def test_a_decorator_without_the_name_of_a_hook_point_is_refused_when_it_is_used(ctx: PluginContext) -> None:
    decorator: Any = ctx.hook

    with pytest.raises(ExtensionError, match="is not the name of a hook point; write a text, such as 'beforeTriage'"):

        @decorator
        def pre_tool(call: object, ctx: object) -> None:
            """Guard nothing."""


def test_a_tool_for_a_stage_that_does_not_exist_earns_a_warning(ctx: PluginContext) -> None:
    ctx.register_tool("draw", {}, draw_tool, visible_to=["wroker", "worker"])

    assert ctx.registrations.warnings == [
        "plugin image/openai: tool 'draw': visible_to: there is no stage 'wroker'; did you mean 'worker'?"
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"name": "prloom_plan"}, "prloom has a tool of this name itself; choose another name"),
        ({"name": "x" * 52}, "use 1 to 51 letters, digits, '_' and '-'"),
        ({"name": "rm -rf"}, "use 1 to 51 letters, digits, '_' and '-'"),
        ({"visible_to": "worker"}, "visible_to is a text; give a list of stages"),
        ({"timeout": 0}, "the timeout is 0; give seconds, at most 3600"),
    ],
)
def test_a_tool_that_agents_could_not_use_is_refused(ctx: PluginContext, options: Any, problem: str) -> None:
    given = {"name": "draw", "schema": {}, "handler": draw_tool, **options}

    said = mistake(lambda: ctx.register_tool(**given))

    assert said == f"plugin image/openai: tool {given['name']!r}: {problem}"


@pytest.mark.parametrize(
    "handler",
    [
        plan_hook,
        lambda plan, ctx: plan,
        lambda *values: values,
        lambda plan, ctx, extra=1: plan,
        Callable2(),
        Callable2().method,
        Callable2().later,
        functools.partial(lambda extra, plan, ctx: plan, 1),
        max,
    ],
)
def test_everything_that_can_be_called_with_two_arguments_can_be_a_hook(ctx: PluginContext, handler: Any) -> None:
    ctx.register_hook("beforeTriage", handler)

    assert len(ctx.registrations.hooks) == 1


@pytest.mark.parametrize(
    ("handler", "problem"),
    [
        (None, "hook beforeTriage: None cannot be called"),
        ("f", "hook beforeTriage: 'f' cannot be called"),
        (lambda: None, "hook beforeTriage: the function must take 2 arguments"),
        (lambda plan: None, "hook beforeTriage: the function must take 2 arguments"),
        (lambda plan, ctx, more: None, "hook beforeTriage: the function must take 2 arguments"),
        (lambda plan, ctx, *, must: None, "hook beforeTriage: the function must take 2 arguments"),
    ],
)
def test_what_could_not_be_called_later_is_refused_at_once(ctx: PluginContext, handler: Any, problem: str) -> None:
    assert mistake(lambda: ctx.register_hook("beforeTriage", handler)) == f"plugin image/openai: {problem}"
    assert ctx.registrations.hooks == []


# ---- commands


@pytest.mark.parametrize("name", ["note", "/note"])
def test_a_command_is_registered_without_its_slash(ctx: PluginContext, name: str) -> None:
    ctx.register_command(name, plan_hook, help="keep it")

    assert ctx.registrations.command("note") == Command("note", plan_hook, "keep it")
    assert ctx.registrations.command("NOTE") == Command("note", plan_hook, "keep it")
    assert ctx.registrations.command("other") is None


def test_a_command_may_be_decorated(ctx: PluginContext) -> None:
    @ctx.command("re-run_2", help="again")
    def rerun(event: object, ctx: object) -> None: ...

    assert ctx.registrations.commands == [Command("re-run_2", rerun, "again")]


@pytest.mark.parametrize("name", ["", "/", "a b", "a/b", "//a", "a.b", "-", "_", "a\n", 7, None])
def test_a_name_that_nobody_could_type_is_refused(ctx: PluginContext, name: Any) -> None:
    said = mistake(lambda: ctx.register_command(name, plan_hook))

    assert said == f"plugin image/openai: command {name!r}: use letters, digits, '-' and '_'"


@pytest.mark.parametrize("name", ["prloom", "/prloom", "PRloom"])
def test_a_built_in_command_cannot_be_shadowed(ctx: PluginContext, name: str) -> None:
    said = mistake(lambda: ctx.register_command(name, plan_hook))

    assert said == "plugin image/openai: command '/prloom' is built in; choose another name"


def test_a_command_is_registered_once(ctx: PluginContext) -> None:
    ctx.register_command("note", plan_hook)

    said = mistake(lambda: ctx.register_command("/note", plan_hook))

    assert said == "plugin image/openai: command '/note' is registered twice"


def test_a_commands_function_takes_the_event_and_the_context(ctx: PluginContext) -> None:
    said = mistake(lambda: ctx.register_command("note", lambda event: None))

    assert said == "plugin image/openai: command /note: the function must take 2 arguments"


# ---- tools and skills


def test_a_tool_is_registered_with_its_schema_and_its_check(ctx: PluginContext) -> None:
    schema = {"type": "object"}

    @ctx.tool("draw", schema, check_fn=bool, description="a picture")
    def draw(**arguments: object) -> str:
        return "drawn"

    assert ctx.registrations.tools == [Tool("draw", schema, draw, bool, "a picture")]


@pytest.mark.parametrize(
    ("handler", "problem"),
    [
        (lambda text: text, "parameter 'text' has no default, and the schema does not require it; let it, or add a "),
        (dict, "the parameters of <class 'dict'> are not known; register a function that calls it"),
    ],
)
def test_a_tool_whose_parameters_do_not_fit_its_schema_is_refused(
    ctx: PluginContext, handler: Any, problem: str
) -> None:
    said = mistake(lambda: ctx.register_tool("draw", {"properties": {"word": {}}, "required": ["word"]}, handler))

    assert said.startswith(f"plugin image/openai: tool 'draw': {problem}")
    assert ctx.registrations.tools == []


def test_a_tools_schema_is_the_one_that_was_registered(ctx: PluginContext) -> None:
    schema = {"type": "object"}
    ctx.register_tool("draw", schema, draw_tool)
    schema["type"] = "string"

    assert ctx.registrations.tools[0].schema == {"type": "object"}


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda c: c.register_tool("draw", {}, draw_tool), "tool 'draw' is registered twice"),
        (lambda c: c.register_tool("x", {}, None), "tool x: None cannot be called"),
        (lambda c: c.register_tool("", {}, draw_tool), "tool '': give it a name"),
        (
            lambda c: c.register_tool("x", None, draw_tool),
            "tool 'x': the schema is NoneType; give a JSON Schema object",
        ),
        (lambda c: c.register_skill("s", "gone.md"), "skill 's': there is no "),
        (lambda c: c.register_skill("review", "skill.md"), "skill 'review' is registered twice"),
        (lambda c: c.register_skill("", "skill.md"), "skill '': give it a name"),
        (lambda c: c.register_skill("x", "/etc/passwd"), "skill 'x': /etc/passwd is outside the plugin's folder "),
        (lambda c: c.register_skill("x", ".."), "skill 'x': "),
        (lambda c: c.register_skill("x", "link.md"), "skill 'x': "),
    ],
)
def test_a_tool_or_a_skill_that_could_not_be_used_is_refused(
    ctx: PluginContext, tmp_path: Path, call: Callable[[PluginContext], None], problem: str
) -> None:
    (tmp_path / "skill.md").write_text("# How\n")
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    ctx.register_tool("draw", {}, draw_tool)
    ctx.register_skill("review", "skill.md")

    assert mistake(lambda: call(ctx)).startswith(f"plugin image/openai: {problem}")


def test_a_skill_is_a_file_or_a_folder_of_the_plugins_own(ctx: PluginContext, tmp_path: Path) -> None:
    (tmp_path / "skill.md").write_text("# How\n")
    (tmp_path / "skills").mkdir()
    ctx.register_skill("review", "skill.md", "how to review")
    ctx.register_skill("more", tmp_path / "skills")

    assert ctx.registrations.skills == [
        Skill("review", tmp_path / "skill.md", "how to review"),
        Skill("more", tmp_path / "skills"),
    ]
