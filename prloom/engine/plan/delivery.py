"""Deliver a plan's actions through the bridges: each with its own attempts, and each once."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections import deque
from collections.abc import Awaitable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec.structs import replace

from prloom import errors
from prloom.api.bridge import BridgeContext, Delivered, DeliversBatches, Refused
from prloom.core import naming, outbox, secret_scan
from prloom.engine.bus import receipts
from prloom.engine.plan.dependencies import PlanDependencies
from prloom.engine.plan.runtime import PlanRuntime
from prloom.extensions.bridges import LoadedBridge
from prloom.model import record
from prloom.model.action import Action
from prloom.model.decision import DeliveryChange
from prloom.model.state import Attempt, DeliveryState, QueuedAction, Receipt

log = logging.getLogger(__name__)

LIMIT = timedelta(seconds=60)
"""How long one delivery may take."""

BATCH = 100
"""Actions that are delivered in one go through a bridge that takes several; and those that are decided in one go."""

NOBODY = "nobody"
"""Who is named where no bridge claims a target."""

Result = Delivered | Refused


def begin(runtime: PlanRuntime, dependencies: PlanDependencies, now: datetime) -> bool:
    """Begin to deliver the actions that are due, a few through each bridge; return whether there were any."""
    by_bridge: dict[tuple[str, bool], list[QueuedAction]] = {}
    unclaimed: list[QueuedAction] = []
    for action in outbox.ready(runtime.event_store.state.queue.values(), now, clock=runtime.clock()):
        bridge = dependencies.bridges.claimant(action.target)
        if bridge is None:
            unclaimed.append(action)
        elif (bridge.name, action.courtesy) not in runtime.delivering:
            by_bridge.setdefault((bridge.name, action.courtesy), []).append(action)
    for name, courtesy in sorted(by_bridge, key=lambda key: key[1]):
        runtime.delivering.add((name, courtesy))
        ids = [action.id for action in by_bridge[name, courtesy]]
        dependencies.spawn(runtime, partial(_delivering, runtime, name, ids, dependencies, courtesy=courtesy))
    if unclaimed:
        fail_unclaimed(runtime, unclaimed[:BATCH])
    return bool(unclaimed or by_bridge)


TOO_MANY = "too many acknowledgements at once"


async def _delivering(
    runtime: PlanRuntime, name: str, action_ids: list[str], dependencies: PlanDependencies, *, courtesy: bool
) -> None:
    bridge = next(bridge for bridge in dependencies.bridges.loaded if bridge.name == name)
    if courtesy:
        turn = dependencies.turns.last
    else:
        turn = dependencies.turns.first
    size = 1
    if isinstance(bridge.bridge, DeliversBatches):
        size = BATCH
    batches = deque(action_ids[start : start + size] for start in range(0, len(action_ids), size))
    try:
        while batches:
            batch = batches.popleft()
            async with turn(name):
                if courtesy and not dependencies.turns.count(name, runtime.clock()):
                    drop(runtime, name, batch, TOO_MANY)
                    continue
                alone = await deliver(
                    runtime, bridge, batch, dependencies.context(name), await dependencies.secrets(name)
                )
                batches.extendleft([action_id] for action_id in reversed(alone))
                await asyncio.sleep(0)  # a bridge that never waits, such as one to a file, would hold up all else
    finally:
        runtime.delivering.discard((name, courtesy))


async def deliver(
    runtime: PlanRuntime, bridge: LoadedBridge, batch: Sequence[str], context: BridgeContext, secrets: Mapping[str, str]
) -> Sequence[str]:
    """Try the actions of a batch once; return those to try alone, because the bridge failed on several at once.

    `secrets` are values that must not get out, each by what it is.
    """
    queue = runtime.event_store.state.queue
    queued = [queue[action_id] for action_id in batch if action_id in queue and not queue[action_id].failed]
    return await _attempt(runtime, bridge, queued, context, secrets)


def drop(runtime: PlanRuntime, bridge: str, action_ids: Sequence[str], reason: str) -> None:
    """End these actions without another attempt: nobody waits for them."""
    queue = runtime.event_store.state.queue
    _decide(runtime, bridge, *(outbox.dropped(queue[each], reason) for each in action_ids if each in queue))


async def _attempt(
    runtime: PlanRuntime,
    bridge: LoadedBridge,
    batch: Sequence[QueuedAction],
    context: BridgeContext,
    secrets: Mapping[str, str],
) -> Sequence[str]:
    state = receipts.load(runtime.local, bridge.name, runtime.clock())
    ends = {queued.id: _end(runtime, queued, state, secrets) for queued in batch}
    over = tuple(end for end in ends.values() if end is not None)
    if over:
        _decide(runtime, bridge.name, *over)
    sending = [queued for queued in batch if ends[queued.id] is None]
    if not sending:
        return ()
    uncertain = any(_uncertain(state, queued) for queued in sending)
    begun = {queued.id: _begun(runtime, state, queued) for queued in sending}
    receipts.save(runtime.local, bridge.name, replace(state, attempts={**state.attempts, **begun}))
    results = await _send(runtime, bridge, sending, _context(context, runtime, uncertain=uncertain))
    if results is None:  # one of them may be what the bridge failed on, and the others must not wait for it
        return [queued.id for queued in sending]
    _settle(runtime, bridge.name, results)
    return ()


def _end(
    runtime: PlanRuntime, queued: QueuedAction, state: DeliveryState, secrets: Mapping[str, str]
) -> DeliveryChange | None:
    """Return the end of an action that is not sent, or None for one that is to be sent."""
    if outbox.too_late(queued, runtime.clock()):
        return outbox.dropped(queued, "it is too late for a quick reaction")
    earlier = next((receipt for receipt in state.receipts if receipt.action_id == queued.id), None)
    if earlier is not None:  # it arrived, and the end came before that was decided
        return outbox.delivered(queued, earlier)
    return _withheld(runtime, queued, secrets)


def _withheld(runtime: PlanRuntime, queued: QueuedAction, secrets: Mapping[str, str]) -> DeliveryChange | None:
    """Keep an action back that would publish a secret."""
    if queued.released:
        action = None
    else:
        action = runtime.event_store.action(queued.position)
    found = () if action is None else secret_scan.in_action(action, secrets)
    if not found:
        return None
    log.warning("action %s of plan %s is withheld because it contains %s", queued.id, runtime.id, " and ".join(found))
    return outbox.withheld(queued, found)


def _uncertain(state: DeliveryState, queued: QueuedAction) -> bool:
    """Whether an earlier attempt may have reached its target."""
    begun = state.attempts.get(queued.id)
    return begun is not None or receipts.in_doubt(state, queued)


def _begun(runtime: PlanRuntime, state: DeliveryState, queued: QueuedAction) -> Attempt:
    earlier = state.attempts.get(queued.id)
    if earlier is not None:
        count = earlier.count
    else:
        count = 0
    return Attempt(count + 1, record.iso(runtime.clock()))


def _context(context: BridgeContext, runtime: PlanRuntime, *, uncertain: bool) -> BridgeContext:
    """Return the context of one delivery."""
    return dataclasses.replace(context, now=runtime.clock(), plan=runtime.tracked, uncertain=uncertain)


async def _send(
    runtime: PlanRuntime, bridge: LoadedBridge, batch: Sequence[QueuedAction], context: BridgeContext
) -> list[tuple[QueuedAction, Result]] | None:
    """Hand the actions to the bridge and return what became of each; None where it failed on several at once."""
    actions = {queued.id: _action(runtime, queued) for queued in batch}
    readable = [action for action in actions.values() if action is not None]
    results = await _results(bridge, readable, context)
    if results is None:
        return None
    found = {action.id: result for action, result in zip(readable, results, strict=True)}
    lost = Refused("its line in actions.jsonl cannot be read; `prloom doctor` names it")
    return [(queued, found.get(queued.id, lost)) for queued in batch]


def _action(runtime: PlanRuntime, queued: QueuedAction) -> Action | None:
    """Return the action with the commit that earlier attempts were about; None where it cannot be read."""
    action = runtime.event_store.action(queued.position)
    if action is None:
        return None
    return replace(action, payload=outbox.keep_commit(action.payload, queued.commit))


async def _results(bridge: LoadedBridge, actions: Sequence[Action], context: BridgeContext) -> Sequence[Result] | None:
    """Return one result for each action; None where the bridge failed on several at once."""
    together = bridge.bridge
    if len(actions) < 2 or not isinstance(together, DeliversBatches):  # noqa: PLR2004
        return [await _alone(bridge, action, context) for action in actions]
    results = await _bounded(together.deliver_batch(context, actions))
    if isinstance(results, Sequence) and len(results) == len(actions):
        fitting = [result for result in results if isinstance(result, Delivered | Refused)]
        if len(fitting) == len(actions):
            return fitting
    problem = "it did not return one result for each action"
    if isinstance(results, Refused):
        problem = results.error
    log.warning("bridge %s: deliver_batch: %s; %d actions are sent one by one", bridge.name, problem, len(actions))
    return None


async def _alone(bridge: LoadedBridge, action: Action, context: BridgeContext) -> Result:
    result = await _bounded(bridge.bridge.actions(context, action))
    if isinstance(result, Delivered | Refused):
        return result
    return Refused(f"the bridge returned {type(result).__name__}, not Delivered or Refused", unknown=True)


async def _bounded(sending: Awaitable[object]) -> object:
    """Wait for a bridge; whatever goes wrong in there is a refusal with an unknown outcome."""
    limit = asyncio.timeout(LIMIT.total_seconds())
    try:
        async with limit:
            return await sending
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's code: its failure is this action's only
        late = f"no answer within {LIMIT.total_seconds():.0f} s"
        if limit.expired():
            text = late
        else:
            text = errors.describe(error)
        return Refused(text, retryable=True, unknown=True)


def _settle(runtime: PlanRuntime, bridge: str, results: Sequence[tuple[QueuedAction, Result]]) -> None:
    """Write the receipts first and then decide: a receipt alone is enough to know that the action arrived."""
    before = state = receipts.load(runtime.local, bridge, runtime.clock())
    decided: list[DeliveryChange] = []
    for sent, result in results:
        queued = runtime.event_store.state.queue.get(sent.id, sent)
        if isinstance(result, Delivered):
            receipt = Receipt(queued.id, record.iso(runtime.clock()), result.url, result.remote_id)
            state = outbox.receipted(state, receipt)
            decided.append(outbox.delivered(queued, receipt))
            continue
        if not result.unknown:
            kept = {key: attempt for key, attempt in state.attempts.items() if key != queued.id}
            state = replace(state, attempts=kept)
        decided.append(_refusal(runtime, queued, result))
    if state is not before:
        receipts.save(runtime.local, bridge, state)
    _decide(runtime, bridge, *decided)


def _refusal(runtime: PlanRuntime, queued: QueuedAction, result: Refused) -> DeliveryChange:
    delivery = outbox.refused(
        queued,
        secret_scan.masked(result.error),
        retryable=result.retryable,
        retry_after=result.retry_after,
        now=runtime.clock(),
        policy=runtime.rules.backoff,
        commit=naming.commit_id(result.commit),
    )
    if queued.courtesy:
        level = logging.INFO
    else:
        level = logging.WARNING
    log.log(level, "action %s of plan %s: %s: %s", queued.id, runtime.id, delivery.state, result.error)
    return delivery


def fail_unclaimed(runtime: PlanRuntime, batch: Sequence[QueuedAction]) -> None:
    """Decide actions whose target no bridge claims: failed, visible, not retried."""
    now, policy = runtime.clock(), runtime.rules.backoff
    decided = []
    for queued in batch:
        remedy = f"enable one in prloom.toml, then `prloom retry {queued.id}`"
        error = f"no bridge claims the target {queued.target!r}; {remedy}"
        decided.append(outbox.refused(queued, error, retryable=False, retry_after=None, now=now, policy=policy))
    _decide(runtime, NOBODY, *decided)


def _decide(runtime: PlanRuntime, by: str, *deliveries: DeliveryChange) -> None:
    runtime.event_store.commit("deliver", by, deliveries=deliveries)
