"""Answer a plugin's hooks by its daemon, and those that its Python code registered by that code."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol

import msgspec
from msgspec.structs import replace

from prloom.api import hooks
from prloom.api.context import Services
from prloom.api.manifest import Manifest
from prloom.core.plugins import daemon_hooks, plugin_action
from prloom.core.plugins.plugin_action import Absence
from prloom.core.text import bounds
from prloom.engine.background.daemon import Daemon
from prloom.extensions.background.call_error import CallError
from prloom.extensions.host.interface import HookFailed, HookFailureKind, PluginHost, Registered
from prloom.model import record
from prloom.model.hook import HookCall, Outcome
from prloom.model.record import Json

RUN_HOOK = "run_hook"


class CommentActions(Protocol):
    """Knows the actions that daemons have registered, which comments name, and what daemons were shown."""

    def showed_call(self, plugin: str, call: HookCall) -> None:
        """Note what a plugin's daemon was shown by a call."""

    def offered(self, plugin: str) -> Mapping[str, str]:
        """Return the actions that are, or were, registered, each with its description."""

    def answers(self, plugin: str, hook: str) -> bool:
        """Whether a hook point is that of an action which is, or was, registered."""

    def is_registered(self, plugin: str, hook: str) -> bool:
        """Whether a hook point is that of an action which the daemon that runs has registered."""

    def decline(self, plugin: str, call: HookCall, absence: Absence) -> Outcome:
        """Say in answer to a comment why its action was not run."""

    async def answer(self, plugin: str, call: HookCall, limit: timedelta) -> Outcome:
        """Run the action that a comment names; raises CallError."""


class DaemonHost:
    """A plugin with a daemon; `code` is where its Python code runs, if it has any. Without a `daemon`, none is started.

    `warnings` are about the manifest and the settings. Without `actions`, comments name none.

    The methods do what `interface.PluginHost` says. They neither start nor stop the daemon, which has its own life.
    """

    def __init__(
        self,
        key: str,
        manifest: Manifest,
        daemon: Daemon | None,
        code: PluginHost | None,
        warnings: tuple[str, ...] = (),
        *,
        actions: CommentActions | None = None,
    ) -> None:
        self.key = key
        self._manifest = manifest
        self._daemon = daemon
        self._code = code
        self._warnings = warnings
        self._actions = actions
        self._answered: frozenset[str] = frozenset()

    async def start(self) -> Registered:
        """Return what the code registers, and the hooks that the daemon answers; raises ExtensionError."""
        offered = Registered()
        if self._code is not None:
            offered = await self._code.start()
        promised = map(hooks.canonical, self._manifest.provides_hooks)
        answered = [name for name in promised if name is not None and name not in offered.hooks]
        self._answered = frozenset(answered)
        commands = offered.commands
        if self._actions is not None:
            commands = {**self._actions.offered(self.key), **commands}
        warnings = (*offered.warnings, *self._warnings)
        return replace(offered, hooks=(*offered.hooks, *answered), warnings=warnings, commands=commands)

    async def run(self, call: HookCall, services: Services, limit: timedelta) -> Outcome:
        """Run one hook and return its outcome; raises HookFailed. A daemon that starts is waited for."""
        by_comment = self._actions is not None and self._actions.answers(self.key, call.hook)
        if call.hook not in self._answered and not by_comment:
            if self._code is None:
                raise HookFailed(f"plugin {self.key}: nothing answers {call.hook}")
            return await self._code.run(call, services, limit)
        if self._daemon is None:
            raise HookFailed(f"plugin {self.key}: {call.hook} did not run: a dry run starts no daemon")
        if self._actions is not None:
            self._actions.showed_call(self.key, call)
        try:
            return await self._outcome(self._daemon, call, limit)
        finally:
            if self._actions is not None:
                self._actions.showed_call(self.key, call)

    async def stop(self) -> None:
        """End the plugin's Python code."""
        if self._code is not None:
            await self._code.stop()

    async def _outcome(self, daemon: Daemon, call: HookCall, limit: timedelta) -> Outcome:
        try:
            async with asyncio.timeout(limit.total_seconds()):
                await daemon.attempted()
                if call.hook not in self._answered and self._actions is not None:
                    return await self._by_comment(daemon, self._actions, call, limit)
                params = {"hook": call.hook, "call": record.to_builtins(call)}
                wire = await daemon.call(RUN_HOOK, params, limit)
        except TimeoutError as error:
            text = f"{call.hook} took longer than {limit.total_seconds():g} s and was cancelled"
            raise HookFailed(f"plugin {self.key}: {text}", kind="overran") from error
        except CallError as error:
            retry_after = None
            if error.kind in {"not_running", "not_started"}:
                retry_after = daemon.next_attempt_in
            text = f"plugin {self.key}: {call.hook}: {error}"
            raise HookFailed(text, kind=_kind(error, retry_after), retry_after=retry_after) from error
        return _checked(self.key, call, wire)

    async def _by_comment(self, daemon: Daemon, actions: CommentActions, call: HookCall, limit: timedelta) -> Outcome:
        """Run the action of a comment; one that is not registered now is waited for, or the comment is told why not."""
        if actions.is_registered(self.key, call.hook):
            return await actions.answer(self.key, call, limit)
        next_attempt, name = None, call.hook.removeprefix(plugin_action.COMMAND)
        if daemon.next_attempt_in is not None:
            next_attempt = daemon.next_attempt_in.total_seconds()
        state, since = daemon.life.state, daemon.in_state_for
        absence = plugin_action.absence(self.key, name, state, since=since, next_attempt=next_attempt)
        if absence.wait is None:
            return actions.decline(self.key, call, absence)
        text = f"plugin {self.key}: /{name}: {absence.reason}"
        raise HookFailed(text, kind="waiting", retry_after=timedelta(seconds=absence.wait))


def _kind(error: CallError, retry_after: timedelta | None) -> HookFailureKind:
    if retry_after is not None:
        return "waiting"
    if error.kind == "timed_out":
        return "overran"
    if error.closed:
        return "died"
    return "raised"


def _checked(key: str, call: HookCall, wire: Json) -> Outcome:
    """Return the outcome that an answer is; `null` and `{}` are outcomes. Raises HookFailed for what is none."""
    try:
        outcome = record.from_wire(Outcome, {} if wire is None else wire)
    except msgspec.ValidationError as error:
        text = bounds.cut(f"its answer to {call.hook} is not a valid outcome: {error}")
        raise HookFailed(f"plugin {key}: {text}") from error
    wrong = daemon_hooks.problem(call, outcome)
    if wrong is not None:
        raise HookFailed(f"plugin {key}: {call.hook}: {bounds.cut(wrong)}")
    return outcome
