"""Decide the actions whose target no bridge claims: a plan is written into the inbox, everything else fails visibly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from prloom.core.delivery import outbox
from prloom.engine.bus import plans, upserts
from prloom.engine.plan.action_hooks import ActionHooks
from prloom.engine.plan.dependencies import BackgroundTasks
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import PrloomError
from prloom.model.action import Action, UpsertPlan
from prloom.model.decision import DeliveryChange
from prloom.model.hook_points import BEFORE_UPSERT
from prloom.model.record import Timestamp
from prloom.model.state import QueuedAction, Receipt

NO_BRIDGE: Final = "nobody"
"""The name in the log for a target that no bridge claims."""


def begin(runtime: PlanRuntime, batch: Sequence[QueuedAction], tasks: BackgroundTasks, hooks: ActionHooks) -> bool:
    """Decide these actions, beside everything else where plugins are to look at plans; return whether that began."""
    if not hooks.has(BEFORE_UPSERT, runtime.rules):
        runtime.event_store.commit("deliver", NO_BRIDGE, deliveries=tuple(_end(runtime, queued) for queued in batch))
        return True
    if (NO_BRIDGE, False) in runtime.in_flight.deliveries:
        return False
    runtime.in_flight.deliveries.add((NO_BRIDGE, False))
    tasks.spawn(runtime, partial(_decide, runtime, batch, hooks))
    return True


async def _decide(runtime: PlanRuntime, batch: Sequence[QueuedAction], hooks: ActionHooks) -> None:
    """Have plugins look at the plans among these actions, and decide each. Nothing is retried by itself."""
    try:
        for queued in batch:
            store = runtime.event_store
            action = store.action(queued.position)
            end = None
            if action is not None and isinstance(action.payload, UpsertPlan):
                try:
                    end = _written(runtime, queued, await hooks.upsert(runtime, action.payload))
                except PrloomError as refusal:
                    end = _refused(runtime, queued, str(refusal))
            runtime.event_store.commit("deliver", NO_BRIDGE, deliveries=(end or _end(runtime, queued),))
    finally:
        runtime.in_flight.deliveries.discard((NO_BRIDGE, False))


def _end(runtime: PlanRuntime, queued: QueuedAction) -> DeliveryChange:
    action: Action | None = runtime.event_store.action(queued.position)
    if action is not None and isinstance(action.payload, UpsertPlan):
        return _written(runtime, queued, action.payload)
    way_on = f"enable one in prloom.toml, then `prloom retry {queued.id}`"
    return _refused(runtime, queued, f"no bridge claims the target {queued.target!r}; {way_on}")


def _written(runtime: PlanRuntime, queued: QueuedAction, payload: UpsertPlan) -> DeliveryChange:
    """Write a plan into the inbox, and return the end of its action."""
    try:
        where = plans.locate(runtime.folders.repo_root, runtime.rules.config.worktrees_dir)
        plan_id = upserts.write(where, payload)
    except PrloomError as refusal:
        return _refused(runtime, queued, str(refusal))
    now = Timestamp.of(runtime.event_store.clock())
    return outbox.delivered(queued, Receipt(queued.id, now, remote_id=plan_id))


def _refused(runtime: PlanRuntime, queued: QueuedAction, error: str) -> DeliveryChange:
    store, policy = runtime.event_store, runtime.rules.backoff
    return outbox.refused(queued, error, retryable=False, retry_after=None, now=store.clock(), policy=policy)
