"""Read the errors of a repository for its log: those that are there now, and those that are over."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from prloom.engine.views import runtime_status
from prloom.engine.views.log_entry import LogEntry
from prloom.engine.views.snapshot import REPOSITORY
from prloom.engine.views.status_schema import BridgeStatus, PluginStatus
from prloom.model.past_error import PastError
from prloom.model.record import Cursor, Timestamp
from prloom.storage import error_log, paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir


class CurrentError(NamedTuple):
    """Something that is wrong now: what it is about, in words, and whether that is a bridge or a plugin.

    `since` is when it began, where that is known.
    """

    about: str
    plan: str
    text: str
    since: Timestamp | None
    of_extension: bool = False


class LoggedErrors:
    """The errors of bridges, plugins and plans, or of one `plan`: what is over, and what is new since the last look.

    `plans` returns the ids of the plans that are looked at.
    """

    def __init__(self, where: RepositoryPaths, plan: str | None, plans: Callable[[], Sequence[str]]) -> None:
        self._where = where
        self._plan = plan
        self._plans = plans
        self._over: dict[str, Cursor] = {}
        self._errors: dict[str, CurrentError] = {}

    def past(self, since: datetime | None, limit: int | None) -> Iterator[LogEntry]:
        """Yield the entries of errors that ended since a time, or of the newest `limit` of them; `ended` continues."""
        self._over = error_log.ends(self._where.root)
        found = (error for error in error_log.newest_first(self._where.root, since) if self._concerns(error))
        for error in itertools.islice(found, limit):
            yield from _of_past_error(error)

    def ended(self) -> Iterator[LogEntry]:
        """Yield what was not told yet of the errors that have ended since the last call."""
        errors, self._over = error_log.added(self._where.root, self._over)
        for error in filter(self._concerns, errors):
            begun, over = _of_past_error(error)
            if _about_source(error) not in self._errors:  # it began after the last look
                yield begun
            yield over

    def new(self, now: datetime) -> Iterator[LogEntry]:
        """Yield the errors that are there now and were not at the last look.

        A source that fails is told once, whatever the text of each failure is: that may name a time.
        """
        found = {each.about: each for each in self._current_errors()}
        for about, each in found.items():
            before = self._errors.get(about)
            if before is None:
                yield _of_current_error(each, each.since or Timestamp.of(now))
            elif each.text != before.text and not each.of_extension:
                yield _of_current_error(each, Timestamp.of(now))
        self._errors = found

    def _current_errors(self) -> Iterator[CurrentError]:
        local = SafeDir.open(self._where.root, *paths.LOCAL)
        if local is None:
            return
        with local:
            at_work = runtime_status.dispatcher(local)
            if at_work.trouble:
                yield CurrentError(_about(REPOSITORY), REPOSITORY, at_work.trouble, at_work.trouble_since or None)
            unopened, since = runtime_status.unopened(local, ()), runtime_status.unopened_since(local)
            for plan in filter(unopened.__contains__, self._plans()):
                yield CurrentError(_about(plan), plan, unopened[plan], since.get(plan))
            if self._plan is None:
                yield from _of_extensions(local)

    def _concerns(self, error: PastError) -> bool:
        return self._plan is None or (error.source, error.name) == ("plan", self._plan)


def _of_extensions(local: SafeDir) -> Iterator[CurrentError]:
    """Yield the bridges and plugins that do not work, as a dispatcher last reported them."""
    for bridge in runtime_status.of(local, paths.BRIDGES, "bridges", BridgeStatus):
        if bridge.error is not None:
            since = bridge.error_since or None
            yield CurrentError(f"bridge {bridge.name}", REPOSITORY, bridge.error, since, of_extension=True)
    for plugin in runtime_status.of(local, paths.PLUGINS, "plugins", PluginStatus):
        if plugin.error is not None:
            since = plugin.error_since or None
            yield CurrentError(f"plugin {plugin.name}", REPOSITORY, plugin.error, since, of_extension=True)


def _of_current_error(error: CurrentError, at: Timestamp) -> LogEntry:
    return LogEntry(ts=at, plan=error.plan, kind="error", text=f"{error.about}: {error.text}")


def _of_past_error(error: PastError) -> tuple[LogEntry, LogEntry]:
    """Return the entries of when an error began, and of when it was over."""
    about, plan = _about_source(error), REPOSITORY
    if error.source == "plan":
        plan = error.name
        ended = "that error is over"
    elif error.works:
        ended = "works again"
    else:
        ended = "is not used any more"
    return (
        LogEntry(ts=error.since, plan=plan, kind="error", text=f"{about}: {error.text}"),
        LogEntry(ts=error.until, plan=plan, kind="recovered", text=f"{about}: {ended}"),
    )


def _about_source(error: PastError) -> str:
    if error.source == "plan":
        return _about(error.name)
    return f"{error.source} {error.name}"


def _about(plan: str) -> str:
    if not plan:
        return "repository"
    return f"plan {plan}"
