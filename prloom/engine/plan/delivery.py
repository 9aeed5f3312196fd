"""Deliver a plan's actions through the bridges: each with its own attempts, and each once."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta

from msgspec.structs import replace

from prloom.api.bridge import BridgeContext, Delivered, Refused
from prloom.core import leaks, outbox
from prloom.engine.bus import receipts
from prloom.engine.plan.desk import Desk
from prloom.extensions.bridges import LoadedBridge
from prloom.model import record
from prloom.model.decision import Delivery
from prloom.model.state import Attempt, QueuedAction, Receipt

log = logging.getLogger(__name__)

LIMIT = timedelta(seconds=60)
"""How long one delivery may take."""

NOBODY = "nobody"
"""Who is named where no bridge claims a target."""


async def deliver(
    desk: Desk, bridge: LoadedBridge, action_ids: Sequence[str], context: BridgeContext, secrets: Mapping[str, str]
) -> None:
    """Try each of these actions once, in order; a failure of one is that one's own.

    `secrets` are values that must not get out, each by what it is.
    """
    for action_id in action_ids:
        queued = desk.ledger.state.queue.get(action_id)
        if queued is not None and not queued.failed:
            await _attempt(desk, bridge, queued, context, secrets)


def _withheld(desk: Desk, bridge: str, queued: QueuedAction, secrets: Mapping[str, str]) -> bool:
    """Keep an action back that would publish a secret, and return whether it is one."""
    action = None if queued.released else desk.ledger.action(queued.position)
    found = () if action is None else leaks.in_action(action, secrets)
    if found:
        log.warning("action %s of plan %s is withheld, for it holds %s", queued.id, desk.id, " and ".join(found))
        _decide(desk, bridge, outbox.withheld(queued, found))
    return bool(found)


async def _attempt(
    desk: Desk, bridge: LoadedBridge, queued: QueuedAction, context: BridgeContext, secrets: Mapping[str, str]
) -> None:
    if outbox.too_late(queued, desk.clock()):
        _decide(desk, bridge.name, outbox.dropped(queued, "it came too late to be a quick sign"))
        return
    state = receipts.load(desk.local, bridge.name, desk.clock())
    earlier = next((receipt for receipt in state.receipts if receipt.action_id == queued.id), None)
    if earlier is not None:  # it arrived, and the end came before that was decided
        _decide(desk, bridge.name, outbox.delivered(queued, earlier))
        return
    if _withheld(desk, bridge.name, queued, secrets):
        return
    begun = state.attempts.get(queued.id)
    uncertain = begun is not None or receipts.in_doubt(state, queued)
    attempt = Attempt((begun.count if begun else 0) + 1, record.iso(desk.clock()))
    receipts.save(desk.local, bridge.name, replace(state, attempts={**state.attempts, queued.id: attempt}))
    result = await _send(desk, bridge, queued, _context(context, desk, uncertain=uncertain))
    _settle(desk, bridge.name, desk.ledger.state.queue.get(queued.id, queued), result)


def _context(context: BridgeContext, desk: Desk, *, uncertain: bool) -> BridgeContext:
    """Return the context of one delivery."""
    return dataclasses.replace(context, now=desk.clock(), plan=desk.tracked, uncertain=uncertain)


async def _send(desk: Desk, bridge: LoadedBridge, queued: QueuedAction, context: BridgeContext) -> Delivered | Refused:
    """Hand the action to the bridge; whatever goes wrong in there is a refusal with an unknown outcome."""
    action = desk.ledger.action(queued.position)
    if action is None:
        return Refused("its line in actions.jsonl cannot be read; `prloom doctor` names it")
    limit = asyncio.timeout(LIMIT.total_seconds())
    try:
        async with limit:
            result = await bridge.bridge.actions(context, action)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's code: its failure is this action's only
        late = f"no answer within {LIMIT.total_seconds():.0f} s"
        text = late if limit.expired() else f"{type(error).__name__}: {error}"
        return Refused(text, retryable=True, unknown=True)
    if not isinstance(result, Delivered | Refused):
        return Refused(f"the bridge returned {type(result).__name__}, neither Delivered nor Refused", unknown=True)
    return result


def _settle(desk: Desk, bridge: str, queued: QueuedAction, result: Delivered | Refused) -> None:
    """Write the receipt first and then decide: a receipt alone is enough to know that the action arrived."""
    state = receipts.load(desk.local, bridge, desk.clock())
    if isinstance(result, Delivered):
        receipt = Receipt(queued.id, record.iso(desk.clock()), result.url, result.remote_id)
        receipts.save(desk.local, bridge, outbox.receipted(state, receipt))
        _decide(desk, bridge, outbox.delivered(queued, receipt))
        return
    if not result.unknown:
        kept = {key: attempt for key, attempt in state.attempts.items() if key != queued.id}
        receipts.save(desk.local, bridge, replace(state, attempts=kept))
    delivery = outbox.refused(
        queued,
        leaks.masked(result.error),
        retryable=result.retryable,
        retry_after=result.retry_after,
        now=desk.clock(),
        policy=desk.rules.backoff,
    )
    level = logging.INFO if queued.courtesy else logging.WARNING
    log.log(level, "action %s of plan %s: %s: %s", queued.id, desk.id, delivery.state, result.error)
    _decide(desk, bridge, delivery)


def fail_unclaimed(desk: Desk, queued: QueuedAction) -> None:
    """Decide an action whose target no bridge claims: failed, visible, not retried."""
    error = f"no bridge claims the target {queued.target!r}; enable one in prloom.toml, then `prloom retry {queued.id}`"
    refused = outbox.refused(
        queued, error, retryable=False, retry_after=None, now=desk.clock(), policy=desk.rules.backoff
    )
    _decide(desk, NOBODY, refused)


def _decide(desk: Desk, by: str, delivery: Delivery) -> None:
    desk.ledger.commit("deliver", by, deliveries=(delivery,))
