"""Hand out what is to be done with a plan's pending events: to a command, to a plugin's hook, to an agent."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import assert_never

from prloom.core import commands, dispatch, notices, verdicts
from prloom.core.dispatch import Finish, Obey, Roster, Show, Step, Triage
from prloom.engine import failures
from prloom.engine.plan import hooks, obey
from prloom.engine.plan.desk import Desk
from prloom.engine.plan.hands import Hands
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.activity import RunningHook
from prloom.model.decision import Change
from prloom.model.state import OpenEvent

log = logging.getLogger(__name__)

COMMANDS = 10
"""Built-in commands that are carried out before another plan is worked through; each is a decision of its own."""

HOOKS = 32
"""Hook calls that one plan has under way; the others wait, so that the plan's backlog does not hold up other plans."""


def hand_out(desk: Desk, roster: Roster, hands: Hands) -> bool:
    """Begin all that can be done with the pending events; return whether there was anything."""
    opened, busy = desk.ledger.state.open.values(), desk.busy
    pending = [event for event in opened if event.state == "pending" and event.run is None and event.id not in busy]
    texts = [(event, desk.ledger.texts.of(event)) for event in pending]
    if _park_unreadable(desk, [event for event, text in texts if text is None]):
        return True
    steps = dispatch.steps(
        [(event, None if text is None else commands.parse(text)) for event, text in texts],
        roster,
        busy=busy,
        alone=desk.alone,
        paused=desk.paused,
        triaging=desk.in_run or desk.awaits_agent,
    )
    orders = [step for step in steps if isinstance(step, Obey)]
    if orders:  # a command may change what is to be done with all the others
        steps = tuple(orders[:COMMANDS])
    begun = [step for step in steps if _begin(desk, step, roster, hands)]
    return bool(begun)


def _park_unreadable(desk: Desk, unreadable: Sequence[OpenEvent]) -> bool:
    """Leave events to a person whose text in the journal is not the one that came in."""
    if unreadable:
        reason = "its text in events.jsonl has changed since prloom read it"
        desk.ledger.commit("intake", "prloom", changes=tuple(verdicts.park(event.id, reason) for event in unreadable))
    return bool(unreadable)


def _begin(desk: Desk, step: Step, roster: Roster, hands: Hands) -> bool:
    """Begin a step; return False for a hook call that has to wait until others are over."""
    match step:
        case Obey(event_id=event_id):
            _obey(desk, event_id, hands)
        case Show() if len(desk.hooks_running) >= HOOKS:
            return False
        case Show(plugin=plugin, hook=hook, event_ids=ids):
            since = record.iso(desk.clock())
            running = RunningHook(plan=desk.id, plugin=plugin, hook=hook, events=ids, since=since)
            desk.hooks_running += (running,)
            hands.begin(desk, ids, partial(_show, desk, step, hands, running))
        case Finish(event_ids=ids):
            desk.ledger.commit("notice", "prloom", changes=notices.finished(ids))
        case Triage(event_ids=ids) if not hands.agents:
            _finish(desk, ids)
        case Triage():
            desk.awaits_agent = True
            hands.spawn(desk, partial(_triage, desk, roster, hands))
        case _:
            assert_never(step)
    return True


async def _show(desk: Desk, step: Show, hands: Hands, running: RunningHook) -> None:
    try:
        await hooks.show(desk, step, hands.crew[step.plugin], hands.triager.services(desk))
    finally:
        desk.hooks_running = tuple(each for each in desk.hooks_running if each is not running)


def _obey(desk: Desk, event_id: str, hands: Hands) -> None:
    opened = desk.ledger.state.open[event_id]
    event = desk.ledger.texts.of(opened)
    command = None if event is None else commands.parse(event)
    if event is None or command is None:
        return
    try:
        obey.obey(desk, event, command, hands.crew.command_help())
    except PrloomError:
        raise
    except Exception as error:  # noqa: BLE001 - this one event must not keep all others from being worked on
        reason = failures.tell(log, error, f"event {event_id} of plan {desk.id} is parked")
        desk.ledger.commit("command", "prloom", changes=(verdicts.park(event_id, reason),))


def _finish(desk: Desk, ids: tuple[str, ...]) -> None:
    """End events that concern the whole repository once every plugin has seen them: no agent looks at them."""
    changes = tuple(
        Change(event_id=event_id, verdict="handled", state="handled", reason="shown to every plugin")
        for event_id in ids
    )
    desk.ledger.commit("onGlobalEvent", "prloom", changes=changes)


async def _triage(desk: Desk, roster: Roster, hands: Hands) -> None:
    """Wait for an agent's turn, and let it deal with all that is ready by then: a burst of comments is one run."""
    try:
        async with hands.triager.turn():
            step = None if desk.resting(desk.clock()) else _batch(desk, roster)
            if step is not None:
                await hands.hold(desk, step.event_ids, partial(hands.triager.triage, desk, step))
    finally:
        desk.awaits_agent = False


def _batch(desk: Desk, roster: Roster) -> Triage | None:
    pending = [event for event in desk.ledger.state.open.values() if event.state == "pending"]
    texts = [(event, desk.ledger.texts.of(event)) for event in pending]
    steps = dispatch.steps(
        [(event, commands.parse(text)) for event, text in texts if text is not None],
        roster,
        busy=desk.busy,
        alone=desk.alone,
        paused=desk.paused,
        triaging=desk.in_run,
    )
    return next((step for step in steps if isinstance(step, Triage)), None)
