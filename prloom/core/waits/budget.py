"""Compute what is left of the operator's daily limits, for an agent that plans its work by it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from prloom.model.kinds import CHECK
from prloom.model.record import Json
from prloom.model.run import RunRecord


class Used(NamedTuple):
    """What runs took today, as far as it was measured."""

    runs_of_plan: int
    runs: int
    tokens: int
    cost_usd: float


def used(ended: Collection[RunRecord], running: Collection[str], plan_id: str) -> Used:
    """Return what the runs of today took: those that have ended, and those that go on, each by its plan."""
    counted = [run for run in ended if run.stage != CHECK]
    return Used(
        runs_of_plan=sum(run.plan == plan_id for run in counted) + sum(plan == plan_id for plan in running),
        runs=len(counted) + len(running),
        tokens=sum(run.usage.input_tokens + run.usage.output_tokens for run in counted if run.usage is not None),
        cost_usd=round(sum(run.cost_usd for run in counted if run.cost_usd is not None), 4),
    )


def left(spent: Used, *, runs_of_plan: int, runs: int, tokens: int, cost: float) -> dict[str, Json]:
    """Return each limit with what was used and what is left of it; None where there is no limit (0)."""
    rows: tuple[tuple[str, float, float], ...] = (
        ("runsOfPlan", spent.runs_of_plan, runs_of_plan),
        ("runs", spent.runs, runs),
        ("tokens", spent.tokens, tokens),
        ("costUsd", spent.cost_usd, cost),
    )
    return {name: _row(taken, limit) for name, taken, limit in rows}


def _row(taken: float, limit: float) -> dict[str, Json]:
    if not limit:
        return {"used": taken, "limit": None, "left": None}
    return {"used": taken, "limit": limit, "left": max(round(limit - taken, 4), 0)}


def sentence(data: Mapping[str, Json]) -> str:
    """Return what is left in one line."""
    words = {"runsOfPlan": "runs of this plan", "runs": "runs", "tokens": "tokens", "costUsd": "USD"}
    parts = [f"{data[name]['left']:g} {what}" for name, what in words.items() if data[name]["left"] is not None]
    if not parts:
        return "There is no limit for today."
    return f"Left today: {', '.join(parts)}."
