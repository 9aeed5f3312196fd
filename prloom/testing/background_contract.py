"""The promises that every background plugin makes, as tests: derive from the class, and say which plugin it is.

    class TestPromises(BackgroundPluginContract):
        plugin = Path(__file__).parent.parent
        settings = {"window": 60}
        methods = {"get_stats": {}}

Each test starts the daemon anew, as the dispatcher does, whatever it is written in.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from pathlib import Path

from prloom import processes
from prloom.api import hooks
from prloom.api.manifest import Background
from prloom.core.plugins import daemon_hooks
from prloom.engine.background.daemon_host import RUN_HOOK
from prloom.extensions.background import connection
from prloom.extensions.background.call_error import CallError
from prloom.extensions.background.client import HEALTH_CHECK
from prloom.extensions.jsonrpc import METHOD_NOT_FOUND
from prloom.model import record
from prloom.model.hook import HookCall, Outcome
from prloom.model.record import Json
from prloom.testing import running_daemon
from prloom.testing.events import GOLDEN_EVENTS
from prloom.testing.running_daemon import RunningDaemon

__all__ = ["BackgroundPluginContract"]

_MANY = 200
_FOREIGN = 999_999
_HEALTH_LIMIT = timedelta(minutes=1)


class BackgroundPluginContract:
    """The promises.

    `plugin` is its folder, `settings` its table of `[plugins.settings.<name>]`, secrets as plain texts, and `methods`
    the methods of its tools with params that they accept.
    """

    plugin: str | Path
    settings: Mapping[str, Json] = {}
    methods: Mapping[str, Json] = {}

    async def after_events(self, daemon: RunningDaemon, count: int) -> None:
        """Check what the daemon made of so many events of each type that it subscribed to; override it to do so."""

    def declared_methods(self, daemon: RunningDaemon) -> frozenset[str]:
        """Return the methods that have to be named in `methods`: those of the tools in its manifest."""
        manifest = daemon.plugin.manifest
        if manifest is None:
            return frozenset()
        return frozenset(tool.method for tool in manifest.tools if tool.method)

    def test_it_starts_and_stays_healthy(self) -> None:
        """It listens within its time, and answers one health check after the other."""

        async def check(daemon: RunningDaemon) -> None:
            for _ in range(3):
                await _health(daemon)

        self._run(check)

    def test_it_takes_events_in_order_and_goes_on_answering(self) -> None:
        """A burst of events of each type that it subscribed to does not keep it from answering."""

        async def check(daemon: RunningDaemon) -> None:
            for number in range(1, _MANY + 1):
                for kind in daemon.daemon.events:
                    daemon.publish(kind, number, {"toolName": "read_file", "toolCallId": str(number)})
            await _health(daemon)
            await self.after_events(daemon, _MANY)

        self._run(check)

    def test_it_answers_each_method(self) -> None:
        """Each method that is named here, and each that a tool in its manifest names, gives a result."""

        async def check(daemon: RunningDaemon) -> None:
            left = self.declared_methods(daemon) - self.methods.keys()
            _expect(not left, f"methods: give params for {', '.join(sorted(left))}, which its manifest declares")
            for method, params in self.methods.items():
                await daemon.call(method, params)

        self._run(check)

    def test_a_method_that_it_does_not_have_is_an_error_and_not_its_end(self) -> None:
        """It answers with the error -32601, and goes on."""

        async def check(daemon: RunningDaemon) -> None:
            try:
                await daemon.call("no_such_method_of_prloom")
            except CallError as error:
                _expect(error.code == METHOD_NOT_FOUND, f"expected the error {METHOD_NOT_FOUND}: {error}")
            else:
                raise AssertionError("it gave a result for a method that it does not have")
            await _health(daemon)

        self._run(check)

    def test_each_hook_gets_an_outcome(self) -> None:
        """For each hook in its manifest it answers with an outcome that may be committed."""

        async def check(daemon: RunningDaemon) -> None:
            manifest = daemon.plugin.manifest
            for name in manifest.provides_hooks if manifest else ():
                await _hook(daemon, hooks.canonical(name) or name)

        self._run(check)

    def test_a_cancelled_call_is_ignored(self) -> None:
        """It hears of a call that nobody waits for, and goes on."""

        async def check(daemon: RunningDaemon) -> None:
            await _send(daemon, f'{{"jsonrpc":"2.0","method":"{connection.CANCEL}","params":{{"id":{_FOREIGN}}}}}\n')
            await _health(daemon)

        self._run(check)

    def test_bad_json_does_not_end_it(self) -> None:
        """It answers with an error or closes the connection, and goes on."""

        async def check(daemon: RunningDaemon) -> None:
            await _send(daemon, "{ this is no JSON \udcff\n")
            await _health(daemon)

        self._run(check)

    def test_it_ends_at_sigterm_within_its_grace_period(self) -> None:
        """It needs no SIGKILL."""

        async def check(daemon: RunningDaemon) -> None:
            pid = daemon.pid()
            os.kill(pid, signal.SIGTERM)
            limit = timedelta(milliseconds=_background(daemon).shutdown_grace_period)
            try:
                async with asyncio.timeout(limit.total_seconds()):
                    await daemon.daemon.reached("stopping", "error", "stopped")
            except TimeoutError as error:
                raise AssertionError(f"it still runs {limit.total_seconds():g} s after SIGTERM") from error

        self._run(check)

    def test_it_can_be_killed_and_started_again(self) -> None:
        """Nothing that a kill leaves behind keeps it from starting."""

        async def check(daemon: RunningDaemon) -> None:
            pid = daemon.pid()
            os.kill(pid, signal.SIGKILL)
            await daemon.daemon.reached("error")
            await daemon.restart()
            await _health(daemon)
            _expect(not processes.living(pid), f"process {pid} is still there")

        self._run(check)

    def _run(self, check: Callable[[RunningDaemon], Awaitable[None]]) -> None:
        async def checked() -> None:
            async with running_daemon.run(self.plugin, self.settings) as daemon:
                try:
                    await check(daemon)
                except CallError as error:
                    raise AssertionError(f"{error}; it printed: {daemon.printed()}") from error

        asyncio.run(checked())


def _background(daemon: RunningDaemon) -> Background:
    manifest = daemon.plugin.manifest
    assert manifest is not None  # noqa: S101 - it runs
    assert manifest.background is not None  # noqa: S101 - likewise
    return manifest.background


async def _health(daemon: RunningDaemon) -> None:
    try:
        await daemon.call(HEALTH_CHECK, {}, _HEALTH_LIMIT)
    except CallError as error:
        if error.code != METHOD_NOT_FOUND:
            raise


async def _hook(daemon: RunningDaemon, hook: str) -> None:
    call = HookCall(
        hook=hook,
        plan_id="pr-7",
        repo_root="/repository",
        worktree="/repository/worktree",
        now="2026-01-01T00:00:00.000Z",
        events=tuple(GOLDEN_EVENTS.values())[:3],
    )
    answer = await daemon.call(RUN_HOOK, {"hook": hook, "call": record.to_builtins(call)})
    outcome = record.from_wire(Outcome, answer or {})
    wrong = daemon_hooks.problem(call, outcome)
    _expect(wrong is None, f"{hook}: {wrong}")


async def _send(daemon: RunningDaemon, line: str) -> None:
    """Send a line over a connection of its own."""
    _, writer = await asyncio.open_unix_connection(daemon.socket_path)
    writer.write(line.encode("utf-8", "surrogateescape"))
    await writer.drain()
    writer.close()


def _expect(kept: bool, text: str) -> None:  # noqa: FBT001 - it reads as a sentence
    if not kept:
        raise AssertionError(text)
