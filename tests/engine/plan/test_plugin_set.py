"""The plugins at work: which of them take part, what is told of them, and when one is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fake_clock import NOON
from stage import FunctionHost, Stage, said

from prloom.api import HOOKS, PluginContext
from prloom.core.text import bounds
from prloom.core.waits.breaker import THRESHOLD
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin
from prloom.errors import ExtensionError
from prloom.testing import an_event


def hooking(*hooks: str, command: str | None = None) -> Any:
    def register(ctx: PluginContext) -> None:
        for hook in hooks:
            ctx.register_hook(hook, lambda value, context: None)
        if command is not None:
            ctx.register_command(command, lambda event, context: None, help="does it")

    return register


def plugin(key: str, register: Any) -> RunningPlugin:
    return RunningPlugin(key, "test", FunctionHost(key, register), "defer")


async def started(*plugins: RunningPlugin) -> PluginSet:
    plugin_set = PluginSet(plugins)
    await plugin_set.start()
    return plugin_set


class Unloadable(FunctionHost):
    async def start(self) -> Any:
        raise ExtensionError("plugin broken could not be loaded: line 3")

    async def stop(self) -> None:
        raise OSError("and does not go either")


class OutOfMemory(FunctionHost):
    async def start(self) -> Any:
        raise ExceptionGroup("unhandled errors in a TaskGroup", [MemoryError()])


async def test_a_plugin_for_which_there_is_no_memory_says_so():
    plugin_set = await started(RunningPlugin("large", "test", OutOfMemory("large", hooking()), "defer"))

    (told,) = plugin_set.report()
    assert told["error"] == "there is not enough memory; close other programs, or give prloom more memory"


async def test_plugins_take_part_in_their_order_by_what_they_registered():
    plugin_set = await started(
        plugin("b", hooking("beforeTriage", "onEvent")),
        plugin("a", hooking("beforeTriage")),
        plugin("c", hooking("onGlobalEvent")),
    )

    roster = plugin_set.subscribers()

    assert (roster.observers, roster.triagers) == (("b",), ("b", "a"))
    assert plugin_set.repository_subscribers().observers == ("c",)


async def test_a_plugin_that_registers_nothing_keeps_no_process():
    inert, hooked = plugin("a", hooking()), plugin("b", hooking("onEvent"))
    commanded = plugin("c", hooking(command="d"))

    plugin_set = await started(inert, hooked, commanded)

    assert [each.host.stopped for each in (inert, hooked, commanded)] == [1, 0, 0]
    assert [(told["name"], told["loaded"], told["error"]) for told in plugin_set.report()] == [
        ("a", True, None),
        ("b", True, None),
        ("c", True, None),
    ]


async def test_an_event_leads_to_the_hook_points_about_events_and_to_that_of_the_reply(stage: Stage, pr_7: Path):
    called: set[str] = set()

    def register(ctx: PluginContext) -> None:
        for name in HOOKS:
            ctx.register_hook(name, lambda value, context: called.add(context.hook_point))

    stage.plugin("everywhere", register)

    await stage.poll(said("a"), an_event(id="b", source="ci", type="release_published", pr=None))

    assert called == {"onEvent", "beforeTriage", "onGlobalEvent", "beforeRoute"}


async def test_a_command_that_another_plugin_has_is_told(caplog: pytest.LogCaptureFixture):
    plugin_set = await started(plugin("a", hooking(command="deploy")), plugin("b", hooking(command="Deploy")))

    warning = "plugin b: plugin a has the command /Deploy too and comes first; plugins.order changes that"
    assert warning in caplog.text
    assert [each["warnings"] for each in plugin_set.report()] == [[], [warning]]


async def test_among_commands_of_one_name_the_first_plugins_wins():
    plugin_set = await started(plugin("a", hooking(command="deploy")), plugin("b", hooking(command="deploy")))

    assert plugin_set.subscribers().commands == {"deploy": "a"}
    assert plugin_set.command_help() == {"deploy": "does it"}


async def test_a_commands_name_in_any_case_reaches_its_plugin_and_what_it_returns_is_posted(stage: Stage, pr_7: Path):
    def register(ctx: PluginContext) -> None:
        ctx.register_command("Deploy", lambda event, triage: f"Deploying {event.id}.")

    stage.plugin("p", register)

    await stage.poll(said("a", "/deploy now"), said("b", "/DEPLOY"))

    assert sorted(post.partition("\n")[0] for post in stage.bridge.posts) == ["Deploying a.", "Deploying b."]
    assert stage.triager.batches == []


async def test_a_plugin_that_a_preset_disables_sees_nothing_of_the_plans_that_choose_it(stage: Stage):
    stage.configure('[presets.calm.plugins]\ndisabled = ["p"]\n')
    stage.adopt("pr-7", preset="calm")
    stage.adopt("pr-8", pr=8)
    host = stage.plugin("p", hooking("onEvent", "beforeTriage", command="deploy"))

    await stage.poll(said("a"), said("b", "/deploy"), said("c", pr=8))

    assert {event_id for ids in host.shown for event_id in ids} == {"c"}
    assert sorted(stage.triager.batches) == [("a", "b"), ("c",)]


async def test_a_preset_names_a_plugin_as_the_configuration_does():
    plugin_set = await started(plugin("quiet_period", hooking("beforeTriage")), plugin("b", hooking("beforeTriage")))

    assert plugin_set.subscribers(["quiet-period"]).triagers == ("b",)
    assert plugin_set.with_hook("beforeTriage", ["quiet-period"]) == ("b",)


async def test_a_plugin_that_cannot_be_loaded_is_its_own_trouble(stage: Stage, pr_7: Path):
    good = stage.plugin("good", hooking("beforeTriage"))
    stage.hosts.insert(0, Unloadable("broken", hooking()))
    stage.on_error["broken"] = "defer"

    await stage.poll(said("a"))

    assert good.shown == [("a",)]
    told = {each["name"]: (each["loaded"], each["error"]) for each in stage.published("plugins")}
    assert told == {"broken": (False, "could not be loaded: line 3"), "good": (True, None)}


async def test_a_plugin_that_cannot_be_stopped_keeps_no_other_from_it(caplog: pytest.LogCaptureFixture):
    good = plugin("good", hooking())
    plugin_set = PluginSet([RunningPlugin("broken", "test", Unloadable("broken", hooking()), "defer"), good])

    await plugin_set.stop()

    assert isinstance(good.host, FunctionHost)
    assert good.host.stopped == 1
    assert "plugin broken could not be stopped" in caplog.text


# ---- failing often


def test_one_event_that_it_always_fails_on_switches_it_off_too_and_the_report_is_short():
    one = plugin("p", hooking())
    for _ in range(THRESHOLD):
        one.failed("bad" * 10**6, NOON, "e")

    assert str(one.report()["error"]).startswith("switched off for the event that it fails on until")
    assert len(str(one.report()["error"])) < 2 * bounds.REASON


def test_a_success_forgets_the_failures():
    one = plugin("p", hooking())
    for number in range(THRESHOLD - 1):
        one.failed("bad", NOON, f"e{number}")
    one.worked()

    one.failed("bad", NOON, "another")

    assert one.breaker.off_until is None


async def test_the_log_names_a_plugin_once(stage: Stage, caplog: pytest.LogCaptureFixture, pr_7: Path):
    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        def bad(plan: str, triage: Any) -> None:
            raise RuntimeError("boom")

    stage.plugin("bad", register)

    await stage.poll(said("a"), said("b"))

    lines = [record.getMessage() for record in caplog.records if "boom" in record.getMessage()]
    assert len(lines) == 3  # in company, and then each of the two alone
    assert [line.count("plugin bad") for line in lines] == [1, 1, 1]


async def test_the_log_names_a_plugin_once_that_cannot_be_loaded(caplog: pytest.LogCaptureFixture):
    await started(RunningPlugin("broken", "test", Unloadable("broken", lambda ctx: None), "defer"))

    assert "plugin broken is not used: could not be loaded: line 3" in caplog.text
