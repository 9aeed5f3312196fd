"""Build the page of plugins and bridges: whether each of them works, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import field
from msgspec.structs import replace

from prloom.core.reports.stats import PluginTimes
from prloom.core.text import secret_scan
from prloom.engine import background_plugins, catalog
from prloom.engine.assembly.plugins import select_plugins
from prloom.engine.catalog import PluginLine
from prloom.engine.views import runtime_status, stats
from prloom.engine.views.daemons import DaemonStatus
from prloom.engine.views.status_schema import BridgeStatus
from prloom.errors import ConfigError
from prloom.model.record import Record, Timestamp
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir
from prloom.web.pages import spans
from prloom.web.pages import stats as stats_page
from prloom.web.site import Page, Query, Site

_LINES = 100
_LOG_BYTES = 64 * 1024


class ExtensionDocument(Record, frozen=True, kw_only=True):
    """The plugins, their daemons and the bridges; `config_error` is why the configuration cannot be read.

    `times` are those of the plugins' hook calls since `since`, the slowest plugin first, and `logs` the last lines that
    each daemon has printed, in which secrets are masked.
    """

    since: Timestamp | None = None
    plugins: tuple[PluginLine, ...] = ()
    times: tuple[PluginTimes, ...] = ()
    warnings: tuple[str, ...] = ()
    daemons: tuple[DaemonStatus, ...] = ()
    logs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bridges: tuple[BridgeStatus, ...] = ()
    config_error: str | None = None


def page(site: Site, query: Query) -> Page:
    """Return the page of all plugins and bridges; a configuration that cannot be read is what it shows then."""
    span = query.text("since") or stats_page.SPAN
    begin = spans.since(span, site.clock())
    try:
        value = _read(site)
    except ConfigError as error:
        value = ExtensionDocument(config_error=str(error))
    found = stats.read(site.where, begin)
    value = replace(value, since=found.since, times=found.plugins)
    more = {"bars_of": stats_page.bars(found.plugins), "span": span, "spans": spans.LONG}
    return Page("extensions.html", "Plugins and bridges", value, more)


def _read(site: Site) -> ExtensionDocument:
    config = site.read_config()
    plugins = catalog.plugins(site.where, config, site.environ)
    selection = select_plugins(site.where.root, config, site.environ)
    local = SafeDir.open(site.where.root, *paths.LOCAL)
    daemons = background_plugins.read(local, selection)
    logs: Mapping[str, tuple[str, ...]] = {}
    bridges: tuple[BridgeStatus, ...] = ()
    if local is not None:
        with local:
            bridges = runtime_status.of(local, paths.BRIDGES, "bridges", BridgeStatus)
            logs = {each.name: tuple(_log(local, each.name)) for each in daemons}
    return ExtensionDocument(
        plugins=plugins.plugins, warnings=plugins.warnings, daemons=daemons, logs=logs, bridges=bridges
    )


def _log(local: SafeDir, name: str) -> Iterator[str]:
    """Yield the last lines that a daemon printed."""
    folder = local.sub(paths.DAEMONS, paths.plugin_folder(name))
    if folder is None:
        return
    with folder:
        content = folder.read_bytes(paths.DAEMON_LOG) or b""
    lines = content[-_LOG_BYTES:].decode("utf-8", "replace").splitlines()
    yield from map(secret_scan.masked, lines[-_LINES:])
