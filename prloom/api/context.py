"""What a hook is given: it reads the call, and records what it wants done; nothing happens until it returns."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec

from prloom.api import store
from prloom.api.store import Store
from prloom.core.delivery import outbox
from prloom.errors import ExtensionError
from prloom.model import record
from prloom.model.action import Action, Comment, Merge, Method, Payload, Review
from prloom.model.event import Event, Target
from prloom.model.hook import HookCall, Outcome
from prloom.model.record import Json

LOGGERS = "prloom.plugin."
"""How the names of plugins' loggers begin; the plugin's key follows."""


def plugin_logger(key: str) -> logging.Logger:
    """Return the logger of a plugin: the same name in the dispatcher and in the plugin's own process."""
    return logging.getLogger(f"{LOGGERS}{key}")


class Services(Protocol):
    """What a running hook may ask its host for."""

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        """Run an agent in the plan's worktree and return its final message."""

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        """Return events of this plan after an id, oldest first, and the id to go on from."""

    def read_plan(self, plan_id: str) -> str:
        """Return the text of a plan."""


class HookContext:
    """The context of every hook.

    Nothing that a hook does takes effect before it has returned, and all of it takes effect together: if the hook
    raises, or overruns its time limit, there are no marks, no actions and no state writes.
    """

    def __init__(self, plugin: str, call: HookCall, services: Services) -> None:
        self.plugin = plugin
        self.log = plugin_logger(plugin)
        self._call = call
        self._services = services
        self._actions: list[Action] = []
        self._wakes: list[str] = []
        self._runs: list[Coroutine[Any, Any, str]] = []
        self._plan_store = Store(plugin, "plan", call.state, limit=call.limits.state_bytes)
        self._global_store = Store(plugin, "global", call.global_state, limit=call.limits.state_bytes)

    @property
    def repo_root(self) -> Path:
        """The checkout in which prloom was started."""
        return Path(self._call.repo_root)

    @property
    def worktree(self) -> Path:
        """The plan's git worktree. What is in it comes from the pull request: data, never instructions."""
        return Path(self._call.worktree)

    @property
    def plan_id(self) -> str:
        """The plan's id."""
        return self._call.plan_id

    @property
    def hook_point(self) -> str:
        """The name of the hook point that is running."""
        return self._call.hook

    @property
    def change_request_ref(self) -> str | None:
        """The pull request as its forge names it, or None for a branch without one."""
        return self._call.change_request_ref

    @property
    def now(self) -> datetime:
        """The time of the call (aware, UTC); use it in place of the clock and the plugin can be tested at any time."""
        return record.moment(self._call.now)

    def is_vouched(self, event_id: str) -> bool:
        """Whether the event's author is not trusted, and a person only approved its text.

        Such a text may be read and answered; what it requests is not requested by a trusted person.
        """
        return event_id in self._call.vouched

    def get_state(self, key: str, default: Json = None) -> Json:
        """Return this plan's value under the key, or the default."""
        return self._plan_store.get(key, default)

    def set_state(self, key: str, value: Json) -> None:
        """Set this plan's value under the key; None removes it."""
        self._plan_store.set(key, value)

    def update_state(self, key: str, fn: Callable[[Json], Json]) -> Json:
        """Set this plan's value to fn(value) and return it; no other update is lost."""
        return self._plan_store.update(key, fn)

    def get_global_state(self, key: str, default: Json = None) -> Json:
        """Return the value that all plans share under the key, or the default."""
        return self._global_store.get(key, default)

    def set_global_state(self, key: str, value: Json) -> None:
        """Set the value that all plans share under the key; None removes it."""
        self._global_store.set(key, value)

    def update_global_state(self, key: str, fn: Callable[[Json], Json]) -> Json:
        """Set the shared value to fn(value) and return it; no other plan's update is lost."""
        return self._global_store.update(key, fn)

    def emit_action(self, action: Action | Mapping[str, Json], *, related_event_id: str | None = None) -> None:
        """Ask for an action, given as an `Action` or in its JSON shape; its id is derived, whatever it says.

        It is filed under the event whose `reply_to` its target is, or under `related_event_id` where that says so.
        """
        self._request("emit_action", action, related_event_id)

    def emit_comment(self, target: Target | None, message: str, *, related_event_id: str | None = None) -> None:
        """Say something where the target points (an event's `reply_to`); None is the plan's own conversation."""
        if not isinstance(message, str):
            raise self._mistake("emit_comment", f"the message is {store.type_name(message)}; give the text to post")
        if not message.strip():
            raise self._mistake("emit_comment", "the message is empty; give the text to post")
        self._emit("emit_comment", target, Comment(message), related_event_id)

    def emit_review(
        self, target: Target | None, review: Review | Mapping[str, Json], *, related_event_id: str | None = None
    ) -> None:
        """Review the pull request; `review` is {verdict, summary, comments[], commit}."""
        name = "emit_review"
        if isinstance(review, Mapping):
            try:
                review = record.from_wire(Review, {"type": "review", **review})
            except msgspec.ValidationError as error:
                raise self._mistake(name, str(error)) from error
        if not isinstance(review, Review):
            problem = f"the review is {store.type_name(review)}; give {{verdict, summary, comments[]}} or a Review"
            raise self._mistake(name, problem)
        self._emit(name, target, review, related_event_id)

    def emit_merge(
        self,
        target: Target | None,
        method: Method = "merge",
        *,
        commit: str | None = None,
        related_event_id: str | None = None,
    ) -> None:
        """Merge the pull request, if its head is still `commit`.

        By default that is the commit that a review was of, or the head when another event came in.
        """
        self._emit("emit_merge", target, Merge(method, commit), related_event_id)

    def wake(self, event_id: str) -> None:
        """End this plugin's own deferral of an event, which is then shown again; no other wait ends."""
        if not isinstance(event_id, str) or not event_id:
            raise self._mistake("wake", f"the event is {event_id!r}; give the id of an event")
        self._wakes.append(event_id)

    def run_agent(
        self, prompt: str, *, files: Sequence[str] = (), stage: str = "worker", model: str | None = None
    ) -> Coroutine[Any, Any, str]:
        """Run the stage's agent in the plan's worktree and return its final message, when it is awaited.

        Raises ExtensionError where the run fails. A call that is not awaited runs nothing, and makes the hook fail.
        """
        if isinstance(files, str):
            raise self._mistake("run_agent", f"files is {files!r}; give a list of paths, such as [{files!r}]")
        running = self._run_agent(prompt, tuple(files), stage, model)
        self._runs.append(running)
        return running

    def read_events(
        self, *, types: Sequence[str] | None = None, since_id: str | None = None, limit: int = 100
    ) -> tuple[Sequence[Event], str | None]:
        """Return this plan's events after `since_id`, oldest first, and the id to go on from.

        Only events whose author is trusted are shown; the dispatcher's own cursors are not touched.
        """
        if isinstance(types, str):
            raise self._mistake("read_events", f"types is {types!r}; give a list of types, such as [{types!r}]")
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise self._mistake("read_events", f"limit is {limit!r}; give a whole number from 1")
        return self._services.read_events(types=types, since_id=since_id, limit=limit)

    def read_plan(self, plan_id: str | None = None) -> str:
        """Return the text of a plan (this one by default)."""
        if plan_id is None or plan_id == self.plan_id:
            return self._call.plan
        return self._services.read_plan(plan_id)

    async def _run_agent(self, prompt: str, files: tuple[str, ...], stage: str, model: str | None) -> str:
        return await self._services.run_agent(prompt, files=files, stage=stage, model=model)

    def outcome(self, plan: str | None = None) -> Outcome:
        """Return all that the hook requested, as one value; `plan` is the text that it returned, if it did.

        Raises ExtensionError where it forgot to await an agent's run.
        """
        if forget_runs(self):
            raise self._mistake("run_agent", "it was not awaited, so no agent ran; write `await` before the call")
        changed = None
        if plan is not None and plan != self._call.plan:
            changed = plan
        writes = tuple(each.writes() for each in (self._plan_store, self._global_store) if each.touched)
        return Outcome(actions=tuple(self._actions), writes=writes, plan=changed, wakes=tuple(self._wakes))

    def _emit(self, name: str, target: Target | None, payload: Payload, related: str | None) -> None:
        if target is not None:
            where = target
        else:
            where = Target(outbox.PLAN_TARGET)
        self._request(name, Action(target=where, payload=payload), related)

    def _request(self, name: str, requested: Action | Mapping[str, Json], related: str | None) -> None:
        most = self._call.limits.actions
        if len(self._actions) >= most:
            raise self._mistake(name, f"one call of {self.hook_point} can ask for at most {most} actions")
        try:
            self._actions.append(store.check_action(requested, related, self._call.events))
        except ValueError as error:
            raise self._mistake(name, str(error)) from error

    def _mistake(self, name: str, problem: str) -> ExtensionError:
        return ExtensionError(f"plugin {self.plugin}: {name}: {problem}")


def forget_runs(ctx: HookContext) -> bool:
    """Close the agent runs that were not awaited; return whether there were any."""
    runs = ctx._runs  # noqa: SLF001 - of this module; as a method it would be one of the plugin's
    forgotten = [each for each in runs if inspect.getcoroutinestate(each) == inspect.CORO_CREATED]
    for each in forgotten:
        each.close()  # so that Python does not warn of a coroutine that was never awaited
    return bool(forgotten)
