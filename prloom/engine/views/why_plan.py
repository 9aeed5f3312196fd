"""Tell what holds a plan up: the document of `prloom why PLAN --json`."""

from __future__ import annotations

from datetime import datetime

from prloom.engine.views import dashboard, dashboard_words, plan_names, status
from prloom.engine.views.dashboard_schema import Dashboard, Need, Wait, Working
from prloom.engine.views.status_schema import PlanStatus
from prloom.errors import PrloomError
from prloom.model.record import Record
from prloom.storage.paths import RepositoryPaths


class WhyPlan(Record, frozen=True, kw_only=True):
    """What a plan needs from a person, what goes on and waits in it, and in one sentence what holds it up."""

    plan: str
    title: str
    status: str
    reason: str
    needs: tuple[Need, ...]
    working: tuple[Working, ...]
    waiting: tuple[Wait, ...]


_OF_ALL = frozenset({"agent", "config", "dispatcher", "stalled"})
"""What keeps every plan that it concerns from going on."""


def find(where: RepositoryPaths, named: str, now: datetime) -> WhyPlan | None:
    """Return what holds the plan of this name up; None where there is none of that name."""
    try:
        plan_id = named if named in plan_names.draft_ids(where) else plan_names.find(where, named)
    except PrloomError:
        return None
    found = status.read(where, now, plan=plan_id)
    return of(found.plans[0], dashboard.of(where, found, now))


def of(plan: PlanStatus, shown: Dashboard) -> WhyPlan:
    """Return what holds a plan up, by the dashboard of this plan alone."""
    needs = tuple(need for need in shown.needs if need.plan == plan.id or need.kind in _OF_ALL)
    waiting = tuple(wait for wait in shown.waiting if wait.plan == plan.id)
    working = tuple(each for each in shown.working if each.plan == plan.id)
    return WhyPlan(
        plan=plan.id,
        title=plan.title,
        status=dashboard_words.state(plan),
        reason=_sentence(plan, needs, working, waiting),
        needs=needs,
        working=working,
        waiting=waiting,
    )


def _sentence(
    plan: PlanStatus,
    needs: tuple[Need, ...],
    working: tuple[Working, ...],
    waiting: tuple[Wait, ...],
) -> str:
    if needs:
        return f"it needs you: {needs[0].text}; {needs[0].remedy}"
    if plan.status == "paused":
        return f"you paused it; `prloom resume {plan.id}` lets it go on"
    if plan.status == "draft":
        return f"it is a draft; `prloom queue {plan.id}` hands it to the dispatcher"
    if plan.status in {"merged", "closed"}:
        return f"nothing: it is {plan.status}"
    if working:
        return f"nothing: {_at_work(working[0])}"
    if waiting:
        return f"it waits: {waiting[0].reason}"
    if plan.status == "review":
        return "nothing: all its TODOs are done, and it waits for people to merge it"
    return "nothing: the dispatcher looks at it next"


def _at_work(found: Working) -> str:
    what = f'"{found.title}"' if found.title else found.stage
    if found.agent is not None:
        return f"{found.agent} is at work on {what}"
    return f"prloom is at work on {what}"
