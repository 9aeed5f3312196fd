"""Decide whether the daily limits of agent runs let another one begin."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta

from prloom.core.waits.agent_wait import AgentWait
from prloom.model.kinds import CHECK
from prloom.model.run import RunRecord


@dataclass(frozen=True)
class DailyLimits:
    """The keys of `[limits]` that hold for a day (UTC); 0 is no limit."""

    max_runs_per_plan_per_day: int = 50
    max_runs_per_day: int = 200
    max_tokens_per_day: int = 0
    max_cost_usd_per_day: float = 0.0


DAILY = tuple(each.name for each in fields(DailyLimits))
"""The names of the daily limits."""


def tripped(
    limits: DailyLimits, plan_id: str, ended: Collection[RunRecord], running: Collection[str], now: datetime
) -> AgentWait | None:
    """Return the brake that keeps a run for a plan from being started, or None.

    `ended` are the runs of today that are over, and `running` the plans of those that are not, one for each run. What
    a run did not measure counts as nothing, and the reason says how many such runs there were. A run that machines have
    refused is none: no agent ran.
    """
    ended = [run for run in ended if run.stage != CHECK and not run.refused]
    without_tokens = _without(sum(run.usage is None for run in ended), "tokens")
    without_cost = _without(sum(run.cost_usd is None for run in ended), "cost")
    tokens = sum(run.usage.input_tokens + run.usage.output_tokens for run in ended if run.usage is not None)
    cost = sum(run.cost_usd for run in ended if run.cost_usd is not None)
    of_plan = sum(run.plan == plan_id for run in ended) + sum(plan == plan_id for plan in running)
    counts: tuple[tuple[str, float, float, str], ...] = (
        ("max_runs_per_plan_per_day", limits.max_runs_per_plan_per_day, of_plan, f"{of_plan} runs of this plan"),
        ("max_runs_per_day", limits.max_runs_per_day, len(ended) + len(running), f"{len(ended) + len(running)} runs"),
        ("max_tokens_per_day", limits.max_tokens_per_day, tokens, f"{tokens} tokens{without_tokens}"),
        ("max_cost_usd_per_day", limits.max_cost_usd_per_day, cost, f"{cost:.2f} USD{without_cost}"),
    )
    for name, limit, used, words in counts:
        if limit and used >= limit:
            reason = f"the brake {name} = {limit:g} is on: {words} today; `prloom resume {plan_id}` lifts it"
            return AgentWait(reason, _midnight(now), known=True, since=now, brake=name)
    return None


def _without(unmeasured: int, what: str) -> str:
    if not unmeasured:
        return ""
    runs = f"{unmeasured} runs"
    if unmeasured == 1:
        runs = "1 run"
    return f", without {runs} that reported no {what},"


def _midnight(now: datetime) -> datetime:
    """Return the end of the day, with which a daily limit begins anew."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today + timedelta(days=1)
