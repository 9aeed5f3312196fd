"""Decide what becomes of a batch of events that a triage agent has answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from msgspec.structs import replace

from prloom import backoff
from prloom.backoff import Backoff
from prloom.core.answers.triage_answer import TriageAnswer
from prloom.core.delivery import outbox, reply_sanitizer
from prloom.core.plans import todo_ids
from prloom.core.waits import deferral
from prloom.core.work import automatic_todos
from prloom.model.action import Action, Comment
from prloom.model.decision import Change, Thread, Todo
from prloom.model.event import Event, Target
from prloom.model.kinds import TRIAGE
from prloom.model.state import OpenEvent

_REBASE = "the agent requests a rebase of the branch; the plan has a TODO for it"


@dataclass(frozen=True)
class TriageResult:
    """What a run amounts to, ready to be committed."""

    changes: tuple[Change, ...]
    actions: tuple[Action, ...] = ()
    todos: tuple[Todo, ...] = ()
    rebase_requested: bool = False


def settle(
    answer: TriageAnswer,
    batch: tuple[Event, ...],
    opened: Mapping[str, OpenEvent],
    *,
    now: datetime,
    policy: Backoff,
    plan_target: Target,
    rebase_open: bool = False,
) -> TriageResult:
    """Return what becomes of a batch that an agent answered; what the answer leaves out is tried again.

    `rebase_open`: the plan has a TODO for a rebase that is not done.
    """
    open_events = [event for event in batch if (e := opened.get(event.id)) is not None and e.state == "pending"]
    changes, actions = [], []
    kept: set[str] = set()
    for event in open_events:
        item = answer.items.get(event.id)
        if item is None:
            why = answer.problems.get(event.id) or answer.problems.get("") or "the answer does not mention the event"
            changes.append(run_failed(opened[event.id], why, now=now, policy=policy, alone=len(batch) > 1))
            continue
        kept.add(event.id)
        changes.append(Change(event_id=event.id, verdict=item.verdict, state="triaged"))
        actions += reply(event, opened[event.id], item.reply, plan_target)
    threads = {event.id: event.reply_to for event in open_events if event.id in kept and event.kind.threaded}
    todos = _todos(answer, kept, threads)
    if answer.rebase_requested:
        causes = _rebase_causes(answer, kept)
    else:
        causes = ()
    if causes:
        changes = [replace(each, reason=_REBASE) if each.event_id in causes else each for each in changes]
        if not rebase_open:
            todos = _with_rebase(todos, causes, threads)
    todos = tuple(replace(todo, approved_by=_approved_by(todo.event_ids, opened)) for todo in todos)
    return TriageResult(tuple(changes), tuple(actions), todos, bool(causes))


def _rebase_causes(answer: TriageAnswer, kept: set[str]) -> tuple[str, ...]:
    """Return the settled events that requested the rebase; the answer does not name them.

    It is those that nothing else would come of; or else those that ask for a change, or that were acknowledged.
    """
    named = {event_id for todo in answer.todos for event_id in todo.event_ids}
    by_verdict = {
        verdict: [item for item in answer.items.values() if item.verdict == verdict]
        for verdict in ("todo", "acknowledged")
    }
    silent = [item for item in by_verdict["acknowledged"] if item.event_id not in named and not item.reply]
    silent_and_kept = tuple(item.event_id for item in silent if item.event_id in kept)
    cited = by_verdict["todo"] or by_verdict["acknowledged"] or answer.items.values()
    return silent_and_kept or tuple(item.event_id for item in cited if item.event_id in kept)


def _with_rebase(
    todos: tuple[Todo, ...], causes: tuple[str, ...], threads: Mapping[str, Target | None]
) -> tuple[Todo, ...]:
    """Return the TODOs with one for the rebase: that of the agent, where it has written one."""
    written = next((todo for todo in todos if "rebas" in todo.title.casefold()), None)
    if written is not None:
        return tuple(replace(todo, rebase=True) if todo is written else todo for todo in todos)
    return (*todos, automatic_todos.rebase_todo(causes[0], causes, _waiting(causes, threads)))


def _waiting(causes: tuple[str, ...], threads: Mapping[str, Target | None]) -> tuple[Thread, ...]:
    return tuple(Thread(cause, target) for cause in causes if (target := threads.get(cause)) is not None)


def _todos(answer: TriageAnswer, kept: set[str], threads: Mapping[str, Target | None]) -> tuple[Todo, ...]:
    """Return the TODOs of the events that were settled; an event that is tried again requests its own next time."""
    todos = []
    for ordinal, todo in enumerate(answer.todos):
        causes = tuple(event_id for event_id in todo.event_ids if event_id in kept)
        if causes:
            todo_id, waiting = todo_ids.of_cause(causes[0], TRIAGE, ordinal), _waiting(causes, threads)
            todos.append(Todo(id=todo_id, title=todo.title, context=todo.context, event_ids=causes, threads=waiting))
    return tuple(todos)


def _approved_by(event_ids: Iterable[str], opened: Mapping[str, OpenEvent]) -> tuple[str, ...]:
    found = [opened[each].approved_by for each in event_ids if each in opened]
    return tuple(dict.fromkeys(login for login in found if login is not None))


def reply(event: Event, opened: OpenEvent, text: str | None, plan_target: Target) -> list[Action]:
    """Return the action that answers an event in the thread it belongs to; none where there is nothing to say."""
    if text is None or not text.strip():
        return []
    ident = outbox.action_id(event.id, TRIAGE, opened.actions)
    target = event.reply_to or plan_target
    said = reply_sanitizer.sanitize(
        text.strip(), to=event.author.login if event.author else None, host=_host(event.url)
    )
    return [Action(id=ident, target=target, payload=Comment(said), related_event_id=event.id)]


def _host(url: str | None) -> str | None:
    """Return the host of a web address, which for an event is its forge's."""
    try:
        return urlsplit(url).hostname if url else None
    except ValueError:
        return None


def run_failed(event: OpenEvent, reason: str, *, now: datetime, policy: Backoff, alone: bool) -> Change:
    """Return the next try of an event that a run did not settle, or its parking after the last."""
    attempts = event.failures + 1
    wait = deferral.defer(
        event, TRIAGE, reason, now=now, policy=policy, retry_after=backoff.delay(policy, attempts, event.id)
    )
    wait = replace(wait, attempts=attempts)
    if backoff.exhausted(policy, attempts):
        text = f"triage failed {attempts} times; the last error: {reason}"
        return Change(event_id=event.id, verdict="parked", state="parked", reason=text)
    return Change(event_id=event.id, verdict="failed", state="deferred", reason=reason, deferral=wait, alone=alone)
