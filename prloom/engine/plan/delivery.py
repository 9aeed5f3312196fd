"""Deliver a plan's actions through the bridges: each with its own attempts, and each once."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec.structs import replace

from prloom import errors
from prloom.api.bridge import BridgeContext, Delivered, DeliversBatches, Refused
from prloom.api.forge import Forge
from prloom.backoff import Backoff
from prloom.core.delivery import outbox, reply_limit
from prloom.core.pull_requests import signature
from prloom.core.text import naming, secret_scan
from prloom.engine.bus import receipts
from prloom.engine.bus.event_store import EventStore
from prloom.engine.plan import unclaimed_actions
from prloom.engine.plan.action_hooks import ActionHooks
from prloom.engine.plan.dependencies import BackgroundTasks, BridgeAccess
from prloom.engine.plan.runtime import PlanRuntime
from prloom.extensions import bridge_calls, bridge_results
from prloom.extensions.bridges import LoadedBridge
from prloom.model.action import Action, Payload
from prloom.model.decision import DeliveryChange
from prloom.model.hook_points import BEFORE_ROUTE
from prloom.model.record import Timestamp
from prloom.model.state import DeliveryState, QueuedAction, Receipt

log = logging.getLogger(__name__)

LIMIT = timedelta(seconds=60)
"""How long one delivery may take."""

BATCH = 100
"""Actions that are delivered in one go through a bridge that takes several; and those that are decided in one go."""

TOO_MANY = "too many acknowledgements at once"

DeliveryResult = Delivered | Refused


def begin(
    runtime: PlanRuntime, bridges: BridgeAccess, tasks: BackgroundTasks, hooks: ActionHooks, now: datetime
) -> bool:
    """Begin to deliver the actions that are due, a few through each bridge; return whether there were any."""
    by_bridge: dict[tuple[str, bool], list[str]] = {}
    unclaimed: list[QueuedAction] = []
    for action in outbox.ready(runtime.event_store.state.queue.values(), now, clock=runtime.clock()):
        bridge = bridges.loaded.claimant(action.target)
        if bridge is None:
            unclaimed.append(action)
        elif (bridge.name, action.courtesy) not in runtime.in_flight.deliveries:
            by_bridge.setdefault((bridge.name, action.courtesy), []).append(action.id)
    for name, low_priority in sorted(by_bridge, key=lambda key: key[1]):
        runtime.in_flight.deliveries.add((name, low_priority))
        ids = by_bridge[name, low_priority]
        tasks.spawn(runtime, partial(_deliver_all, runtime, bridges, name, ids, hooks=hooks, low_priority=low_priority))
    waiting = bool(unclaimed) and unclaimed_actions.begin(runtime, unclaimed[:BATCH], tasks, hooks)
    return bool(waiting or by_bridge)


async def _deliver_all(
    runtime: PlanRuntime,
    bridges: BridgeAccess,
    name: str,
    action_ids: list[str],
    *,
    hooks: ActionHooks,
    low_priority: bool,
) -> None:
    """Deliver actions through one bridge, in the batches that it takes: one by one, or many at once."""
    bridge = next(bridge for bridge in bridges.loaded.loaded if bridge.name == name)
    size = 1
    if isinstance(bridge.bridge, DeliversBatches):
        size = BATCH
    batches = deque(action_ids[start : start + size] for start in range(0, len(action_ids), size))
    try:
        while batches:
            batch = batches.popleft()
            async with bridges.limiter.slot(name, runtime.clock, low_priority=low_priority) as allowed:
                if not allowed:
                    _drop(runtime.event_store, name, batch)
                    continue
                secrets = await bridges.secrets(name)
                routed = await _routed(runtime, bridge, batch, hooks, secrets)
                alone = await _deliver(runtime, bridge, routed, bridges.context(name), secrets)
                batches.extendleft([action_id] for action_id in reversed(alone))
                await asyncio.sleep(0)  # a bridge that never waits, such as one to a file, would hold up all else
    finally:
        runtime.in_flight.deliveries.discard((name, low_priority))


def _drop(store: EventStore, bridge: str, action_ids: Sequence[str]) -> None:
    """End acknowledgements without another attempt: nobody waits for them."""
    queue = store.state.queue
    dropped = tuple(outbox.dropped(queue[each], TOO_MANY) for each in action_ids if each in queue)
    store.commit("deliver", bridge, deliveries=dropped)


async def _deliver(
    runtime: PlanRuntime,
    bridge: LoadedBridge,
    batch: Mapping[str, Action | None],
    context: BridgeContext,
    secrets: Mapping[str, str],
) -> Sequence[str]:
    """Try the actions of a batch once; return those to try alone, because the bridge failed on several at once.

    The batch maps ids to the actions as plugins have changed them, or to what stands in the log where none has.
    `secrets` are values that must not get out, each by what it is.
    """
    store, local = runtime.event_store, runtime.folders.local
    queue = store.state.queue
    queued = [queue[action_id] for action_id in batch if action_id in queue and not queue[action_id].failed]
    state = receipts.load(local, bridge.name, runtime.clock())
    ends = {each.id: _end(store, each, state, secrets) for each in queued}
    limit = runtime.rules.config.limits.max_replies_per_thread_per_day
    free = [each for each in queued if ends[each.id] is None]
    ends.update(reply_limit.over_limit(store.state.replies, free, limit, runtime.clock()))
    over = tuple(end for end in ends.values() if end is not None)
    if over:
        store.commit("deliver", bridge.name, deliveries=over)
    sending = [each for each in queued if ends[each.id] is None]
    if not sending:
        return ()
    uncertain = any(receipts.in_doubt(state, each) for each in sending)
    receipts.save(local, bridge.name, outbox.with_attempts(state, [each.id for each in sending], runtime.clock()))
    context = dataclasses.replace(context, now=runtime.clock(), plan=runtime.tracked, uncertain=uncertain)
    mark = ""
    if isinstance(bridge.bridge, Forge):
        mark = signature.short(runtime.rules.config.outbox.signature)
    as_sent = partial(_as_sent, state=state, mark=mark)
    results = await _send(store, bridge, sending, batch, context, as_sent=as_sent)
    if results is None:  # one of them may be what the bridge failed on, and the others must not wait for it
        return [each.id for each in sending]
    # The store may have been opened anew meanwhile.
    _settle(runtime, bridge.name, results)
    return ()


async def _routed(
    runtime: PlanRuntime, bridge: LoadedBridge, batch: Sequence[str], hooks: ActionHooks, secrets: Mapping[str, str]
) -> dict[str, Action | None]:
    """Return the actions of a batch that may be sent, each as plugins have changed it; the others are refused.

    Without a hook an action is None: what stands in the log is sent.
    """
    if not hooks.has(BEFORE_ROUTE, runtime.rules):
        return dict.fromkeys(batch)
    routed: dict[str, Action | None] = {}
    for action_id in batch:
        queued = runtime.event_store.state.queue.get(action_id)
        action = None
        if queued is not None and not queued.failed:
            action = runtime.event_store.action(queued.position)
        if queued is None or action is None:
            routed[action_id] = None
            continue
        result = await hooks.route(runtime, action, secrets)
        if isinstance(result, Action):
            routed[action_id] = result
        else:
            refusal = _refusal(runtime.event_store, queued, result, runtime.rules.backoff)
            runtime.event_store.commit("deliver", bridge.name, deliveries=(refusal,))
    return routed


def _end(
    store: EventStore, queued: QueuedAction, state: DeliveryState, secrets: Mapping[str, str]
) -> DeliveryChange | None:
    """Return the end of an action that is not sent, or None for one that is to be sent."""
    if outbox.too_late(queued, store.clock()):
        return outbox.dropped(queued, "it is too late for a quick reaction")
    earlier = next((receipt for receipt in state.receipts if receipt.action_id == queued.id), None)
    if earlier is not None:  # it arrived, and the end came before that was decided
        return outbox.delivered(queued, earlier)
    if queued.released:
        return None
    action = store.action(queued.position)
    if action is None:
        return None
    found = secret_scan.in_action(action, secrets)
    if not found:
        return None
    what = " and ".join(found)
    log.warning("action %s of plan %s is withheld because it contains %s", queued.id, store.plan_id, what)
    return outbox.withheld(queued, found)


async def _send(
    store: EventStore,
    bridge: LoadedBridge,
    batch: Sequence[QueuedAction],
    changed: Mapping[str, Action | None],
    context: BridgeContext,
    *,
    as_sent: Callable[[Payload, str | None], Payload],
) -> list[tuple[QueuedAction, DeliveryResult]] | None:
    """Hand the actions to the bridge and return what became of each; None where it failed on several at once."""
    readable = []
    for queued in batch:
        action = changed.get(queued.id) or store.action(queued.position)
        if action is not None:
            readable.append(replace(action, payload=as_sent(action.payload, queued.commit)))
    results = await _results(bridge, readable, context)
    if results is None:
        return None
    found = {action.id: result for action, result in zip(readable, results, strict=True)}
    lost = Refused("its line in actions.jsonl cannot be read; `prloom doctor` names it")
    return [(queued, found.get(queued.id, lost)) for queued in batch]


def _as_sent(payload: Payload, commit: str | None, *, state: DeliveryState, mark: str) -> Payload:
    """Return a payload as a bridge gets it: about the commit of earlier attempts, in its place, and signed."""
    return signature.signed(outbox.placed(outbox.keep_commit(payload, commit), state), mark)


async def _results(
    bridge: LoadedBridge, actions: Sequence[Action], context: BridgeContext
) -> Sequence[DeliveryResult] | None:
    """Return one result for each action; None where the bridge failed on several at once."""
    together = bridge.bridge
    if len(actions) < 2 or not isinstance(together, DeliversBatches):  # noqa: PLR2004
        return [_checked(bridge.name, await _bounded(bridge.bridge.actions, context, action)) for action in actions]
    results = await _bounded(together.deliver_batch, context, actions)
    if isinstance(results, Sequence) and len(results) == len(actions):
        fitting = [result for result in results if isinstance(result, Delivered | Refused)]
        if len(fitting) == len(actions):
            return [_checked(bridge.name, result) for result in fitting]
    problem = "it did not return one result for each action"
    if isinstance(results, Refused):
        problem = results.error
    log.warning("bridge %s: deliver_batch: %s; %d actions are sent one by one", bridge.name, problem, len(actions))
    return None


def _checked(bridge: str, result: object) -> DeliveryResult:
    """Return what a bridge returned for an action; it is refused where that is not what the protocol says."""
    if not isinstance(result, Delivered | Refused):
        return Refused(f"the bridge {bridge} returned {type(result).__name__}, not Delivered or Refused", unknown=True)
    wrong = bridge_results.problem(result)
    if wrong is not None:
        return Refused(f"the bridge {bridge} returned a wrong field: {wrong}; correct the bridge", unknown=True)
    return result


async def _bounded(send: Callable[..., Awaitable[object]], *given: object) -> object:
    """Call a bridge; whatever goes wrong in there is a refusal with an unknown outcome."""
    limit = asyncio.timeout(LIMIT.total_seconds())
    try:
        async with limit:
            return await bridge_calls.wait(send, *given)
    except Exception as error:  # noqa: BLE001 - a stranger's code: its failure is this action's only
        late = f"no answer within {LIMIT.total_seconds():.0f} s"
        if limit.expired():
            text = late
        else:
            text = errors.describe(error)
        return Refused(text, retryable=True, unknown=True)


def _settle(runtime: PlanRuntime, bridge: str, results: Sequence[tuple[QueuedAction, DeliveryResult]]) -> None:
    """Write the receipts first and then decide: a receipt alone is enough to know that the action arrived."""
    store, local = runtime.event_store, runtime.folders.local
    before = state = receipts.load(local, bridge, store.clock())
    decided: list[DeliveryChange] = []
    for sent, result in results:
        queued = store.state.queue.get(sent.id, sent)
        if isinstance(result, Delivered):
            receipt = Receipt(queued.id, Timestamp.of(store.clock()), result.url, result.remote_id)
            state = outbox.receipted(state, receipt)
            decided.append(outbox.delivered(queued, receipt))
            continue
        if not result.unknown:
            kept = {key: attempt for key, attempt in state.attempts.items() if key != queued.id}
            state = replace(state, attempts=kept)
        decided.append(_refusal(store, queued, result, runtime.rules.backoff))
    if state is not before:
        receipts.save(local, bridge, state)
    store.commit("deliver", bridge, deliveries=tuple(decided))


def _refusal(store: EventStore, queued: QueuedAction, result: Refused, policy: Backoff) -> DeliveryChange:
    delivery = outbox.refused(
        queued,
        secret_scan.masked(result.error),
        retryable=result.retryable,
        retry_after=result.retry_after,
        now=store.clock(),
        policy=policy,
        commit=naming.commit_id(result.commit),
    )
    level = logging.WARNING
    if queued.courtesy:
        level = logging.INFO
    log.log(level, "action %s of plan %s: %s: %s", queued.id, store.plan_id, delivery.state, result.error)
    return delivery
