"""Run a plugin's daemon as the dispatcher does, for a test, in a folder that is removed afterwards."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prloom.engine.activity.publisher import Publisher
from prloom.engine.background.daemon import Daemon
from prloom.engine.background.daemon_files import DaemonFiles
from prloom.engine.background.daemons import Daemons
from prloom.engine.background.preparation import Preparation
from prloom.errors import ExtensionError
from prloom.extensions.background import settings as daemon_settings
from prloom.extensions.background.settings import Given
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.model.activity import ActivityEvent
from prloom.model.record import Json
from prloom.storage.safe_dir import SafeDir
from prloom.testing import runners
from prloom.testing.host_double import HostDouble

LIMIT = timedelta(minutes=1)


def _now() -> datetime:
    return datetime.now(UTC)


def _ignore() -> None:
    """Do nothing: a test asks for the state when it wants to know it."""


@dataclass(frozen=True)
class RunningDaemon:
    """A daemon at work. What fails raises prloom's own errors, whose text says what the daemon did.

    `host` keeps what the daemon requests of prloom, and answers.
    """

    plugin: DiscoveredPlugin
    daemon: Daemon
    daemons: Daemons
    publisher: Publisher
    host: HostDouble

    async def call(self, method: str, params: Json = None, limit: timedelta = LIMIT) -> Json:
        """Return the result of one of its methods; raises CallError."""
        return await self.daemon.call(method, params or {}, limit)

    def publish(self, kind: str, number: int, data: Mapping[str, Json] | None = None) -> None:
        """Have something happen that the daemon is sent as an event, if it subscribed to it."""
        event = ActivityEvent(
            id=f"run-1:{number}",
            seq=number,
            type=kind,
            plan_id="pr-7",
            run_id="run-1",
            stage="worker",
            timestamp=1_780_000_000_000 + number,
            data=data or {},
        )
        self.publisher.publish(event)

    async def restart(self) -> None:
        """Stop it and start it again; raises ExtensionError where it does not run then."""
        await self.daemons.order("restart", self.plugin.key)

    def pid(self) -> int:
        """Return the id of its process."""
        return int(self.daemon.report(lambda _: _now())["pid"])

    @property
    def socket_path(self) -> str:
        """Where it listens."""
        return self.daemon.socket_path or ""

    def printed(self) -> str:
        """Return the last lines that it printed."""
        return "\n".join(self.daemon.files.last_lines)


@asynccontextmanager
async def run(plugin: str | Path, settings: Mapping[str, Json] | None = None) -> AsyncIterator[RunningDaemon]:
    """Run the daemon of the plugin in this folder; raises ExtensionError where it does not become ready."""
    found = runners.find_plugin(plugin)
    if found.manifest is None or found.manifest.background is None:
        raise ExtensionError(f"{plugin} has no background; declare one in its manifest")
    schema = found.manifest.config_schema
    given = Given(settings or {}, {name: str(value) for name, value in (settings or {}).items()}, os.environ)
    table = {name: value for name, value in given.table.items() if name in schema and not schema[name].secret}
    values = daemon_settings.resolve(found.key, schema, Given(table, given.secrets, os.environ))
    with tempfile.TemporaryDirectory(prefix="prloom-test-") as scratch:
        publisher = Publisher()
        host = HostDouble(Path(scratch))
        preparation = Preparation(found, Path(scratch), settings=lambda: values, host_access=host.grants)
        with SafeDir.make(scratch) as local:
            daemon = Daemon(found.key, preparation, DaemonFiles(local, found.key), changed=_ignore)
            daemons = Daemons([daemon], clock=_now, publisher=publisher)
            await host.socket.start()
            await daemons.start()
            try:
                if await daemon.reached("running", "error") == "error":
                    said = [f"the daemon did not start: {daemon.life.reason}", *daemon.files.last_lines]
                    raise ExtensionError("\n".join(said))
                yield RunningDaemon(found, daemon, daemons, publisher, host)
            finally:
                await daemons.close()
                await host.socket.close()
