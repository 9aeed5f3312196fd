"""Notice that something is open in a plan and nothing has moved there for long."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

from msgspec import UNSET, Struct, UnsetType

from prloom.core.text.shown_text import command, option
from prloom.core.waits import standstill
from prloom.core.waits.standstill import OpenTodos, Standstill
from prloom.engine.views import runtime_status, snapshot
from prloom.engine.views.dashboard_schema import Need
from prloom.engine.views.snapshot import Snapshot
from prloom.engine.views.status_schema import PlanStatus, StatusDocument
from prloom.model import record
from prloom.model.kinds import AT_WORK
from prloom.model.record import Timestamp
from prloom.storage import dispatcher_files, paths
from prloom.storage.safe_dir import SafeDir


class StandstillRule(Struct, frozen=True):
    """After which time without movement a person is told, counted from the start of the dispatcher at the earliest."""

    stall_after: timedelta
    started_at: datetime | None = None


class AtWork(Struct, frozen=True):
    """The plans in which something goes on now, and those that wait until one more agent may run."""

    plans: Collection[str] = ()
    queued: Collection[str] = ()


def read(local: SafeDir) -> StandstillRule | None:
    """Return the rule; None where no dispatcher ever ran. One that was started just now has not had its time yet."""
    stall_after = runtime_status.stall_after(local)
    if stall_after is None:
        return None
    owner = dispatcher_files.readable_owner(local)
    if owner is None or not owner.alive:
        return StandstillRule(stall_after)
    return StandstillRule(stall_after, record.read_time(owner.started_at))


def of_plan(of: Snapshot, shown: PlanStatus, now: datetime) -> Standstill | UnsetType:
    """Return what is open in a plan that goes on by itself, and since when nothing has moved; unset where nothing is.

    `shown` is the plan's status, without this. What a person has to do first is in no standstill.
    """
    state, todos, untaken = of.bus.state, OpenTodos(), []
    if shown.status not in AT_WORK or shown.last_error or (shown.blocked and state.block is None) or shown.session:
        return UNSET
    if state.block is None and not shown.todos.proposed and shown.work is not False:
        count = shown.todos.total - shown.todos.done - shown.todos.blocked
        todos = OpenTodos(count, of.listed_at)
    if of.bus.untaken:
        came = snapshot.changed_at(of, f"{paths.BUS}/{paths.EVENTS}") or Timestamp.of(now)
        untaken = [came] * len(of.bus.untaken)
    return standstill.of(state, now, todos=todos, untaken=untaken) or UNSET


def needs(status: StatusDocument, rule: StandstillRule | None, at_work: AtWork, now: datetime) -> Iterator[Need]:
    """Yield what a person is told: of each plan in which nothing moves, or of all together where no dispatcher runs."""
    if not status.dispatcher.running:
        yield from _without_dispatcher(status)
        return
    if rule is None:
        return
    found = [(plan, plan.standstill) for plan in status.plans if plan.standstill and _is_due(plan, rule, at_work, now)]
    for plan, current in found:
        text = f"nothing has moved, and this is open: {_open([current])}"
        commands = (command("log", option("--plan", plan.id), ("--since", "1d")), command("doctor"))
        yield _need(plan.id, text, commands, max(current.since, rule.started_at or current.since))


def _without_dispatcher(status: StatusDocument) -> Iterator[Need]:
    """Yield that no dispatcher runs, where something is open that one would do at once."""
    open_work = [plan.standstill for plan in status.plans if plan.standstill]
    drafts = sum(plan.status == "queued" and not plan.blocked and not plan.draft_wait for plan in status.plans)
    if status.dispatcher.trouble or not (open_work or drafts):
        return
    text = f"no dispatcher is running, and this waits for one: {_open(open_work, drafts)}"
    yield _need("", text, (command("start"),), min((current.since for current in open_work), default=None))


def _is_due(plan: PlanStatus, rule: StandstillRule, at_work: AtWork, now: datetime) -> bool:
    """Whether nothing has moved for too long, although no first try goes on, nor is a free agent awaited."""
    current = plan.standstill
    if not current or now - max(current.since, rule.started_at or current.since) < rule.stall_after:
        return False
    waits = plan.todos.current.wait if plan.todos.current is not None else UNSET
    if at_work.plans and (plan.id in at_work.queued or (waits and waits.until is None)):
        return False
    return current.retried or plan.id not in at_work.plans


def _need(plan: str, text: str, commands: tuple[str, ...], since: datetime | None) -> Need:
    key, at = f"stalled/{plan}/", None if since is None else Timestamp.of(since)
    return Need(key=key, kind="stalled", plan=plan or None, text=text, commands=commands, since=at)


def _open(open_work: Collection[Standstill], drafts: int = 0) -> str:
    """Return how much is open: `1 queued plan, 2 TODOs, 1 event`."""
    counts = {
        "queued plan": drafts,
        "TODO": sum(each.todos for each in open_work),
        "event": sum(each.events for each in open_work),
        "action": sum(each.actions for each in open_work),
    }
    return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items() if count)
