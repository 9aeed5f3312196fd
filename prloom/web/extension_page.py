"""Build the page of plugins and bridges: whether each of them works, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator

from prloom.engine import catalog
from prloom.engine.assembly.plugins import select_plugins
from prloom.engine.catalog import PluginLine
from prloom.engine.views import daemons, runtime_status
from prloom.engine.views.daemons import DaemonStatus
from prloom.engine.views.status_schema import BridgeStatus
from prloom.errors import ConfigError
from prloom.extensions import filters
from prloom.model.record import Record
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir
from prloom.web.site import Page, Query, Site

_LINES = 100
_LOG_BYTES = 64 * 1024


class ExtensionDocument(Record, frozen=True, kw_only=True):
    """The plugins, their daemons and the bridges; `config_error` is why the configuration cannot be read."""

    plugins: tuple[PluginLine, ...] = ()
    warnings: tuple[str, ...] = ()
    daemons: tuple[DaemonStatus, ...] = ()
    bridges: tuple[BridgeStatus, ...] = ()
    config_error: str | None = None


def extensions(site: Site, query: Query) -> Page:
    """Return the page of all plugins and bridges; a configuration that cannot be read is what it shows then."""
    try:
        value, logs = _read(site)
    except ConfigError as error:
        value, logs = ExtensionDocument(config_error=str(error)), {}
    return Page("extensions.html", "Plugins and bridges", value, {"logs": logs})


def _read(site: Site) -> tuple[ExtensionDocument, dict[str, tuple[str, ...]]]:
    config = site.read_config()
    plugins = catalog.plugins(site.where, config, site.environ)
    selection = select_plugins(site.where.root, config, site.environ)
    with_daemon = [found.key for found in selection.chosen if filters.runs_daemon(found)]
    local = SafeDir.open(site.where.root, *paths.LOCAL)
    reported = daemons.read(local, with_daemon)
    logs = {}
    bridges: tuple[BridgeStatus, ...] = ()
    if local is not None:
        with local:
            bridges = runtime_status.of(local, paths.BRIDGES, "bridges", BridgeStatus)
            logs = {name: tuple(_log(local, name)) for name in with_daemon}
    value = ExtensionDocument(
        plugins=plugins.plugins,
        warnings=plugins.warnings,
        daemons=reported,
        bridges=bridges,
    )
    return value, logs


def _log(local: SafeDir, name: str) -> Iterator[str]:
    """Yield the last lines that a daemon printed."""
    folder = local.sub(paths.DAEMONS, paths.plugin_folder(name))
    if folder is None:
        return
    with folder:
        content = folder.read_bytes(paths.DAEMON_LOG) or b""
    yield from content[-_LOG_BYTES:].decode("utf-8", "replace").splitlines()[-_LINES:]
