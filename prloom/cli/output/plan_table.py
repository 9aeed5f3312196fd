"""Show plans in a line each: how far they are, and what waits in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from prloom.cli.output import layout, terminal
from prloom.cli.output.terminal import Role
from prloom.engine.views import dashboard_words
from prloom.model.kinds import ENDED

if TYPE_CHECKING:
    from prloom.engine.views.dashboard_schema import PlanLine

_ID = 24
_TITLE = 12
"""The fewest columns of a title that are worth showing."""
_GAP = 2


def entries(plans: Sequence[PlanLine]) -> list[list[str]]:
    """Return one line for each plan, cut to the terminal's width."""
    width = terminal.line_width()
    if width is None:
        return [[layout.INDENT + line] for line in terminal.table([[*_cells(plan), _title(plan)] for plan in plans])]
    room = width - len(layout.INDENT)
    if width < layout.NARROW:
        return [[layout.INDENT + terminal.fit(_short(plan), room)] for plan in plans]
    rows = [_cells(plan) for plan in plans]
    used = (
        sum(max(terminal.columns_of(row[place]) for row in rows) + _GAP for place in range(len(rows[0]))) if rows else 0
    )
    if room - used >= _TITLE:
        rows = [[*row, terminal.fit(_title(plan), room - used)] for row, plan in zip(rows, plans, strict=True)]
    return [
        [_painted(plan, layout.INDENT + terminal.fit(line, room))]
        for plan, line in zip(plans, terminal.table(rows), strict=True)
    ]


def _cells(plan: PlanLine) -> list[str]:
    number = ""
    if plan.pr is not None:
        number = f"#{plan.pr}"
    todos = ""
    if plan.todos:
        todos = f"{plan.done}/{plan.todos} TODOs"
    return [
        terminal.fit(terminal.clean(plan.id), _ID),
        number,
        terminal.clean(dashboard_words.state(plan)),
        todos,
        "  ".join(dashboard_words.counts(plan)),
        _age(plan),
    ]


def _age(plan: PlanLine) -> str:
    """Return for how long what has waited longest in a plan waits."""
    if plan.age_ms is None:
        return ""
    return f"for {terminal.age(plan.age_ms)}"


def _title(plan: PlanLine) -> str:
    if plan.title in {"", plan.id, plan.branch}:
        return ""
    return f'"{layout.title(plan.title)}"'


def _short(plan: PlanLine) -> str:
    todos = ""
    if plan.todos:
        todos = f"{plan.done}/{plan.todos}"
    return " ".join(
        filter(
            None,
            [
                terminal.clean(plan.id),
                terminal.clean(dashboard_words.state(plan)),
                todos,
                *dashboard_words.counts(plan),
                _age(plan),
            ],
        )
    )


def _painted(plan: PlanLine, line: str) -> str:
    """Return a line in the colour of what it is about, where a person is needed."""
    role: Role | None = None
    if plan.blocked:
        role = "bad"
    elif plan.needs:
        role = "warn"
    elif plan.status in ENDED:
        role = "dim"
    if role is None:
        return line
    return terminal.paint(line, role)
