"""Build the page of statistics: what was done, how long events waited, how long plugins took, and what failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prloom.core.reports.stats import PluginTimes, Spread
from prloom.engine.views import stats
from prloom.web.charts import Bar
from prloom.web.pages import spans
from prloom.web.render import age
from prloom.web.site import Page, Query, Site

SPAN: Final = "24h"
"""The time that is shown first: to add up more takes longer."""


def page(site: Site, query: Query) -> Page:
    """Return what happened since a time, added up."""
    span = query.text("since") or SPAN
    value = stats.read(site.where, spans.since(span, site.clock()))
    days = [_bar(each.day, each.times) for each in value.days]
    more = {"since": span, "spans": spans.LONG, "days": days, "plugins": bars(value.plugins)}
    return Page("stats.html", "Statistics", value, more)


def bars(plugins: Iterable[PluginTimes]) -> list[Bar]:
    """Return a bar for each plugin whose calls were measured, the slowest first."""
    return [_bar(each.plugin, each.times) for each in plugins if each.times.count]


def _bar(name: str, times: Spread) -> Bar:
    """Return a bar as long as nineteen in twenty took at most; half of them took no longer than its darker part."""
    half, most = times.p50_ms or 0, times.p95_ms or 0
    return Bar(name, float(most), f"p95 {age(most)}, p50 {age(half)}", float(half))
