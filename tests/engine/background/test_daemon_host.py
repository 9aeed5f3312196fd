"""Hooks that a daemon answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

import pytest
from daemon_scene import Opener
from msgspec.structs import replace

from prloom.api.context import Services
from prloom.core.plugins.daemon_life import DaemonLife, DaemonState
from prloom.core.plugins.plugin_action import Absence
from prloom.engine.background.daemon import Daemon
from prloom.engine.background.daemon_host import DaemonHost
from prloom.extensions.background import call_error
from prloom.extensions.host.interface import HookFailed
from prloom.model.event import Event
from prloom.model.hook import HookCall, Mark, Outcome

LIMIT = timedelta(minutes=1)
NOTHING = cast("Services", None)


def a_call() -> HookCall:
    event = Event(id="e1", source="s", type="pr_comment")
    return HookCall(
        hook="beforeTriage", plan_id="p", repo_root="/r", worktree="/w", now="2026-01-01T00:00:00.000Z", events=(event,)
    )


class AnsweringDaemon:
    """A daemon that gives one answer, or fails; the part of a Daemon that a host uses."""

    next_attempt_in: timedelta | None = None
    in_state_for = 1.0

    def __init__(self, answer: Any) -> None:
        self.life = DaemonLife(state="running")
        self.answer = answer
        self.params: Any = None

    async def attempted(self) -> None:
        if self.answer == "starting":
            await asyncio.Event().wait()

    async def call(self, method: str, params: Any, timeout: timedelta) -> Any:  # noqa: ASYNC109 - as the daemon has it
        self.params = params
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def a_host(scene: Opener, answer: Any, *hooks: str) -> tuple[DaemonHost, AnsweringDaemon]:
    daemon = AnsweringDaemon(answer)
    manifest = scene.found(hooks=hooks or ("before_triage",)).manifest
    assert manifest is not None
    host = DaemonHost("odd", manifest, cast("Daemon", daemon), None)
    await host.start()
    return host, daemon


async def failure(host: DaemonHost, limit: timedelta = LIMIT) -> HookFailed:
    with pytest.raises(HookFailed) as caught:
        await host.run(a_call(), NOTHING, limit)
    return caught.value


async def test_the_hooks_of_the_manifest_are_registered_by_either_spelling_and_an_unknown_one_is_not(scene: Opener):
    host, _ = await a_host(scene, None)
    registered = await host.start()
    other = await (await a_host(scene, None, "zzz"))[0].start()

    assert registered.hooks == ("beforeTriage",)
    assert other.hooks == ()


async def test_what_has_no_effect_is_a_warning_of_the_plugin_when_it_starts(scene: Opener):
    manifest = scene.found().manifest
    assert manifest is not None

    registered = await DaemonHost("odd", manifest, None, None, ("windwo has no effect",)).start()

    assert registered.warnings == ("windwo has no effect",)


async def test_the_call_travels_with_camel_case_keys_and_so_does_the_outcome(scene: Opener):
    host, daemon = await a_host(scene, {"marks": [{"eventId": "e1", "verdict": "deferred", "retryAfterMs": 5000}]})

    outcome = await host.run(a_call(), NOTHING, LIMIT)

    assert outcome == Outcome(marks=(Mark("e1", "deferred", None, 5000),))
    assert daemon.params["hook"] == "beforeTriage"
    assert daemon.params["call"]["planId"] == "p"
    assert daemon.params["call"]["events"][0]["id"] == "e1"


@pytest.mark.parametrize("nothing", [None, {}])
async def test_null_and_an_empty_object_are_outcomes(scene: Opener, nothing: object):
    host, _ = await a_host(scene, nothing)

    assert await host.run(a_call(), NOTHING, LIMIT) == Outcome()


async def test_an_answer_that_is_no_outcome_or_marks_what_is_not_there_takes_no_effect(scene: Opener):
    broken = await failure((await a_host(scene, {"marks": "all"}))[0])
    foreign = await failure((await a_host(scene, {"marks": [{"eventId": "e9", "verdict": "handled"}]}))[0])

    assert "plugin odd: its answer to beforeTriage is not a valid outcome" in str(broken)
    assert str(foreign) == (
        "plugin odd: beforeTriage: marks: event 'e9' is not in this batch; use an id of the call's events"
    )


async def test_a_daemon_that_starts_is_waited_for_within_the_hooks_limit(scene: Opener):
    error = await failure((await a_host(scene, "starting"))[0], timedelta(milliseconds=20))

    assert error.kind == "overran"
    assert "beforeTriage took longer than 0.02 s" in str(error)


async def test_a_daemon_that_is_to_be_started_again_puts_events_off_until_then_and_has_not_failed(scene: Opener):
    host, daemon = await a_host(scene, call_error.not_running("odd", "error"))
    daemon.next_attempt_in = timedelta(seconds=5)
    error = await failure(host)

    assert (error.kind, error.retry_after) == ("waiting", timedelta(seconds=5))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (call_error.timed_out("odd", "run_hook", LIMIT), "overran"),
        (call_error.closed("odd"), "died"),
        (call_error.rpc_error("odd", -32000, "no"), "raised"),
        (call_error.not_running("odd", "error"), "raised"),
    ],
)
async def test_each_failure_of_a_call_is_a_failure_of_the_hook(scene: Opener, answer: object, kind: str):
    assert (await failure((await a_host(scene, answer))[0])).kind == kind


async def test_without_a_daemon_nothing_is_called(scene: Opener):
    manifest = scene.found(hooks=("beforeTriage",)).manifest
    assert manifest is not None
    host = DaemonHost("odd", manifest, None, None)
    await host.start()

    assert "a dry run starts no daemon" in str(await failure(host))


class OneAction:
    """The actions of a plugin that had registered /deploy once; see `daemon_host.CommentActions`."""

    def __init__(self, *, registered: bool) -> None:
        self.registered = registered

    def showed_call(self, plugin: str, call: HookCall) -> None:
        return

    def offered(self, plugin: str) -> Mapping[str, str]:
        return {"deploy": "Deploy it"}

    def answers(self, plugin: str, hook: str) -> bool:
        return hook == "command:/deploy"

    def is_registered(self, plugin: str, hook: str) -> bool:
        return self.registered

    async def answer(self, plugin: str, call: HookCall, limit: timedelta) -> Outcome:
        return Outcome(marks=(Mark("e1", "handled"),))

    def decline(self, plugin: str, call: HookCall, absence: Absence) -> Outcome:
        return Outcome(marks=(Mark("e1", "deferred", absence.reason),))


async def commanded(scene: Opener, state: DaemonState, next_attempt: float | None, *, registered: bool) -> Outcome:
    """Return what becomes of a comment with /deploy."""
    daemon = AnsweringDaemon(None)
    daemon.life = DaemonLife(state=state)
    daemon.next_attempt_in = next_attempt and timedelta(seconds=next_attempt)
    manifest = scene.found().manifest
    assert manifest is not None
    host = DaemonHost("odd", manifest, cast("Daemon", daemon), None, actions=OneAction(registered=registered))
    assert (await host.start()).commands == {"deploy": "Deploy it"}
    return await host.run(replace(a_call(), hook="command:/deploy"), NOTHING, LIMIT)


async def test_a_command_waits_for_a_daemon_that_is_started_again_and_says_for_what(scene: Opener):
    assert (await commanded(scene, "running", None, registered=True)).marks == (Mark("e1", "handled"),)
    with pytest.raises(HookFailed, match="the daemon of plugin odd is not running; prloom starts it again") as caught:
        await commanded(scene, "error", 10, registered=False)

    assert (caught.value.kind, caught.value.retry_after) == ("waiting", timedelta(seconds=10))


async def test_a_command_of_a_daemon_that_is_not_started_again_is_answered_so(scene: Opener):
    (mark,) = (await commanded(scene, "stopped", None, registered=False)).marks

    assert str(mark.reason).startswith("Plugin odd is not running, so `/deploy` was not carried out.")
