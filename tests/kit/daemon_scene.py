"""Daemons that a test starts, each from a manifest of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prloom import processes
from prloom.api.manifest import Background, HealthCheck, Manifest
from prloom.core.plugins.daemon_life import DaemonState
from prloom.engine.activity.publisher import Publisher
from prloom.engine.background.daemon import Daemon
from prloom.engine.background.daemon_files import DaemonFiles
from prloom.engine.background.daemons import Daemons
from prloom.engine.background.preparation import Preparation
from prloom.extensions.background import runtime_folder
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.storage.safe_dir import SafeDir

ODD = Path(__file__).with_name("odd_daemon.py")
PATIENCE = 60.0


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Scene:
    """A daemon at work, and what it wrote down."""

    daemon: Daemon
    daemons: Daemons
    publisher: Publisher
    record: Path
    now: datetime = NOW

    async def until(self, *states: DaemonState) -> DaemonState:
        async with asyncio.timeout(PATIENCE):
            return await self.daemon.reached(*states)

    async def pid(self) -> int:
        """Return the daemon's process id, once it is known."""
        async with asyncio.timeout(PATIENCE):
            while (pid := self.daemon.report(lambda _: NOW)["pid"]) is None:  # noqa: ASYNC110 - nothing signals it
                await asyncio.sleep(0.01)
        return int(pid)

    def noted(self) -> list[str]:
        """Return the lines that the daemon has written down; of the last one there may be a part, which is left out."""
        return self.record.read_text().split("\n")[:-1] if self.record.exists() else []

    async def noted_line(self, part: str) -> str:
        """Return the first line with a text that the daemon writes down, once it has."""
        async with asyncio.timeout(PATIENCE):
            while not (found := [line for line in self.noted() if part in line]):  # noqa: ASYNC110 - another process writes
                await asyncio.sleep(0.01)
        return found[0]


@dataclass(frozen=True)
class Opener:
    """Starts the odd daemon in some modes, and ends it after the test."""

    root: Path

    def socket(self) -> Path:
        """Return where the daemon listens."""
        return runtime_folder.make(self.root, "odd", self._environ()) / runtime_folder.SOCKET

    def _environ(self) -> dict[str, str]:
        run = self.root / "run"
        run.mkdir(mode=0o700, exist_ok=True)
        return {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(run)}

    def found(
        self, *modes: str, requires_env: tuple[str, ...] = (), hooks: tuple[str, ...] = (), **background: Any
    ) -> DiscoveredPlugin:
        """Return the plugin of the odd daemon."""
        folder = self.root / "plugin"
        folder.mkdir(exist_ok=True)
        given = {
            "command": "python3",
            "args": (str(ODD), *modes),
            "startup_timeout": 60_000,
            "shutdown_grace_period": 300,
            **background,
        }
        manifest = Manifest(name="odd", background=Background(**given), requires_env=requires_env, provides_hooks=hooks)
        return DiscoveredPlugin(key="odd", source="project", path=str(folder), manifest=manifest)

    @asynccontextmanager
    async def __call__(
        self, *modes: str, health: HealthCheck | None = None, environ: dict[str, str] | None = None, **more: Any
    ) -> AsyncIterator[Scene]:
        record, publisher = self.root / "record", Publisher()
        preparation = Preparation(
            self.found(*modes, healthcheck=health or HealthCheck(), **more),
            self.root,
            settings=lambda: {"record": str(record)},
            environ={**self._environ(), **(environ or {})},
        )
        with SafeDir.make(self.root, "local") as local:
            daemon = Daemon("odd", preparation, DaemonFiles(local, "odd"), changed=_ignore)
            daemons = Daemons([daemon], clock=lambda: NOW, publisher=publisher)
            await daemons.start()
            try:
                yield Scene(daemon, daemons, publisher, record)
            finally:
                await daemons.close()


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    return not processes.living(pid)


def _ignore() -> None:
    pass
