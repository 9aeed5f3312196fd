"""Build the page of a run: what it did, was told and said."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from prloom.agents import run_folder
from prloom.agents.agent import StreamEntry
from prloom.core.text import secret_scan
from prloom.engine.runs import activity, listing, records
from prloom.engine.runs.output import RunOutput
from prloom.model.activity import ActivityEvent
from prloom.model.record import Record
from prloom.model.run import RunRecord
from prloom.web.site import Page, Query, Site

_STEPS = 300
_PROMPT = 200_000
_ENDS = {"TOOL_END": "result", "TOOL_ERROR": "failed"}


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


def page(site: Site, query: Query) -> Page:
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
    return Page("run.html", f"Run {folder.name}", value, {"plan": plan_id}, (folder.name, plan_id), is_masked=True)


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
