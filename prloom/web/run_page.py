"""Build the pages of runs: what one did, was told and said, and what all of them cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

from prloom.agents import run_folder
from prloom.agents.agent import StreamEntry
from prloom.core.reports import costs as core
from prloom.core.reports.costs import CostGroup
from prloom.core.text import secret_scan
from prloom.engine.runs import activity, listing, records
from prloom.engine.runs.output import RunOutput
from prloom.engine.views import plan_names
from prloom.model.activity import ActivityEvent
from prloom.model.record import Record
from prloom.model.run import RunRecord
from prloom.web import event_page
from prloom.web.charts import Bar
from prloom.web.render import dollars, tokens
from prloom.web.site import Page, Query, Site

_STEPS = 300
_PROMPT = 200_000
_ENDS = {"TOOL_END": "result", "TOOL_ERROR": "failed"}
_BARS = 12


class OutputLine(Record, frozen=True, kw_only=True):
    """One thing that the agent said or did, as its program printed it."""

    kind: str
    tool: str
    text: str


class RunDocument(Record, frozen=True, kw_only=True):
    """A run: what it did and printed last, and what it was told. `steps` counts all of its activity."""

    run: RunRecord
    steps: int
    activity: tuple[ActivityEvent, ...]
    output: tuple[OutputLine, ...]
    prompt: str


def run(site: Site, query: Query) -> Page:
    """Return the page of a run that is still in its plan's worktree."""
    folder, plan_id = listing.find(site.where, query.path["run"])
    count, latest = _latest(folder)
    prompt = (run_folder.read(folder, run_folder.PROMPT, _PROMPT) or b"").decode("utf-8", "replace")
    value = RunDocument(
        run=records.build(folder, plan_id, site.clock()),
        steps=count,
        activity=latest,
        output=_output(folder),
        prompt=secret_scan.masked(prompt),
    )
    return Page("run.html", f"Run {folder.name}", value, {"plan": plan_id}, (folder.name, plan_id))


def _latest(folder: Path) -> tuple[int, tuple[ActivityEvent, ...]]:
    """Return how many activity events a run has, and the last of them."""
    count = 0
    kept: deque[ActivityEvent] = deque(maxlen=_STEPS)
    for each in activity.events(folder, wait=None):
        count += 1
        kept.append(each)
    return count, tuple(kept)


def _output(folder: Path) -> tuple[OutputLine, ...]:
    kept: deque[StreamEntry] = deque(maxlen=_STEPS)
    kept.extend(RunOutput(folder).entries(last=True))
    return tuple(OutputLine(kind=each.kind, tool=each.tool, text=secret_scan.masked(each.text)) for each in kept)


def costs(site: Site, query: Query) -> Page:
    """Return what the runs of agents took, by plan, stage, model, day and plugin."""
    plan = query.text("plan")
    if plan is not None:
        plan = plan_names.find(site.where, plan)
    span = query.text("since") or "30d"
    now = site.clock()
    begin = event_page.since(span, now)
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
    return Bar(str(group.key), float(used), tokens(used))
