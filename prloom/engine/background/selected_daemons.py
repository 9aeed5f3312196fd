"""Make the daemons of the plugins that run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.background.current_settings import CurrentSettings, ReadTable
from prloom.engine.background.daemon import Daemon, DaemonOrder
from prloom.engine.background.daemon_files import DaemonFiles
from prloom.engine.background.daemon_report import DaemonReports
from prloom.engine.background.daemons import Daemons
from prloom.engine.background.preparation import HostAccess, NoHostAccess, Preparation
from prloom.engine.background.secret_store import SecretStore
from prloom.engine.bus.event_store import Clock
from prloom.extensions import filters, jsonrpc
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.jsonrpc import RpcError
from prloom.model.record import Json
from prloom.storage.safe_dir import SafeDir

ORDER_DAEMON = "orderDaemon"
"""What a command asks over the dispatcher's socket: {"plugin", "order"}; the answer is the daemon's report."""


@dataclass(frozen=True)
class DaemonParts:
    """What the daemons of one repository share; `requests` returns the counts of a plugin's requests."""

    repo_root: Path
    local: SafeDir
    environ: Mapping[str, str]
    clock: Clock
    activity: ActivityLog
    read_table: ReadTable
    reports: DaemonReports
    host_access: HostAccess = field(default_factory=NoHostAccess)
    requests: Callable[[str], Mapping[str, Json]] = lambda _: {}


def make(chosen: Sequence[DiscoveredPlugin], parts: DaemonParts) -> Daemons:
    """Return the daemons of the plugins that have one; none of them is started."""
    daemons = [_daemon(found, parts) for found in chosen if filters.runs_daemon(found)]
    return Daemons(
        daemons,
        clock=parts.clock,
        publisher=parts.activity.publisher,
        reports=parts.reports,
        requests=parts.requests,
    )


def _daemon(found: DiscoveredPlugin, parts: DaemonParts) -> Daemon:
    manifest = found.manifest
    assert manifest is not None  # noqa: S101 - it has a background
    settings = CurrentSettings(
        found.key,
        manifest.config_schema,
        parts.read_table,
        SecretStore(parts.repo_root, parts.environ),
        parts.environ,
        parts.activity,
    )
    preparation = Preparation(found, parts.repo_root, settings, parts.environ, parts.host_access)
    return Daemon(found.key, preparation, DaemonFiles(parts.local, found.key), changed=parts.reports.changed)


async def ordered(daemons: Daemons, params: Json) -> Json:
    """Carry out an order that a command gives; raises PrloomError where its state is not reached."""
    match params:
        case {"plugin": str(plugin), "order": "start" | "stop" | "restart" as order}:
            given: DaemonOrder = order
            return await daemons.order(given, plugin)
        case _:
            raise RpcError('give {"plugin", "order": "start" | "stop" | "restart"}', jsonrpc.INVALID_PARAMS)
