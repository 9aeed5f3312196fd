"""Daemons that a test starts, each from a manifest of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prloom.api.manifest import Background, HealthCheck, Manifest
from prloom.core.daemon_life import DaemonState
from prloom.engine.background.daemon import Daemon
from prloom.engine.background.daemon_files import DaemonFiles
from prloom.engine.background.daemons import Daemons
from prloom.engine.background.preparation import Preparation
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.storage.safe_dir import SafeDir

ODD = Path(__file__).with_name("odd_daemon.py")


@dataclass
class Scene:
    """A daemon at work, and what it wrote down."""

    daemon: Daemon
    daemons: Daemons
    record: Path
    changes: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, state: DaemonState) -> None:
        async with asyncio.timeout(20):
            while self.daemon.life.state != state:
                self.changes.clear()
                await self.changes.wait()

    def noted(self) -> list[str]:
        return self.record.read_text().splitlines() if self.record.exists() else []


@dataclass(frozen=True)
class Opener:
    """Starts the odd daemon in some modes, and ends it after the test."""

    root: Path

    @asynccontextmanager
    async def __call__(self, *modes: str, health: HealthCheck | None = None, **background: Any) -> AsyncIterator[Scene]:
        folder = self.root / "plugin"
        folder.mkdir(exist_ok=True)
        given = {"command": "python3", "args": (str(ODD), *modes), "shutdown_grace_period": 300, **background}
        manifest = Manifest(name="odd", background=Background(healthcheck=health or HealthCheck(), **given))
        record = self.root / "record"
        preparation = Preparation(
            DiscoveredPlugin(key="odd", source="project", path=str(folder), manifest=manifest),
            self.root,
            settings=lambda: {"record": str(record)},
            environ={
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "XDG_RUNTIME_DIR": str(_runtime(self.root)),
            },
        )
        changes = asyncio.Event()
        with SafeDir.make(self.root, "local") as local:
            daemon = Daemon("odd", preparation, DaemonFiles(local, "odd"), changed=changes.set)
            daemons = Daemons([daemon], clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
            daemons.start()
            try:
                yield Scene(daemon, daemons, record, changes)
            finally:
                await daemons.stop()


def _runtime(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    made.mkdir(mode=0o700, exist_ok=True)
    return made
