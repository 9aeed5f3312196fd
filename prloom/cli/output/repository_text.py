"""Show everything about a repository: what needs the operator, all plans, and the bridges and plugins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from prloom.cli.output import dashboard_text, layout, needs, plan_text, status_text, terminal, waiting_text

if TYPE_CHECKING:
    from prloom.engine.views.dashboard_schema import Dashboard
    from prloom.engine.views.status_schema import BridgeStatus, PluginStatus, StatusDocument
    from prloom.storage.paths import RepositoryPaths


def lines(where: RepositoryPaths, status: StatusDocument, shown: Dashboard, now: datetime) -> Iterator[str]:
    """Yield everything about all plans, and about the bridges and plugins."""
    yield from status_text.above(status, shown)
    if status.plans:
        yield from layout.paragraph(waiting_text.totals(status))
    yield from needs.lines(shown.needs)
    yield from dashboard_text.progress(shown)
    yield from plan_text.of_each(where, status.plans, now)
    yield from _section("Bridges", [_bridge(bridge, now) for bridge in status.bridges])
    for bridge in status.bridges:
        for warning in bridge.warnings or ():
            yield from layout.item("warning", terminal.paint(terminal.clean(warning), "warn"))
    yield from _section("Plugins", [_plugin(plugin) for plugin in status.plugins])


def _section(title: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield ""
        yield terminal.paint(title, "strong")
        yield from layout.rows(rows)


def _bridge(bridge: BridgeStatus, now: datetime) -> list[str]:
    requests = bridge.requests
    words = []
    if bridge.idle:
        words.append(f"not asked: {terminal.clean(bridge.idle)}")
    elif bridge.loaded is False:
        words.append("not loaded")
    elif bridge.last_poll_at is None:
        words.append("never asked")
    elif bridge.error is not None and bridge.last_ok_at is None:
        words += [f"last tried {layout.when(bridge.last_poll_at, now)}", "no success yet"]
    else:
        words.append(f"last asked {layout.when(bridge.last_poll_at, now)}")
    if bridge.error is not None and bridge.last_ok_at:
        words.append(f"last success {layout.when(bridge.last_ok_at, now)}")
    if requests.total:
        words += [f"{requests.total} requests", f"{requests.charged} charged"]
    if requests.remaining is not None:
        words.append(f"{requests.remaining} left")
    told = ", ".join(words)
    if bridge.error is not None:
        error = bridge.error.removeprefix(f"bridge {bridge.name} ")
        told = f"{told}; {terminal.paint(terminal.clean(error), 'bad')}"
    return [terminal.paint(terminal.clean(bridge.name), "name"), told]


def _plugin(plugin: PluginStatus) -> list[str]:
    if plugin.error is None:
        told = ", ".join(map(terminal.clean, _offered(plugin))) or "no hooks, commands, tools or skills"
    else:
        told = terminal.paint(terminal.clean(plugin.error), "bad")
    return [terminal.paint(terminal.clean(plugin.name), "name"), terminal.clean(plugin.source), told]


def _offered(plugin: PluginStatus) -> Iterator[str]:
    yield from plugin.hooks
    yield from (f"/{name}" for name in plugin.commands or ())
    yield from (f"tool {name}" for name in plugin.tools or ())
    yield from (f"skill {name}" for name in plugin.skills or ())
