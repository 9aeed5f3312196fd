"""Add up what decisions and runs of some time came to: throughput, waits, the time of plugins, and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from prloom.core.reports import costs
from prloom.model.decision import Decision
from prloom.model.kinds import CHECK, DONE, PLAN_CREATED
from prloom.model.record import Record, Timestamp
from prloom.model.run import RunRecord

_MILLISECOND = timedelta(milliseconds=1)
_FAILED = frozenset({"failed", "violated", "rejected"})
"""The verdicts on attempts at TODOs that failed, and after which there is another one."""

_WORDS: Mapping[str, tuple[str, str]] = {
    "hook": ("hook call of", "hook calls of"),
    "delivery": ("delivery in", "deliveries in"),
    "triage": ("triage by", "triages by"),
    "attempt": ("attempt at a TODO by", "attempts at a TODO by"),
    "parked": ("parked by", "parked by"),
    "run": ("run of the stage", "runs of the stage"),
}


class TimedDecision(NamedTuple):
    """A decision of a plan, and when it was made."""

    plan: str
    made_at: datetime
    decision: Decision


class Spread(Record, frozen=True, kw_only=True):
    """How times are spread, in milliseconds: half of them are at most `p50_ms`, and nineteen of twenty `p95_ms`."""

    count: int
    p50_ms: int | None
    p95_ms: int | None
    longest_ms: int | None


class DayWaits(Record, frozen=True, kw_only=True):
    """How long the events that ended on a day (UTC) had been there."""

    day: str
    times: Spread


class PluginTimes(Record, frozen=True, kw_only=True):
    """The hook calls of one plugin that decided something, how many of them failed, and the runs that it asked for.

    `cost_usd` is None where none of these runs said what it cost.
    """

    plugin: str
    times: Spread
    failures: int
    runs: int = 0
    cost_usd: float | None = None


class FailureCount(Record, frozen=True, kw_only=True):
    """How often something of a kind failed.

    A `hook` of a plugin, a `delivery` in a plan, a `triage` or an `attempt` at a TODO by an agent, whatever its run
    came to, something that was `parked` for a person, or another `run` of a stage whose agent program failed.
    """

    kind: str
    name: str
    count: int


class Throughput(Record, frozen=True, kw_only=True):
    """What was done: events that came in and ended, by their states, TODOs, actions that were delivered, and runs."""

    events_in: int
    handled: int
    triaged: int
    dropped: int
    superseded: int
    todos_done: int
    actions_delivered: int
    runs: int


class Stats(Record, frozen=True, kw_only=True):
    """The document of `prloom stats --json`; `waits` are the times from the arrival of events to their ends.

    `days` has the same for each day on which an event ended.
    """

    since: Timestamp | None
    throughput: Throughput
    waits: Spread
    days: tuple[DayWaits, ...]
    plugins: tuple[PluginTimes, ...]
    failures: tuple[FailureCount, ...]


def of(made: Iterable[TimedDecision], runs: Iterable[RunRecord], since: datetime | None) -> Stats:
    """Return the sums of what began or ended since a time; what arrived before it counts for the waits that ended.

    Of the `runs`, the operator's own checks count as failures only: they are no agents'.
    """
    decisions, runs = list(made), [run for run in runs if since is None or run.started_at >= since]
    recent = [each for each in decisions if since is None or each.made_at >= since]
    begin = None
    if since is not None:
        begin = Timestamp.of(since)
    days, counted = _waits(decisions, since), _failed_in_decision(decisions)
    return Stats(
        since=begin,
        throughput=_throughput(recent, sum(run.stage != CHECK for run in runs)),
        waits=spread(wait for waits in days.values() for wait in waits),
        days=tuple(DayWaits(day=day, times=spread(waits)) for day, waits in sorted(days.items())),
        plugins=_plugins(recent, runs),
        failures=_failures(recent, [run for run in runs if run.id not in counted]),
    )


def words(failure: FailureCount) -> str:
    """Return what failed, as it reads before its name."""
    one, many = _WORDS[failure.kind]
    return one if failure.count == 1 else many


def without_own_notices(made: Iterable[TimedDecision]) -> list[TimedDecision]:
    """Return the decisions without what became of prloom's own notices of new drafts."""
    kept, own = [], set()
    for each in made:
        changes = each.decision.changes
        own |= {change.event_id for change in changes if change.intake and change.intake.type == PLAN_CREATED}
        others = tuple(change for change in changes if change.event_id not in own)
        kept.append(each._replace(decision=replace(each.decision, changes=others)))
    return kept


def spread(milliseconds: Iterable[int]) -> Spread:
    """Return how times are spread, each percentile by the nearest rank."""
    ordered = sorted(milliseconds)
    if not ordered:
        return Spread(count=0, p50_ms=None, p95_ms=None, longest_ms=None)
    return Spread(count=len(ordered), p50_ms=_rank(ordered, 50), p95_ms=_rank(ordered, 95), longest_ms=ordered[-1])


def _rank(ordered: Sequence[int], percent: int) -> int:
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _throughput(made: Sequence[TimedDecision], runs: int) -> Throughput:
    states = Counter(change.state for each in made for change in each.decision.changes)
    steps = [each.decision.work for each in made if each.decision.work is not None]
    deliveries = [change for each in made for change in each.decision.deliveries]
    return Throughput(
        events_in=sum(change.intake is not None for each in made for change in each.decision.changes),
        handled=states["handled"],
        triaged=states["triaged"],
        dropped=states["dropped"],
        superseded=states["superseded"],
        todos_done=sum(step.box == "done" for step in steps),
        actions_delivered=sum(change.state == "delivered" for change in deliveries),
        runs=runs,
    )


def _waits(made: Iterable[TimedDecision], since: datetime | None) -> dict[str, list[int]]:
    """Return how long each event that ended since a time had been there, by day, as far as its arrival is known."""
    arrived: dict[tuple[str, str], datetime] = {}
    found: dict[str, list[int]] = {}
    for each in made:
        for change in each.decision.changes:
            key = (each.plan, change.event_id)
            if change.intake is not None:
                arrived[key] = each.made_at
            if change.state in DONE and key in arrived:
                begun = arrived.pop(key)
                if since is None or each.made_at >= since:
                    day = each.made_at.astimezone(UTC).date().isoformat()
                    found.setdefault(day, []).append((each.made_at - begun) // _MILLISECOND)
    return found


def _plugins(made: Iterable[TimedDecision], runs: Iterable[RunRecord]) -> tuple[PluginTimes, ...]:
    """Return the times of plugins, the slowest first."""
    asked = costs.groups((run for run in runs if run.plugin is not None), lambda run: str(run.plugin))
    times: dict[str, list[int]] = {}
    failures: Counter[str] = Counter()
    for each in made:
        if each.decision.duration_ms is not None:
            times.setdefault(each.decision.by, []).append(each.decision.duration_ms)
        if _is_failed_hook(each.decision):
            failures[each.decision.by] += 1
    found = []
    for name in dict.fromkeys((*times, *asked)):
        took = costs.total(asked.get(name, ()), name)
        found.append(
            PluginTimes(
                plugin=name,
                times=spread(times.get(name, ())),
                failures=failures[name],
                runs=took.runs,
                cost_usd=took.cost_usd,
            )
        )
    return tuple(sorted(found, key=lambda plugin: -(plugin.times.p95_ms or 0)))


def _is_failed_hook(decision: Decision) -> bool:
    """Whether a hook of a plugin failed: then the reason names the hook, which that of its own mark does not."""
    if decision.duration_ms is None:
        return False
    return any(decision.stage in (change.reason or "") for change in decision.changes)


def _failures(made: Iterable[TimedDecision], runs: Iterable[RunRecord]) -> tuple[FailureCount, ...]:
    """Return what failed, the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for each in made:
        counts.update(("delivery", each.plan) for change in each.decision.deliveries if change.state == "failed")
        counts.update(("parked", each.decision.by) for change in each.decision.changes if change.state == "parked")
        if any(change.verdict == "failed" for change in each.decision.changes):
            counts["triage", each.decision.by] += 1
        step = each.decision.work
        if step is not None and step.verdict in _FAILED:
            agent = step.work.agent if step.work is not None else None
            counts["attempt", agent or each.decision.by] += 1
        elif step is not None and step.verdict == "parked":
            counts["parked", each.decision.by] += 1
        if _is_failed_hook(each.decision):
            counts["hook", each.decision.by] += 1
    counts.update(("run", run.stage) for run in runs if run.status == "failed")
    return tuple(FailureCount(kind=kind, name=name, count=count) for (kind, name), count in counts.most_common())


def _failed_in_decision(made: Iterable[TimedDecision]) -> set[str]:
    """Return the runs whose failure a decision tells of: that of a triage, or of an attempt at a TODO."""
    started: dict[str, str] = {}
    found: set[str] = set()
    for plan, _, decision in made:
        if decision.run is not None and any(change.verdict in {"failed", "parked"} for change in decision.changes):
            found.add(decision.run)
        step = decision.work
        if step is not None and step.verdict == "started" and step.work is not None and step.work.run is not None:
            started[plan] = step.work.run
        elif step is not None and (step.verdict in _FAILED or step.verdict == "parked") and plan in started:
            found.add(started[plan])
    return found
