"""Commit what an agent's run came to: its answer, its failure, or the wait for its usage limit."""

from __future__ import annotations

from prloom.agents.agent import RunResult, Trouble
from prloom.core import breaker, hook_results, triage
from prloom.core.breaker import UsageLimit
from prloom.engine.plan.runtime import PlanRuntime
from prloom.model.decision import Change
from prloom.model.event import Event
from prloom.model.record import Json

_SPEECHLESS: tuple[Trouble, ...] = ("empty", "no_result")
"""What a program came to that ended well and said nothing; it may have written its answer into the file."""

_BY_TEXT: tuple[Trouble, ...] = ("turns", "timeout", "silence", "output", "empty", "no_result", "error", "lost")
"""What a text may bring about (an agent may remove its run's folder, or kill its supervisor).

Of the rest, it is certain that it has nothing to do with it.
"""

_LOST = "its text in events.jsonl has changed since prloom read it"


def fail(runtime: PlanRuntime, run_id: str, batch: tuple[Event, ...], reason: str, *, by: str = "prloom") -> None:
    """Commit the failure of a run that never began: nobody's text is at fault, so the batch stays together."""
    opened = runtime.event_store.state.open
    now, policy = runtime.clock(), runtime.rules.backoff
    live = [opened[event.id] for event in batch if event.id in opened and opened[event.id].state == "pending"]
    changes = tuple(triage.failed(event, reason, now=now, policy=policy, alone=False) for event in live)
    runtime.event_store.commit(triage.OWNER, by, changes=changes, run=run_id)


def hold(runtime: PlanRuntime, run_id: str, by: str, batch: tuple[Event, ...], limit: UsageLimit) -> None:
    """Commit the wait of events for a usage limit that a run of the same program has met before."""
    opened = runtime.event_store.state.open
    now, policy = runtime.clock(), runtime.rules.backoff
    live = [opened[event.id] for event in batch if event.id in opened and opened[event.id].state == "pending"]
    changes = tuple(breaker.wait_for_limit(event, limit, now=now, policy=policy) for event in live)
    runtime.event_store.commit(triage.OWNER, by, changes=changes, run=run_id)


def settle(runtime: PlanRuntime, run_id: str, by: str, result: RunResult, answer_file: str | None) -> None:
    """Commit what a run came to for the events that are still in it."""
    live = tuple(event for event in runtime.event_store.state.open.values() if event.run == run_id)
    found = None
    if answer_file:
        found = triage.find(answer_file)
    if result.status == "ok" or (result.trouble in _SPEECHLESS and found is not None):
        _settle_answer(runtime, run_id, by, result, found if found is not None else triage.find(result.message))
        return
    now, policy = runtime.clock(), runtime.rules.backoff
    reason = f"{by}: {result.error or result.trouble or 'the run failed'} (run {run_id})"
    if result.status == "interrupted":
        changes = tuple(Change(event_id=e.id, verdict="cut_short", state="pending", reason=reason) for e in live)
    elif result.status == "limited":
        limit = breaker.limit_met(reason, result.retry_at, now)
        changes = tuple(breaker.wait_for_limit(event, limit, now=now, policy=policy) for event in live)
    else:
        # One of the texts may be what the run failed on: it must not go on spoiling the runs of the others.
        alone = len(live) > 1 and result.trouble in _BY_TEXT
        changes = tuple(triage.failed(event, reason, now=now, policy=policy, alone=alone) for event in live)
    runtime.event_store.commit(triage.OWNER, by, changes=changes, run=run_id, note=_bill(result))


def _settle_answer(runtime: PlanRuntime, run_id: str, by: str, result: RunResult, answer: Json) -> None:
    """Commit an answer."""
    opened = runtime.event_store.state.open
    texts = {event.id: runtime.event_store.texts.of(event) for event in opened.values() if event.run == run_id}
    batch = tuple(text for text in texts.values() if text is not None)
    settled = triage.settle(
        triage.read(answer, tuple(event.id for event in batch)),
        batch,
        opened,
        now=runtime.clock(),
        policy=runtime.rules.backoff,
        plan_target=runtime.plan_target,
        rebase_open=runtime.event_store.state.rebase_todo is not None,
    )
    lost = tuple(hook_results.park(event_id, _LOST) for event_id, text in texts.items() if text is None)
    runtime.event_store.commit(
        triage.OWNER,
        by,
        changes=(*settled.changes, *lost),
        actions=settled.actions,
        todos=settled.todos,
        rebase_requested=settled.rebase_requested or None,
        run=run_id,
        note=_bill(result),
    )


def _bill(result: RunResult) -> str | None:
    """Return what the run used, as far as it was measured."""
    if result.usage is None:
        used = []
    else:
        used = [f"{result.usage.input_tokens + result.usage.output_tokens} tokens"]
    if result.cost_usd is None:
        used += []
    else:
        used += [f"{result.cost_usd:.4f} USD"]
    return ", ".join(used) or None
