"""Show events to a plugin as the dispatcher does, with the same calls and verdicts, and a clock of its own."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, assert_never

from prloom.api import Event, Json, Target, duration, iso
from prloom.backoff import Backoff
from prloom.core.commands import comment_commands
from prloom.core.events import dispatch, hook_results
from prloom.core.events.dispatch import CompleteNotices, RunCommand, RunHook, RunTriage, Subscribers
from prloom.core.events.hook_results import OnError
from prloom.core.plans import plan_file
from prloom.core.plugins import tool_rules
from prloom.core.waits import deferral, wake
from prloom.engine.plan.plugin_set import registered_tools
from prloom.engine.tools import arguments
from prloom.errors import ExtensionError
from prloom.extensions.host.interface import HookFailed, Registered
from prloom.model.decision import Change, StateWrite
from prloom.model.hook import HookCall, Limits, Outcome, PluginDeferral
from prloom.model.hook_points import NamedHook
from prloom.model.kinds import TRIAGE
from prloom.model.tool import CHECK, TOOL, ToolCall, ToolResult, ToolSpec
from prloom.testing import hook_examples, runners, shown
from prloom.testing.bus import AnswerAgent, FakeServices, InMemoryBus, PluginState
from prloom.testing.events import NOW, PLAN
from prloom.testing.hook_examples import HookAbout
from prloom.testing.runners import Register, Runner
from prloom.testing.shown import Fault, Shown

REPOSITORY = ""
"""The plan to show an event on that concerns the repository as a whole (`onGlobalEvent`)."""


def harness(
    plugin: str | Path | Register,
    settings: Mapping[str, Json] | None = None,
    *,
    name: str = "plugin",
    **more: Any,  # noqa: ANN401 - the arguments of Harness
) -> Harness:
    """Return a harness for a plugin: its folder, its `.py` file, or its `register` function (called `name`).

    `settings` are its table of `[plugins.settings.<name>]`; `more` are the arguments of `Harness`. Raises
    ExtensionError where the plugin cannot be loaded, as the dispatcher would say it.
    """
    values = dict(settings or {})
    if isinstance(plugin, str | Path):
        return Harness(runners.of_folder(runners.find_plugin(plugin), values), **more)
    return Harness(runners.of_function(plugin, values, name), **more)


class Harness:
    """A plugin at work on plans that exist in memory only.

    `now` is its clock, which stops except in `advance`. `repo_root` is by default an empty temporary folder.
    `agent` plays the agent that the plugin runs. Where `strict`, the harness raises what a hook raises, too, once the
    failure has been recorded: nothing of the hook has taken effect.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        now: datetime = NOW,
        repo_root: Path | None = None,
        agent: AnswerAgent | None = None,
        strict: bool = True,
        on_error: OnError = "defer",
        backoff: Backoff | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.now = now
        if repo_root is not None:
            self.repo_root = repo_root
        else:
            self.repo_root = _temporary(self)
        with runners.capture(runner.key):  # a process reads at its start which log records it must send
            self.registered: Registered = runner.start()
        self._runner = runner
        self._agent = agent
        self._strict = strict
        self._on_error: OnError = on_error
        self._policy = backoff or Backoff()
        self._limits = limits or Limits()
        self._shared = PluginState()
        self._bus_by_plan: dict[str, InMemoryBus] = {}

    @property
    def key(self) -> str:
        """The plugin's key, which owns its deferrals."""
        return self._runner.key

    @property
    def global_state(self) -> Mapping[str, Json]:
        """What the plugin stored for all plans."""
        return self._shared.values

    def state(self, plan: str = PLAN) -> Mapping[str, Json]:
        """Return what the plugin stored for a plan."""
        return self._bus(plan).stores["plan"].values

    def plan_text(self, plan: str = PLAN) -> str:
        """Return the text of a plan, which the plugin may have changed."""
        return self._bus(plan).text

    def write_plan(self, text: str, plan: str = PLAN) -> None:
        """Give a plan its text."""
        self._bus(plan).text = text

    def waiting(self, plan: str = PLAN) -> tuple[str, ...]:
        """Return the ids of the events that are put off."""
        return tuple(event.id for event in self._bus(plan).open.values() if event.state == "deferred")

    def show(self, *events: Event, plan: str = PLAN) -> Shown:
        """Let events come in, and return what becomes of them: commands, then onEvent, then beforeTriage."""
        bus = self._bus(plan)
        return self._shown(lambda faults: self._take_in(bus, events, faults))

    def advance(self, span: str | timedelta) -> Shown:
        """Let time pass ("90s", "2h"), and return what becomes of the events whose waits end meanwhile."""
        end = self.now + (span if isinstance(span, timedelta) else duration.parse(span))
        return self._shown(lambda faults: self._pass_time(end, faults))

    def fire(self, hook: str, *, plan: str = PLAN, about: HookAbout | None = None) -> Shown:
        """Run a hook point that no event leads to, such as `afterDesign`, and return what it did.

        `about` is the action, the tool's call, the plan or the run that the hook is about; without it, an example.
        """
        bus, step = self._bus(plan), RunHook(self.key, NamedHook(hook), ())
        return self._shown(lambda faults: self._run(bus, step, faults, about))

    def call(self, hook: str, *events: Event, plan: str = PLAN, about: HookAbout | None = None) -> Outcome:
        """Run one hook and return all that it requests, such as the refusal of a guard (`block`).

        Nothing of it takes effect. `about` is as in `fire`. Raises ExtensionError.
        """
        return self._outcome(self._bus(plan), hook, events, about)

    def call_tool(self, name: str, given: Mapping[str, Json] | None = None, *, plan: str = PLAN) -> ToolResult:
        """Call a tool that the plugin's code has registered, as an agent does, and return what the agent gets.

        The arguments are checked against the tool's schema first, and then the tool's own check is asked; no guard and
        no person is. What the handler requests takes effect. Raises ExtensionError where there is no such tool.
        """
        tool = next((each for each in registered_tools(self.key, self.registered) if each.name == name), None)
        if tool is None:
            known = ", ".join(self.registered.tools) or "none"
            raise ExtensionError(f"plugin {self.key} has no tool {name!r}; it has registered: {known}")
        call = hook_examples.tool_call(name, given or {}, plan)
        problem = arguments.problem(tool.schema, call.arguments)
        if problem is not None:
            return tool_rules.failed(f"the arguments of {name} are not valid: {problem}", "validation_error")
        unavailable = self._tool_check(tool, call, plan)
        if unavailable is not None:
            return unavailable
        hook, limit = f"{TOOL}{name}", timedelta(milliseconds=tool.timeout_ms)
        try:
            outcome = self._outcome(self._bus(plan), hook, (), call, limit)
        except ExtensionError as error:
            if self._strict:
                raise
            overran = isinstance(error, HookFailed) and error.kind == "overran"
            return tool_rules.failed(str(error), "timeout_error" if overran else "plugin_error")
        self._settle(self._bus(plan), hook, (), outcome)
        return tool_rules.answered(outcome.result)

    def _tool_check(self, tool: ToolSpec, call: ToolCall, plan: str) -> ToolResult | None:
        """Return that a tool cannot be used now, if its own check says so, or fails."""
        if not tool.checked:
            return None
        try:
            if self._outcome(self._bus(plan), f"{CHECK}{tool.name}", (), call).result is True:
                return None
        except ExtensionError as error:
            if self._strict:
                raise
            return tool_rules.failed(f"{tool.name} unavailable: {error}", "unavailable")
        return tool_rules.failed(f"{tool.name} unavailable", "unavailable")

    def stop(self) -> None:
        """End the plugin; needed where it runs in a process of its own."""
        self._runner.stop()

    def _shown(self, work: Callable[[list[Fault]], None]) -> Shown:
        """Do the work, and return what was decided meanwhile."""
        faults: list[Fault] = []
        before = {bus.id: len(bus.decisions) for bus in self._bus_by_plan.values()}
        with runners.capture(self.key) as log:
            work(faults)
        if faults and self._strict:
            raise faults[0].error or ExtensionError(faults[0].message)
        made = [each for bus in self._bus_by_plan.values() for each in bus.decisions[before.get(bus.id, 0) :]]
        return shown.summarize(made, faults, log)

    def _take_in(self, bus: InMemoryBus, events: tuple[Event, ...], faults: list[Fault]) -> None:
        bus.take_in(events, self.now)
        self._run_steps(bus, faults)

    def _pass_time(self, end: datetime, faults: list[Fault]) -> None:
        while True:
            dues = [
                due for bus in self._bus_by_plan.values() if (due := deferral.next_due(bus.open.values())) is not None
            ]
            if not dues or min(dues) > end:
                break
            self.now = max(self.now, min(dues))
            for bus in self._bus_by_plan.values():
                bus.commit("wait", "prloom", self.now, changes=deferral.due(bus.open.values(), self.now))
                self._run_steps(bus, faults)
        self.now = end

    def _run_steps(self, bus: InMemoryBus, faults: list[Fault]) -> None:
        """Do all that can be done now, as the dispatcher does it; what is left is the agent's."""
        while True:
            pending = [(event, comment_commands.parse(bus.events[event.id])) for event in bus.open.values()]
            steps = dispatch.steps(
                pending, self._subscribers(bus), busy=(), alone=bus.alone, paused=False, triaging=False
            )
            for step in steps:
                match step:
                    case RunHook():
                        self._run(bus, step, faults)
                    case RunCommand(event_id=event_id):
                        _end(bus, (event_id,), "handled", "a built-in command of prloom", self.now)
                    case RunTriage(event_ids=event_ids):
                        _end(bus, event_ids, "triaged" if bus.id else "handled", None, self.now)
                    case CompleteNotices(event_ids=event_ids):
                        bus.commit("notice", "prloom", self.now, changes=dispatch.complete_notices(event_ids))
                    case _:
                        assert_never(step)
            if not steps:
                return

    def _subscribers(self, bus: InMemoryBus) -> Subscribers:
        registered = {self.key: self.registered}
        if bus.id == REPOSITORY:
            return dispatch.repository_subscribers(registered)
        return dispatch.plan_subscribers(registered)

    def _run(self, bus: InMemoryBus, step: RunHook, faults: list[Fault], about: HookAbout | None = None) -> None:
        """Run a hook, and let all of it take effect, or nothing."""
        events = tuple(bus.events[event_id] for event_id in step.event_ids)
        try:
            outcome = self._outcome(bus, step.hook, events, about)
        except ExtensionError as error:
            faults.append(Fault(step.hook, step.event_ids, str(error), runners.frames(error), error))
            self._settle_failure(bus, step, str(error))
        else:
            self._settle(bus, step.hook, events, outcome)
            bus.alone -= set(step.event_ids)

    def _outcome(
        self,
        bus: InMemoryBus,
        hook: str,
        events: tuple[Event, ...],
        about: HookAbout | None,
        limit: timedelta | None = None,
    ) -> Outcome:
        services = FakeServices(bus.events, {each.id: each.text for each in self._bus_by_plan.values()}, self._agent)
        call = hook_examples.with_subject(self._call(bus, hook, events), about)
        return self._runner.run(call, services, limit)

    def _call(self, bus: InMemoryBus, hook: str, events: tuple[Event, ...]) -> HookCall:
        opened = {event.id: bus.open[event.id] for event in events if event.id in bus.open}
        waits = {name: event.deferral for name, event in opened.items()}
        worktree = self.repo_root / "prloom" / ".local" / "worktrees" / bus.id
        worktree.mkdir(parents=True, exist_ok=True)
        return HookCall(
            hook=hook,
            plan_id=bus.id,
            repo_root=str(self.repo_root),
            worktree=str(worktree),
            now=iso(self.now),
            plan=bus.text,
            events=events,
            deferrals={name: PluginDeferral.of(wait) for name, wait in waits.items() if wait is not None},
            vouched=tuple(name for name, event in opened.items() if event.vouched),
            state=bus.stores["plan"].values,
            global_state=self._shared.values,
            change_request_ref=f"#{bus.id.removeprefix('pr-')}" if bus.id else None,
            limits=self._limits,
        )

    def _settle(self, bus: InMemoryBus, hook: str, events: tuple[Event, ...], outcome: Outcome) -> None:
        result = hook_results.settle(
            self._call(bus, hook, events),
            outcome,
            bus.open,
            plugin=self.key,
            now=self.now,
            policy=self._policy,
            plan_target=Target("github", {"pr": bus.id}),
            open_todos=wake.open_todos(plan_file.todos(bus.text)),
        )
        bus.write(outcome.writes)
        if outcome.plan is not None:
            bus.text = outcome.plan
        writes = tuple(
            StateWrite(plugin=self.key, scope=each.scope, version=0, values=each.values, deleted=each.deleted)
            for each in outcome.writes
            if each.values or each.deleted
        )
        bus.commit(hook, self.key, self.now, changes=result.changes, actions=result.actions, writes=writes)
        ended = wake.by_todos(bus.open, plan_file.todos(bus.text))
        if ended:
            bus.commit("todo", "prloom", self.now, changes=ended)

    def _settle_failure(self, bus: InMemoryBus, step: RunHook, reason: str) -> None:
        """Decide what becomes of the events of a hook that failed; in company, each is shown once more, alone."""
        if len(step.event_ids) > 1:
            bus.alone |= set(step.event_ids)
            return
        changes = hook_results.settle_failure(
            step.event_ids,
            bus.open,
            reason,
            hook=step.hook,
            plugin=self.key,
            now=self.now,
            policy=self._policy,
            on_error=self._on_error,
        )
        bus.commit(step.hook, self.key, self.now, changes=changes)
        bus.alone -= set(step.event_ids)

    def _bus(self, plan: str) -> InMemoryBus:
        if plan not in self._bus_by_plan:
            self._bus_by_plan[plan] = InMemoryBus(plan, self._shared)
        return self._bus_by_plan[plan]


def _end(bus: InMemoryBus, event_ids: tuple[str, ...], state: Any, reason: str | None, now: datetime) -> None:  # noqa: ANN401
    changes = tuple(Change(event_id=each, verdict=state, state=state, reason=reason) for each in event_ids)
    bus.commit(TRIAGE, "prloom", now, changes=changes)


def _temporary(owner: object) -> Path:
    """Return a folder that is gone when its owner is."""
    folder = Path(tempfile.mkdtemp(prefix="prloom-test-")).resolve()
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder
