"""Decide the actions whose target no bridge claims: a plan is written into the inbox, everything else fails visibly."""

from __future__ import annotations

from collections.abc import Sequence

from prloom.core import outbox
from prloom.engine.bus import plans, upserts
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import PrloomError
from prloom.model.action import UpsertPlan
from prloom.model.decision import DeliveryChange
from prloom.model.record import Timestamp
from prloom.model.state import QueuedAction, Receipt

NOBODY = "nobody"
"""The name in the log for a target that no bridge claims."""


def decide(runtime: PlanRuntime, batch: Sequence[QueuedAction]) -> None:
    """Decide these actions. Nothing is retried by itself, for nothing would change."""
    runtime.event_store.commit("deliver", NOBODY, deliveries=tuple(_end(runtime, queued) for queued in batch))


def _end(runtime: PlanRuntime, queued: QueuedAction) -> DeliveryChange:
    store = runtime.event_store
    action = store.action(queued.position)
    error = f"no bridge claims the target {queued.target!r}; enable one in prloom.toml, then `prloom retry {queued.id}`"
    if action is not None and isinstance(action.payload, UpsertPlan):
        try:
            where = plans.locate(runtime.folders.repo_root, runtime.rules.config.worktrees_dir)
            plan_id = upserts.write(where, action.payload)
        except PrloomError as refusal:
            error = str(refusal)
        else:
            return outbox.delivered(queued, Receipt(queued.id, Timestamp.of(store.clock()), remote_id=plan_id))
    return outbox.refused(
        queued, error, retryable=False, retry_after=None, now=store.clock(), policy=runtime.rules.backoff
    )
