"""What every host does, whether the plugin runs in a process of its own or in this one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

import loop_time
import pytest
from values import an_event, hook_call

from prloom.errors import AgentError, ExtensionError
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.host.inline import InlineHost
from prloom.extensions.host.interface import HookFailed, OfferedSkill, OfferedTool, PluginHost, Registered
from prloom.extensions.host.process import ProcessHost
from prloom.model.action import Action, Comment
from prloom.model.event import Event, Target
from prloom.model.hook import HookCall, Mark, Outcome, Writes

Plugin = Callable[..., DiscoveredPlugin]
Open = Callable[..., PluginHost]

LONG = timedelta(seconds=60)
SHORT = timedelta(milliseconds=200)


@pytest.fixture(params=["process", "inline"])
def open_host(request: pytest.FixtureRequest, process_host: Callable[..., ProcessHost]) -> Callable[..., PluginHost]:
    return (
        process_host if request.param == "process" else lambda found, settings=None: InlineHost(found, settings or {})
    )


class RecordingServices:
    """Services that keep what they were asked for."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.asked: list[object] = []
        self.events = events
        self.agent_called_off = asyncio.Event()
        self.busy = 0.0
        self.fails = False

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        self.asked.append((prompt, tuple(files), stage, model))
        if self.fails:
            raise AgentError("no agent CLI was found")
        try:
            await asyncio.sleep(self.busy)
        except asyncio.CancelledError:
            self.agent_called_off.set()
            raise
        return "done"

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        self.asked.append((types and tuple(types), since_id, limit))
        return self.events, "e2"

    def read_plan(self, plan_id: str) -> str:
        if self.fails:
            raise ExtensionError(f"there is no plan {plan_id}")
        return f"# {plan_id}"


async def failure(
    host: PluginHost, call: HookCall, limit: timedelta = LONG, runtime: RecordingServices | None = None
) -> HookFailed:
    with pytest.raises(HookFailed) as caught:
        await host.run(call, runtime or RecordingServices(), limit)
    return caught.value


async def test_start_tells_what_the_plugin_registered(plugin: Plugin, open_host: Open) -> None:
    found = plugin("""
        def register(ctx):
            ctx.register_hook("before_triage", lambda plan, ctx: plan)
            ctx.register_hook("beforeTriage", lambda plan, ctx: plan)
            ctx.register_hook("sessionStart", lambda value, ctx: None)
            ctx.register_hook("onEvnt", lambda value, ctx: None)
            ctx.register_command("note", lambda event, ctx: None, help="take a note")
            ctx.register_tool("look", {"type": "object"}, print, lambda: True, "Look it up")
            ctx.register_tool("leap", {}, print, lambda: 1 / 0)
            ctx.register_skill("how", "__init__.py", "How to")
    """)

    registered = await open_host(found).start()

    assert registered.hooks == ("beforeTriage", "sessionStart")
    assert registered.commands == {"note": "take a note"}
    assert registered.tools == {
        "look": OfferedTool(description="Look it up", schema={"type": "object"}, checked=True),
        "leap": OfferedTool(checked=True),
    }
    assert registered.skills["how"].path == f"{found.path}/__init__.py"
    assert registered.warnings == ("plugin noted: no hook point is named 'onEvnt'; did you mean 'onEvent'?",)


async def test_a_plugin_with_a_guard_that_nothing_would_call_is_refused(plugin: Plugin, open_host: Open) -> None:
    host = open_host(plugin("def register(ctx):\n    ctx.register_hook('preTol', lambda call, ctx: ctx.block('no'))"))

    with pytest.raises(ExtensionError, match=r"^plugin noted: no hook point is named 'preTol', .*'preTool'\?"):
        await host.start()


async def test_a_hooks_call_and_its_outcome_are_values(plugin: Plugin, open_host: Open) -> None:
    found = plugin("""
        def register(ctx):
            @ctx.hook("beforeTriage")
            async def look(plan, triage):
                first, second = triage.events
                triage.update_state("seen", lambda n: (n or 0) + 1)
                triage.update_global_state("notes", lambda notes: [*notes, first.body])
                triage.emit_comment(first.reply_to, "Noted.")
                triage.mark_event_handled(first.id)
                triage.mark_event_deferred(second.id, "later", 5000)
                return plan + ctx.config["colour"]
    """)
    host = open_host(found, {"colour": "red", "on_error": "pass"})
    events = an_event("e1", body="!memory é\u2028 \x1b"), an_event("e2")

    outcome = await host.run(
        hook_call("beforeTriage", *events, global_state={"notes": ["a"]}), RecordingServices(), LONG
    )

    assert outcome == Outcome(
        marks=(Mark("e1", "handled"), Mark("e2", "deferred", "later", 5000)),
        actions=(Action(target=Target("github", {"comment": "e1"}), payload=Comment("Noted."), related_event_id="e1"),),
        writes=(
            Writes(scope="plan", read=("seen",), values={"seen": 1}),
            Writes(scope="global", read=("notes",), values={"notes": ["a", "!memory é\u2028 \x1b"]}),
        ),
        plan="# Plan\nred",
    )


async def test_a_plugin_that_cannot_be_loaded_says_why(plugin: Plugin, open_host: Open) -> None:
    host = open_host(plugin("def register(ctx):\n    raise SystemExit('not today')"))
    said = "plugin noted could not be loaded: SystemExit: not today (__init__.py, line 2, in register)"

    with pytest.raises(ExtensionError) as caught:
        await host.start()
    assert str(caught.value) == said
    assert str(await failure(host, hook_call())) == f"{said}; beforeTriage did not run"


FRAGILE = """
    import time

    def register(ctx):
        @ctx.hook("beforeTriage")
        def look(plan, triage):
            exec(triage.events[0].body)
            return "fine"
"""


async def test_a_hook_that_raises_fails_and_the_next_call_works(plugin: Plugin, open_host: Open) -> None:
    host = open_host(plugin(FRAGILE))
    bad = an_event(body="triage.mark_event_handled('e1'); raise KeyboardInterrupt('no')")

    failed = await failure(host, hook_call("beforeTriage", bad))

    assert str(failed).startswith("plugin noted: beforeTriage raised KeyboardInterrupt: no (")
    assert (failed.kind, failed.collateral) == ("raised", False)
    assert (await host.run(hook_call("beforeTriage", an_event(body="")), RecordingServices(), LONG)).plan == "fine"


async def test_a_hook_that_overruns_fails_and_the_next_call_works(plugin: Plugin, open_host: Open) -> None:
    host = open_host(plugin(FRAGILE))

    failed = await failure(host, hook_call("beforeTriage", an_event(body="time.sleep(3)")), SHORT)

    assert str(failed) == "plugin noted: beforeTriage took longer than 0.2 s and was stopped"
    assert (failed.kind, failed.collateral) == ("overran", False)
    assert (await host.run(hook_call("beforeTriage", an_event(body="")), RecordingServices(), LONG)).plan == "fine"


async def test_calls_for_different_plans_overlap(plugin: Plugin, open_host: Open) -> None:
    found = plugin("""
        import threading

        BOTH = threading.Barrier(2, timeout=60)

        def register(ctx):
            @ctx.hook("beforeTriage")
            def look(plan, triage):
                BOTH.wait()
                return triage.plan_id
    """)
    host = open_host(found)

    first, second = await asyncio.gather(
        host.run(hook_call(plan_id="pr-1"), RecordingServices(), LONG),
        host.run(hook_call(plan_id="pr-2"), RecordingServices(), LONG),
    )

    assert (first.plan, second.plan) == ("pr-1", "pr-2")


async def test_what_a_hook_changes_in_its_call_is_seen_by_nobody_in_the_same_process(plugin: Plugin) -> None:
    found = plugin("""
        def register(ctx):
            @ctx.hook("onEvent")
            def look(event, ctx):
                event.context["seen"] = True
    """)
    event = an_event(context={})

    await InlineHost(found, {}).run(hook_call("onEvent", event), RecordingServices(), LONG)

    assert event.context == {}


ASKING = """
    import asyncio

    def register(ctx):
        @ctx.hook("beforeTriage")
        async def look(plan, triage):
            events, last = triage.read_events(types=["pr_comment"], since_id="e0", limit=5)
            said = await triage.run_agent("look", files=["a.py"], stage="triage", model="m")
            return f"{[e.id for e in events]} {last} {said} {triage.read_plan('pr-8')}"

        @ctx.hook("beforeTodo")
        def other(plan, ctx):
            return ctx.read_plan("pr-8")

        @ctx.hook("afterTodo")
        async def careless(plan, ctx):
            asyncio.create_task(ctx.run_agent("forgotten"))
            await asyncio.sleep(0.05)
"""


class SlowServices(RecordingServices):
    """An agent that works for longer than the limit, by the clock that the limit goes by."""

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        loop_time.let_pass(2 * LONG.total_seconds())
        return await super().run_agent(prompt, files=files, stage=stage, model=model)


async def test_a_hook_may_ask_for_an_agent_events_and_plans_and_its_time_limit_stands_still_while_the_agent_works(
    plugin: Plugin, open_host: Open
) -> None:
    runtime = SlowServices(events=[an_event("e1"), an_event("e2")])
    runtime.busy = 0.1

    outcome = await open_host(plugin(ASKING)).run(hook_call(), runtime, LONG)

    assert outcome.plan == "['e1', 'e2'] e2 done # pr-8"
    assert runtime.asked == [(("pr_comment",), "e0", 5), ("look", ("a.py",), "triage", "m")]


async def test_what_could_not_be_done_for_a_hook_is_raised_in_it_with_the_reason(
    plugin: Plugin, open_host: Open
) -> None:
    host, runtime = open_host(plugin(ASKING)), RecordingServices()
    runtime.fails = True

    assert str(await failure(host, hook_call(), runtime=runtime)) == "plugin noted: run_agent: no agent CLI was found"
    assert str(await failure(host, hook_call("beforeTodo"), runtime=runtime)) == (
        "plugin noted: read_plan: there is no plan pr-8"
    )


async def test_an_agent_that_a_hook_leaves_behind_is_ended_with_it(plugin: Plugin, open_host: Open) -> None:
    host, runtime = open_host(plugin(ASKING)), RecordingServices()
    runtime.busy = 60

    await host.run(hook_call("afterTodo"), runtime, LONG)

    await asyncio.wait_for(runtime.agent_called_off.wait(), 60)


async def test_what_a_plugin_logs_arrives_under_its_name_and_so_do_the_steps_through_its_code_when_it_raises(
    plugin: Plugin, open_host: Open, caplog: pytest.LogCaptureFixture
) -> None:
    found = plugin("""
        def inner():
            raise ValueError("deep")

        def register(ctx):
            @ctx.hook("beforeTriage")
            def look(plan, triage):
                triage.log.warning("saw %d", len(triage.events))
                triage.log.debug("not of interest")
                inner()
    """)
    caplog.set_level(logging.INFO)

    failed = await failure(open_host(found), hook_call())

    assert str(failed) == "plugin noted: beforeTriage raised ValueError: deep (__init__.py, line 3, in inner)"
    assert "plugin noted: __init__.py, line 10, in look" in caplog.messages
    assert [r for r in caplog.record_tuples if "saw" in r[2] or "interest" in r[2]] in (
        [("prloom.plugin.noted", logging.WARNING, "plugin noted: saw 1")],
        [("prloom.plugin.noted", logging.WARNING, "saw 1")],
    )


async def test_starting_twice_loads_once_and_after_a_stop_the_next_call_starts_the_plugin_again(
    plugin: Plugin, open_host: Open
) -> None:
    found = plugin("""
        from pathlib import Path

        def register(ctx):
            ctx.register_hook("onEvent", lambda event, ctx: None)
            with Path(__file__).with_name("loads").open("a") as file:
                file.write("x")
    """)
    host = open_host(found)

    assert await asyncio.gather(host.start(), host.start()) == [Registered(hooks=("onEvent",))] * 2
    assert (found.code.parent / "loads").read_text() == "x"
    await host.stop()
    await host.stop()

    assert await host.run(hook_call("onEvent"), RecordingServices(), LONG) == Outcome()
    assert (found.code.parent / "loads").read_text() == "xx"


@pytest.mark.parametrize(
    ("offered", "inert"),
    [
        (Registered(), True),
        (Registered(warnings=("what of it",)), True),
        (Registered(hooks=("onEvent",)), False),
        (Registered(commands={"deploy": ""}), False),
        (Registered(tools={"search": OfferedTool()}), False),
        (Registered(skills={"cook": OfferedSkill(path="cook.md")}), False),
    ],
)
def test_a_plugin_is_inert_of_which_nothing_can_be_asked(offered: Registered, *, inert: bool) -> None:
    assert offered.inert is inert
