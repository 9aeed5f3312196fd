"""Build the page of what the runs of agents cost."""

from __future__ import annotations

from collections.abc import Callable

from prloom.core.reports import costs as core
from prloom.core.reports.costs import CostGroup
from prloom.engine.runs import listing
from prloom.engine.views import dashboard_words, plan_names
from prloom.model.run import RunRecord
from prloom.web.charts import Bar
from prloom.web.pages import spans
from prloom.web.render import dollars
from prloom.web.site import Page, Query, Site

_BARS = 12


def page(site: Site, query: Query) -> Page:
    """Return what the runs of agents took, by plan, stage, model, day and plugin."""
    plan = query.text("plan")
    if plan is not None:
        plan = plan_names.find(site.where, plan)
    span = query.text("since") or "30d"
    now = site.clock()
    begin = spans.since(span, now)
    found = listing.spent(site.where, now, plan_id=plan, since=begin)
    total = core.total(found, "total")
    charts = {name: _grouped(found, by) for name, by in core.KEYS.items()}
    if [group.key for group in charts["plugin"]] == [core.NO_PLUGIN]:
        del charts["plugin"]
    more = {
        "total": total,
        "by_day": [_bar(each, total) for each in sorted(charts["day"], key=lambda each: str(each.key))],
        "charts": [
            (f"By {name}", [_bar(each, total) for each in groups[:_BARS]])
            for name, groups in charts.items()
            if name != "day"
        ],
        "tables": charts,
        "plan": plan,
        "since": span,
        "spans": spans.LONG,
    }
    return Page("costs.html", "Costs", listing.costs_of(found, begin), more)


def _grouped(found: tuple[RunRecord, ...], by: Callable[[RunRecord], str]) -> list[CostGroup]:
    """Return the sums of the runs, the costliest first."""
    sums = [core.total(members, key) for key, members in core.groups(found, by).items()]
    return sorted(sums, key=lambda each: (-(each.cost_usd or 0), -each.input_tokens - each.output_tokens))


def _bar(group: CostGroup, total: CostGroup) -> Bar:
    """Return the bar of a group: its cost, or its tokens where no run of all says what it cost."""
    if total.cost_usd is not None:
        return Bar(str(group.key), group.cost_usd or 0.0, dollars(group.cost_usd))
    used = group.input_tokens + group.output_tokens
    return Bar(str(group.key), float(used), dashboard_words.tokens(used))
