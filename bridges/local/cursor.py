"""Read and write the bridge's cursor: what was asked of each plan, also of those whose worktree is away for a while."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prloom.api import Json, TrackedPlan

_AWAY = 50  # plans that are not there, and of which it is kept what was asked

Requested = dict[str, Json]
"""The requests of each plan, as `requested_items.dump` returns them; None where none are known."""


def requested(state: Json, plans: Sequence[TrackedPlan]) -> Requested:
    """Return what was asked of these plans; nothing of one that was given up and made anew since."""
    found, adopted = mapping(mapping(state).get("asked")), mapping(mapping(state).get("adopted"))
    known: Requested = {}
    for plan in plans:
        known[plan.id] = None
        if adopted.get(plan.id, plan.adopted) == plan.adopted:
            known[plan.id] = found.get(plan.id)
    return known


def problems(state: Json) -> Mapping[str, Json]:
    """Return why files could not be read at the last poll, by plan."""
    return mapping(mapping(state).get("troubles"))


def dump(before: Json, plans: Sequence[TrackedPlan], now: Requested, problems: Mapping[str, str]) -> Json:
    """Return the cursor after a poll of these plans, given the one before it.

    Of the other plans it keeps those that were there last.
    """
    found, adopted = mapping(mapping(before).get("asked")), mapping(mapping(before).get("adopted"))
    away = [plan_id for plan_id in found if plan_id not in now][:_AWAY]
    since: dict[str, Json] = {plan.id: plan.adopted for plan in plans if plan.adopted is not None}
    return {
        "asked": {**now, **{plan_id: found[plan_id] for plan_id in away}},
        "adopted": {**since, **{plan_id: adopted[plan_id] for plan_id in away if plan_id in adopted}},
        "troubles": dict(problems),
    }


def mapping(value: Json) -> Mapping[str, Json]:
    """Return an object of JSON; an empty one in the place of anything else."""
    if isinstance(value, dict):
        return value
    return {}
