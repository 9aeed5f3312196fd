"""Return what the detail pane shows of a row: a history, a difference, the log of a run, or everything about a plan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import click

from prloom.cli import diff, logs, why
from prloom.cli.output import plan_text, terminal
from prloom.engine.runs import listing
from prloom.engine.runs.steps import RunSteps
from prloom.engine.views import dashboard, plan_diff, status
from prloom.errors import PrloomError
from prloom.storage.paths import RepositoryPaths
from prloom.top.rows import Subject

DetailMode = Literal["about", "history", "diff", "log"]

_LINES = 2000
"""The last lines of a log that are shown."""
_EVENTS = 5
"""Of how many events of one row the history is shown."""


def text(where: RepositoryPaths, subject: Subject, mode: DetailMode) -> str:
    """Return the text, without colours and safe for a terminal; what cannot be shown is said in it."""
    lines = sentence(subject)
    try:
        lines += _lines(where, subject, mode)
    except PrloomError as error:
        lines.append(terminal.clean(str(error)))
    return "\n".join(click.unstyle(line) for line in lines)


def _lines(where: RepositoryPaths, subject: Subject, mode: DetailMode) -> Sequence[str]:
    if mode == "diff":
        return _diff(where, subject)
    if mode == "log" or (mode == "about" and subject.run is not None):
        return _log(where, subject)
    if mode in {"about", "history"} and (subject.events or subject.todo is not None):
        return _history(where, subject)
    return _plan(where, subject)


def sentence(subject: Subject) -> list[str]:
    """Return the whole sentence of what needs a person, and what resolves it, or of what waits, and why."""
    if subject.need is not None:
        return [terminal.clean(subject.need.text), f"-> {terminal.clean(subject.need.remedy)}", ""]
    if subject.wait is not None:
        return [terminal.clean(f"{subject.wait.kind}: {subject.wait.text}"), terminal.clean(subject.wait.reason), ""]
    return []


def _history(where: RepositoryPaths, subject: Subject) -> list[str]:
    names = [*subject.events]
    if subject.todo is not None:
        names.append(subject.todo)
    lines: list[str] = []
    for name in names[:_EVENTS]:
        lines += [*why.history(where, name, plan=subject.plan), ""]
    if len(names) > _EVENTS:
        lines.append(f"and {len(names) - _EVENTS} more")
    return lines


def _diff(where: RepositoryPaths, subject: Subject) -> list[str]:
    if subject.plan is None:
        raise PrloomError("this row does not belong to a plan, so there is no diff to show")
    if subject.todo is not None:
        found = plan_diff.of_todo(where, subject.plan, subject.todo)
    else:
        found = plan_diff.of_plan(where, subject.plan, base_branch=None)
    if not found:
        return ["nothing was changed"]
    return list(diff.lines(found))


def _log(where: RepositoryPaths, subject: Subject) -> list[str]:
    folder = None
    if subject.run is not None:
        folder, _ = listing.find(where, subject.run)
    elif subject.plan is not None:
        folder = listing.latest(where, subject.plan)
    if folder is None:
        raise PrloomError("there is no run of an agent to show")
    return [folder.name, "", *logs.lines(RunSteps(folder), wait=None)][-_LINES:]


def _plan(where: RepositoryPaths, subject: Subject) -> list[str]:
    if subject.plan is None:
        return []
    now = datetime.now(UTC)
    found = status.read(where, now, plan=subject.plan)
    return list(plan_text.about(where, found, dashboard.of(where, found, now), now))
