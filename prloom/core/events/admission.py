"""Decide which of the events of a poll are new, which plan each is for, and what the projection keeps of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from prloom.core.delivery import outbox
from prloom.core.plugins import plugin_message
from prloom.core.text import bounds, naming
from prloom.model import record
from prloom.model.decision import Change, Intake
from prloom.model.event import LONGEST_ID, Event, digest
from prloom.model.kinds import CONTROLS, PlanState
from prloom.model.plan import Plan
from prloom.model.record import JsonValue, Position, Timestamp
from prloom.model.state import DispatchState, OpenEvent, Receipt

DEEPEST = 100
"""Levels of JSON that an event may have; a reader would not get through much deeper ones."""

_SHORT = 12  # characters by which a commit is named


@dataclass(frozen=True)
class OwnPosts:
    """What prloom knows of its own posts on one plan: receipts by action, and whether an action id is its own."""

    receipts: Mapping[str, Receipt]
    remote_ids: frozenset[str]
    issued: Callable[[str], bool]


def route(event: Event, plans: Iterable[Plan]) -> str | None:
    """Return the id of the plan that the event is for, or None where it concerns the repository as a whole."""
    named = event.context.get("plan")
    for plan in plans:
        if named == plan.id or (named is None and event.pr is not None and event.pr == plan.pr):
            return plan.id
    return None


def misdirected(event: Event) -> str | None:
    """Return why a text on the repository's bus is there although it is for a plan; None where it is for none.

    A pull request without a plan is nothing odd: it may not be adopted.
    """
    if not event.body.strip():
        return None
    named = event.context.get("plan")
    if named is not None:
        what = f"the plan '{naming.printable(str(named))}', which prloom does not know"
    elif event.pr is not None and event.pr < 1:
        what = f"the pull request #{event.pr}, which cannot exist"
    else:
        return None
    return f"{event.source} sent it for {what}; deal with it yourself, and drop it"


def is_own_post(event: Event, own_posts: OwnPosts) -> bool:
    """Whether the event is something that prloom posted itself.

    The ids of the receipts include its `context.remoteId`; other posts are known by their marker. The author's
    login alone proves nothing: the operator may use their own account. A plugin's message never is, whatever it quotes.
    """
    if plugin_message.is_message(event):
        return False
    return is_delivered_post(event, own_posts) or posted_action(event, own_posts) is not None


def is_delivered_post(event: Event, own_posts: OwnPosts) -> bool:
    """Whether the event is a post whose delivery is on record."""
    return bool(own_posts.remote_ids) and _remote_id(event) in own_posts.remote_ids


def posted_action(event: Event, own_posts: OwnPosts) -> str | None:
    """Return the action of which the event is the post, by the marker in it; None where it is another author's.

    A post that begins with a marker and was written by the account that prloom posts with is prloom's, also where
    nothing is known of the action any more. Of any other account it is, where the marker stands on a line of its own
    (people quote), of an action that prloom issued and that is not known to be elsewhere (people copy).
    """
    if outbox.MARKER_START not in event.body:
        return None
    if event.own_account:
        leading = outbox.leading_marker(event.body)
    else:
        leading = None
    if leading is not None:
        return leading
    remote = _remote_id(event)
    return next((action for action in _marker_lines(event.body) if _is_posted_here(action, remote, own_posts)), None)


def unrecorded_posts(events: Iterable[Event], own_posts: OwnPosts) -> Mapping[str, Event]:
    """Return prloom's own posts among the events of a poll whose delivery is not on record, by action."""
    marked = [
        event for event in events if outbox.MARKER_START in event.body and not is_delivered_post(event, own_posts)
    ]
    return {action: event for event in marked if (action := posted_action(event, own_posts)) is not None}


def _remote_id(event: Event) -> str | None:
    """Return what the source calls the post; forges number theirs, receipts are texts."""
    remote = event.context.get("remoteId")
    if isinstance(remote, str | int) and not isinstance(remote, bool):
        return str(remote)
    return None


def _marker_lines(body: str) -> Iterable[str]:
    for line in body.splitlines():
        found = outbox.marked(line)
        if found and line.strip() == outbox.marker(found[0]):
            yield found[0]


def _is_posted_here(action: str, remote: str | None, own_posts: OwnPosts) -> bool:
    receipt = own_posts.receipts.get(action)
    if receipt is not None and receipt.remote_id is not None and remote is not None:
        return receipt.remote_id == remote
    return own_posts.issued(action)


def new_events(events: Sequence[Event], is_known: Callable[[str], bool], own_posts: OwnPosts) -> tuple[Event, ...]:
    """Return the events of a poll that are to be appended to the bus: neither known nor prloom's own, each once.

    Bots edit their own comments all day (coverage, previews): such an edit is no new event either.
    """
    accepted: dict[str, Event] = {}
    for event in events:
        if event.id in accepted or is_known(event.id) or is_own_post(event, own_posts):
            continue
        older = None
        if event.author is not None and event.author.bot:
            older = event.supersedes
        if older is None or (older not in accepted and not is_known(older)):
            accepted[event.id] = event
    return tuple(accepted.values())


def reading_problem(event: Event) -> str | None:
    """Return why no reader of a bus would take an event in that was made by a program, or None where one would."""
    if not isinstance(event, Event):
        return f"it is {type(event).__name__}, not an Event"
    try:
        value = msgspec.to_builtins(event, builtin_types=(bytes, bytearray, memoryview))  # which no text may be
        problem = size_problem(value)
        if problem is None:
            record.from_wire(Event, value)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        return str(error)
    return problem


def size_problem(value: JsonValue) -> str | None:
    """Return why an event given as JSON has an id or a size that no reader of a bus allows; None where it has not."""
    event_id = None
    if isinstance(value, dict):
        event_id = value.get("id")
    if event_id == "":
        return "its id is empty; give each event an id of its own that stays the same"
    if isinstance(event_id, str) and len(event_id) > LONGEST_ID:
        return f"its id has {len(event_id)} characters; use at most {LONGEST_ID}"
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inner(each)]
        if not level:
            return None
    return f"it is nested more than {DEEPEST} levels deep; use fewer levels in `context`"


def _inner(value: JsonValue) -> Iterable[JsonValue]:
    """Return what is directly in an object or an array."""
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    return ()


def shortened(event: Event) -> Event:
    """Return the event with a title that is not too long; the whole of it then begins the body."""
    if len(event.title) <= bounds.REASON:
        return event
    # a body would make it a person's words
    if event.notice:
        body = event.body
    else:
        body = f"{event.title}\n\n{event.body}"
    return replace(event, title=bounds.cut(event.title), body=body)


def intake(event: Event, position: Position) -> Intake:
    """Return what the projection keeps of an event."""
    return Intake(
        position=position,
        type=event.type,
        source=event.source,
        digest=digest(event),
        author=event.author.login if event.author else None,
        created_at=event.created_at,
        written_at=event.written_at,
        notice=event.notice,
        commit=_commit(event) if event.kind.of_commit else None,
    )


def plan_status(events: Iterable[Event]) -> PlanState | None:
    """Return the plan's status after these events, in the order in which they came; None where it does not change."""
    statuses = [event.kind.plan_status for event in events if event.notice]
    changed = [status for status in statuses if status is not None]
    if changed:
        return changed[-1]
    return None


def waits(event_id: str, state: DispatchState) -> bool:
    """Whether an event is open, or a TODO or a reply of it is not done yet; mere acknowledgements do not count."""
    if event_id in state.open:
        return True
    threads = (thread.event_id for threads in state.todos.values() for thread in threads)
    replies = (action.event_id for action in state.queue.values() if not action.courtesy)
    return event_id in (*threads, *replies)


def superseded(event: Event, opened: Mapping[str, OpenEvent], coming: Mapping[str, Intake]) -> tuple[Change, ...]:
    """Return the end of each event that is over because of this one, if that is still open or comes in just now.

    It is an edit of it, takes back what it told, or reports that the pull request has another head.
    """
    over: dict[str, str] = {}
    head = _new_head(event)
    if head is not None:  # which is seldom: else not all that waits is looked at
        over = dict.fromkeys(_of_other_commits({**coming, **opened}, head), f"the head is {head[:_SHORT]} now")
    older = event.supersedes
    if older is not None and older != event.id and (older in opened or older in coming):
        over[older] = event.kind.ends
    return tuple(
        Change(event_id=each, verdict="superseded", state="superseded", reason=f"{why}: {event.id}")
        for each, why in over.items()
    )


def wait_for_authors(opened: Iterable[OpenEvent], shown_at: Timestamp | None) -> tuple[OpenEvent, ...]:
    """Return the ticks of boxes that wait until it is known who may tick, and that came in since the cockpit was shown.

    Whoever shows the cockpit clears the boxes in it: those of earlier ticks were cleared by prloom.
    """
    waiting = [(each, each.deferral) for each in opened if each.type in CONTROLS]
    return tuple(
        each for each, wait in waiting if wait is not None and (shown_at is None or shown_at < wait.first_deferred_at)
    )


def cleared(ticks: Iterable[Event], ticked: Collection[str]) -> tuple[Change, ...]:
    """Return the end of each tick of a box that is not `ticked` any more: the person has thought better of it."""
    over = [event.id for event in ticks if event.context.get("box") not in ticked]
    return tuple(
        Change(event_id=each, verdict="superseded", state="superseded", reason="the box was cleared") for each in over
    )


def _new_head(event: Event) -> str | None:
    """Return the commit at which the pull request is since the event, if that is what the event reports."""
    if event.notice and event.kind.moves_head:
        return _commit(event)
    return None


def _commit(event: Event) -> str | None:
    found = event.context.get("commit")
    if isinstance(found, str) and found:
        return found
    return None


def _of_other_commits(kept: Mapping[str, OpenEvent | Intake], head: str) -> Iterable[str]:
    """Return the events that are about another commit; a source may shorten what it calls one."""
    return (older for older, each in kept.items() if each.commit is not None and not head.startswith(each.commit))
