"""Show everything about one plan: what needs the operator, what goes on and waits, its TODOs, and its latest runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from prloom.cli.output import dashboard_text, layout, needs, status_text, terminal, waiting_text, work_text
from prloom.model.kinds import AT_WORK

if TYPE_CHECKING:
    from prloom.cli.output.terminal import Role
    from prloom.core.plans.plan_file import TodoItem
    from prloom.engine.views.dashboard_schema import Dashboard
    from prloom.engine.views.status_schema import PlanStatus, StatusDocument
    from prloom.model.run import RunRecord
    from prloom.storage.paths import RepositoryPaths

_RUNS = 5
_GAP = "  "
_ROLES: dict[str, Role] = {"done": "good", "blocked": "bad", "dropped": "dim", "open": "name"}


def lines(where: RepositoryPaths, status: StatusDocument, shown: Dashboard, now: datetime) -> Iterator[str]:
    """Yield everything about the plans of a status that is of one plan."""
    yield from status_text.above(status, shown)
    yield from status_text.problems(status)
    yield from about(where, status, shown, now)


def about(where: RepositoryPaths, status: StatusDocument, shown: Dashboard, now: datetime) -> Iterator[str]:
    """Yield the same without the lines above, which are about the repository as a whole."""
    from prloom.engine.views import dashboard  # noqa: PLC0415 - `prloom status --help` needs none

    ids = {plan.id for plan in status.plans}
    yield from needs.lines([need for need in shown.needs if need.plan in ids])
    yield from dashboard_text.progress(dashboard.of_plans(shown, ids))
    yield from of_each(where, status.plans, now)


def of_each(where: RepositoryPaths, plans: Sequence[PlanStatus], now: datetime) -> Iterator[str]:
    """Yield of each plan how far it is, what waits in it, its TODOs, and its latest runs; an empty line comes first."""
    from prloom.engine.runs import listing  # noqa: PLC0415 - `prloom status --help` needs none

    runs = listing.newest(where, now, [plan.id for plan in plans if plan.worktree is not None], _RUNS)
    for plan in plans:
        yield ""
        yield from _progress(plan, now)
        if plan.worktree is not None:
            yield from layout.item("worktree", terminal.clean(plan.worktree))
            yield from _todos(_items(where, plan))
            yield from _runs(plan, runs[plan.id], now)


def _progress(plan: PlanStatus, now: datetime) -> Iterator[str]:
    """Yield how far a plan is, and what waits in it."""
    yield from layout.paragraph(_head(plan))
    yield from layout.paragraph(waiting_text.counts(plan), indent=_GAP)
    if isinstance(plan.rule, str):
        yield from layout.item("rule", terminal.clean(plan.rule))
    if plan.work is False:
        yield from layout.item("work", "prloom may not commit to the branch; it lists TODOs only")
    yield from work_text.lines(plan, now)
    yield from waiting_text.lines(plan, now)


def _head(plan: PlanStatus) -> str:
    if not plan.id:
        return terminal.paint(layout.title(plan.title), "strong")
    words = [terminal.paint(terminal.clean(plan.id), "strong")]
    if plan.title not in {"", plan.id, plan.branch}:
        words.append(layout.title(plan.title))
    if plan.pr is not None:
        words.append(f"#{plan.pr}")
    if plan.branch not in {"", plan.id}:
        words.append(terminal.paint(terminal.clean(plan.branch), "name"))
    status = terminal.clean(plan.status)
    if status not in AT_WORK:
        status = terminal.paint(status, "warn")
    words.append(status)
    if plan.blocked:
        words.append(terminal.paint("blocked", "bad"))
    return _GAP.join(words)


def _items(where: RepositoryPaths, plan: PlanStatus) -> Sequence[TodoItem]:
    from prloom.engine.views import snapshot  # noqa: PLC0415 - `prloom status --help` needs none
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415

    trees = SafeDir.open(where.worktrees)
    if trees is None:
        return ()
    with trees:
        return snapshot.of_plan(where, trees, plan.id).todos


def _todos(items: Sequence[TodoItem]) -> Iterator[str]:
    if not items:
        return
    yield ""
    yield terminal.paint(f"TODOs ({len(items)})", "strong")
    for item in items:
        texts = [f"{layout.shown_id(item.id or '')}  {layout.title(item.title)}".strip()]
        if item.reason:
            texts.append(terminal.clean(item.reason))
        yield from layout.item(terminal.paint(item.state, _ROLES[item.state]), *texts)


def _runs(plan: PlanStatus, found: Sequence[RunRecord], now: datetime) -> Iterator[str]:
    from prloom.core.reports import run_line  # noqa: PLC0415 - likewise

    if not found:
        return
    yield ""
    yield terminal.paint("Latest runs", "strong")
    for run in found:
        when = layout.when(run.started_at, now, units=1)
        yield from layout.item(when, terminal.clean(run_line.line(run)), room=11)
    rest = f"all: {layout.to_run('runs', plan.id)}, what they took: {layout.to_run('costs', plan.id)}"
    yield from layout.paragraph(rest, indent=layout.INDENT)
