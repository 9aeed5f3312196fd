"""Read what a dispatcher last reported of the daemons of background plugins."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field
from msgspec.structs import replace

from prloom.engine.views import runtime_status
from prloom.model.record import Record
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir

SCHEMA_VERSION = 1


class RequestCounts(Record, frozen=True, kw_only=True):
    """How the requests of one method ended."""

    ok: int = 0
    denied: int = 0
    limited: int = 0
    failed: int = 0


class DaemonEvents(Record, frozen=True, kw_only=True):
    """How many events a daemon was sent, and how many it missed."""

    delivered: int = 0
    dropped: int = 0


class DaemonStatus(Record, frozen=True, kw_only=True):
    """One daemon as `prloom plugins status` shows it; times are ISO 8601 texts.

    `problem` is what a daemon that runs says does not work.
    """

    name: str
    state: str = "stopped"
    pid: int | None = None
    reason: str | None = None
    log: tuple[str, ...] = ()
    since: str | None = None
    restarts: int = 0
    next_attempt_at: str | None = None
    health_failures: int = 0
    problem: str | None = None
    problem_since: str | None = None
    runtime_dir: str | None = None
    requests: Mapping[str, RequestCounts] = field(default_factory=dict)
    events: DaemonEvents = DaemonEvents()


class DaemonList(Record, frozen=True, kw_only=True):
    """The document that `prloom plugins status --json` prints."""

    schema_version: int = SCHEMA_VERSION
    plugins: tuple[DaemonStatus, ...] = ()


def of_dispatcher(local: SafeDir | None) -> tuple[DaemonStatus, ...]:
    """Return all daemons that a dispatcher last reported; without a dispatcher none of them runs."""
    if local is None:
        return ()
    return reported(local, running=runtime_status.dispatcher(local).running)


def reported(local: SafeDir, *, running: bool) -> tuple[DaemonStatus, ...]:
    """Return all daemons that a dispatcher last reported; `running` says whether it still runs."""
    found = runtime_status.of(local, paths.DAEMON_STATUS, "daemons", DaemonStatus)
    if running:
        return found
    return tuple(
        replace(each, state="stopped", pid=None, next_attempt_at=None, problem=None, problem_since=None)
        for each in found
    )
