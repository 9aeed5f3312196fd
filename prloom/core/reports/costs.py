"""Add up what agent runs took: by plan, stage, agent, model and day. What was not measured is counted, not guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from prloom.model import record
from prloom.model.record import Record
from prloom.model.run import RunRecord

_K = TypeVar("_K")

NO_PLUGIN = "(none)"
"""What stands for the plugin of a run that none has asked for."""


class CostKey(Record, frozen=True, kw_only=True):
    """What the runs of a group have in common; the day is that of their start, in UTC.

    `plugin` is the one that asked for them; None for the runs of prloom's own accord.
    """

    plan: str
    stage: str
    agent: str
    model: str | None
    day: str
    plugin: str | None = None


class CostGroup(Record, frozen=True, kw_only=True):
    """The sum of a group of runs.

    `cost_usd` is None where no run of the group said what it cost. `unmeasured_runs` are those that did not count
    their tokens, which the sums therefore lack.
    """

    key: CostKey | str
    runs: int
    seconds: float
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unmeasured_runs: int


def key(run: RunRecord) -> CostKey:
    """Return the group that a run belongs to."""
    return CostKey(plan=run.plan, stage=run.stage, agent=run.agent, model=run.model, day=_day(run), plugin=run.plugin)


def _plan(run: RunRecord) -> str:
    return run.plan


def _stage(run: RunRecord) -> str:
    return run.stage


def _model(run: RunRecord) -> str:
    return f"{run.agent} {run.model or ''}".strip()


def _day(run: RunRecord) -> str:
    return record.iso(run.started_at)[: len("2026-11-21")]


def _plugin(run: RunRecord) -> str:
    return run.plugin or NO_PLUGIN


KEYS: Mapping[str, Callable[[RunRecord], str]] = {
    "plan": _plan,
    "stage": _stage,
    "model": _model,
    "day": _day,
    "plugin": _plugin,
}
"""What costs are added up by, with the key of a run's group."""


def groups(runs: Iterable[RunRecord], by: Callable[[RunRecord], _K]) -> dict[_K, list[RunRecord]]:
    """Return the runs in groups, in the order in which the groups are met."""
    found: dict[_K, list[RunRecord]] = {}
    for run in runs:
        found.setdefault(by(run), []).append(run)
    return found


def total(runs: Iterable[RunRecord], key: CostKey | str) -> CostGroup:
    """Return the sum of runs."""
    runs = tuple(runs)
    measured = [run.usage for run in runs if run.usage is not None]
    costs = [run.cost_usd for run in runs if run.cost_usd is not None]
    cost = None
    if costs:
        cost = round(sum(costs), 6)
    return CostGroup(
        key=key,
        runs=len(runs),
        seconds=round(sum(run.seconds for run in runs), 3),
        input_tokens=sum(usage.input_tokens for usage in measured),
        output_tokens=sum(usage.output_tokens for usage in measured),
        cost_usd=cost,
        unmeasured_runs=len(runs) - len(measured),
    )
