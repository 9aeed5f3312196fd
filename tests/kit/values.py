"""Values that many tests need and few speak of: events with an id of the test's own, calls of hooks, no services."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from prloom import testing
from prloom.model.event import Event, Target
from prloom.model.hook import HookCall

AT = "2026-11-21T12:00:00.000Z"


def an_event(event_id: str = "e1", **values: object) -> Event:
    """Return a comment on pull request 7 by ann, who may write; its replies go to it alone."""
    usual = testing.an_event(id=event_id, reply_to=Target("github", {"comment": event_id}))
    return replace(usual, **values)


def a_call(*events: Event, hook: str = "beforeTriage", **values: object) -> HookCall:
    """Return the call of a hook of a plugin, on the plan `pr-7`."""
    usual = HookCall(
        hook=hook, plan_id="pr-7", repo_root="/repo", worktree="/repo/tree", now=AT, plan="# Plan\n", events=events
    )
    return replace(usual, **values)


def hook_call(hook: str = "beforeTriage", *events: Event, **values: object) -> HookCall:
    """Return such a call of this hook, about these events, or about one."""
    return a_call(*(events or (an_event(),)), hook=hook, **values)


class NoServices:
    """The services of a hook that asks for nothing."""

    def of_plugin(self, plugin: str) -> NoServices:
        return self

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        raise AssertionError(prompt)

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        raise AssertionError(types)

    def read_plan(self, plan_id: str) -> str:
        raise AssertionError(plan_id)
