"""List the background plugins that are to run, and the daemons that a dispatcher runs, and say why the two differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from prloom.engine.views import daemons
from prloom.engine.views.daemons import DaemonStatus
from prloom.extensions import filters
from prloom.extensions.discovery import DiscoveredPlugin
from prloom.extensions.filters import PluginSelection
from prloom.storage.safe_dir import SafeDir


def enabled(selected: PluginSelection) -> tuple[DiscoveredPlugin, ...]:
    """Return the enabled plugins that have a daemon."""
    return tuple(found for found in selected.chosen if filters.runs_daemon(found))


def read(local: SafeDir | None, selected: PluginSelection) -> tuple[DaemonStatus, ...]:
    """Return the daemons of the plugins that are to run, and all others that the running dispatcher has not stopped."""
    known = {each.name: each for each in daemons.of_dispatcher(local)}
    names = [found.key for found in enabled(selected)]
    found = [known.pop(name, DaemonStatus(name=name)) for name in names]
    for name, why in _broken(selected).items():
        found.append(_with_reason(known.pop(name, DaemonStatus(name=name)), why))
    return (*found, *_left(known.values(), selected))


def why_not(key: str, selected: PluginSelection) -> str | None:
    """Return why no daemon of a plugin is to run: what is broken, or that it is not to run; None where it is."""
    if key in {found.key for found in enabled(selected)}:
        return None
    failed = [each.reason for each in selected.failures if each.name == key]
    if failed:
        return _not_loaded(failed[-1])
    left = [each.reason for each in selected.left if each.found.key == key]
    if left:
        return left[-1]
    if key in {found.key for found in selected.chosen}:
        return "its manifest has no `background`"
    return "there is no such plugin; `prloom plugins list` lists all plugins"


def _broken(selected: PluginSelection) -> Mapping[str, str]:
    """Return the enabled plugins that cannot be loaded, and why.

    One whose manifest cannot be read is among them: it may be the manifest of a background plugin.
    """
    names = {each.found.key for each in selected.left if each.found.manifest is None or filters.runs_daemon(each.found)}
    return {each.name: _not_loaded(each.reason) for each in selected.failures if each.source and each.name in names}


def _left(reported: Iterable[DaemonStatus], selected: PluginSelection) -> Iterator[DaemonStatus]:
    """Yield the daemons of a dispatcher whose plugins were to run when it started, and are not any more."""
    for each in reported:
        if each.state != "stopped":
            yield replace(each, reason=f"the dispatcher's next start leaves it out: {why_not(each.name, selected)}")


def _with_reason(daemon: DaemonStatus, why: str) -> DaemonStatus:
    """Return a daemon with why its plugin cannot be loaded; one that was started before runs on."""
    if daemon.pid is None:
        return replace(daemon, state="error", reason=why)
    return replace(daemon, reason=why)


def _not_loaded(reason: str) -> str:
    return f"it cannot be loaded: {reason}; correct that, and start the dispatcher again"
