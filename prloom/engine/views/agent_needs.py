"""List the agent programs that a person has to see to, each once for all plans that wait for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import UnsetType

from prloom.core.text.shown_text import command
from prloom.engine.views.dashboard_schema import Need
from prloom.engine.views.status_schema import PlanStatus, StatusDocument
from prloom.model.record import Timestamp
from prloom.model.run import UnusableAgent


def needs_person(agent: UnusableAgent | UnsetType) -> bool:
    """Whether what waits for a program waits for a person: a usage limit ends by itself."""
    return isinstance(agent, UnusableAgent) and agent.cause != "usage_limit"


def of(status: StatusDocument) -> Iterator[Need]:
    """Yield the programs that are not signed in or do not start, with the number of plans that wait for each."""
    waiting: defaultdict[UnusableAgent, list[_Waiting]] = defaultdict(list)
    for plan in status.plans:
        for each in _of_plan(plan):
            waiting[each.agent].append(each)
    for agent, found in waiting.items():
        yield _need(agent, found)


class _Waiting(NamedTuple):
    """What waits for a program: of which plan, why, and since when."""

    agent: UnusableAgent
    plan: str
    reason: str
    since: Timestamp | None


def _of_plan(plan: PlanStatus) -> Iterator[_Waiting]:
    current = plan.todos.current
    if current is not None and current.wait and current.wait.agent and needs_person(current.wait.agent):
        yield _Waiting(current.wait.agent, plan.id, current.wait.reason, current.wait.since)
    for event in plan.events.deferred:
        if event.agent and needs_person(event.agent):
            yield _Waiting(event.agent, plan.id, event.reason, event.first_deferred_at)


def _need(agent: UnusableAgent, waiting: list[_Waiting]) -> Need:
    retry = command("retry", ("--agent", agent.agent))
    oldest = min(waiting, key=lambda each: (each.since is None, each.since or 0))
    plans = len({each.plan for each in waiting})
    waits = "1 plan waits" if plans == 1 else f"{plans} plans wait"
    return Need(
        key=f"agent//{agent.agent}",
        kind="agent",
        plan=None,
        text=f"{oldest.reason.removesuffix(f'; {agent.remedy}')}; {waits} for it",
        commands=(retry,),
        ids=(agent.agent,),
        remedy=f"{agent.remedy}; prloom tries again by itself, or at once with `{retry}`",
        since=oldest.since,
    )
