"""Derive the id, mark and commit of an action, decide which is tried next, and what an attempt's result means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

from msgspec.structs import replace

from prloom import backoff
from prloom.backoff import Backoff
from prloom.core.delivery import quoting
from prloom.core.text import naming
from prloom.model.action import Comment, InlineComment, Merge, Payload, Review
from prloom.model.decision import DeliveryChange
from prloom.model.event import Event
from prloom.model.record import Timestamp, clock_rolled_back
from prloom.model.state import Attempt, DeliveryState, QueuedAction, Receipt

RECEIPTS = 1000
"""Receipts that are remembered; older posts of our own are known by their marker."""

QUICK = timedelta(hours=1)
"""How long an acknowledgement is of any use."""


def ready(queue: Iterable[QueuedAction], now: datetime, *, clock: datetime | None = None) -> tuple[QueuedAction, ...]:
    """Return the actions that may be tried now, oldest first; none waits for another.

    `clock` is the time, where `now` is an earlier one by which the waits are judged.
    """
    return tuple(
        action for action in queue if not (action.failed or action.draft) and _waited(action, now, clock or now)
    )


def _waited(action: QueuedAction, now: datetime, clock: datetime) -> bool:
    if action.next_try is None or action.next_try <= now:
        return True
    return clock_rolled_back(action.tried_at, clock)


def next_due(queue: Iterable[QueuedAction]) -> datetime | None:
    """Return when the next action that waits may be tried, or None if none waits."""
    return min((action.next_try for action in queue if not action.failed and action.next_try), default=None)


def delivered(action: QueuedAction, receipt: Receipt) -> DeliveryChange:
    """Return the end of an action that reached its target."""
    return DeliveryChange(
        action_id=action.id,
        state="delivered",
        attempts=action.attempts + 1,
        url=receipt.url,
        remote_id=receipt.remote_id,
    )


def refused(
    action: QueuedAction,
    error: str,
    *,
    retryable: bool,
    retry_after: timedelta | None,
    now: datetime,
    policy: Backoff,
    commit: str | None = None,
) -> DeliveryChange:
    """Return what becomes of an action that did not reach its target: another try, or a visible failure."""
    attempts = action.attempts + 1
    if not retryable:
        return DeliveryChange(action_id=action.id, state=_end(action), attempts=attempts, error=error, commit=commit)
    pause = max(backoff.delay(policy, attempts, action.id), retry_after or timedelta())
    over = pause > min(action.since, now) - now + policy.deadline
    if over or backoff.exhausted(policy, attempts):
        text = f"given up after {attempts} attempts: {error}"
        return DeliveryChange(action_id=action.id, state=_end(action), attempts=attempts, error=text, commit=commit)
    return DeliveryChange(
        action_id=action.id,
        state="retrying",
        attempts=attempts,
        error=error,
        next_try=Timestamp.of(now + pause),
        commit=commit,
    )


def _end(action: QueuedAction) -> Literal["failed", "dropped"]:
    """Return the state of an action that does not reach its target: an acknowledgement is dropped."""
    if action.courtesy:
        return "dropped"
    return "failed"


def too_late(action: QueuedAction, now: datetime) -> bool:
    """Whether an action is an acknowledgement that has waited for too long to be of any use."""
    return action.courtesy and now - action.since > QUICK


def dropped(action: QueuedAction, reason: str) -> DeliveryChange:
    """Return the end of an action that is not needed any more."""
    return DeliveryChange(action_id=action.id, state="dropped", attempts=action.attempts, error=reason)


def withdraw_replies(event: Event, queue: Iterable[QueuedAction]) -> tuple[DeliveryChange, ...]:
    """Return the end of all that is still to be sent because of a comment that was deleted.

    Its author is not there to be answered, and has taken back what the comment requested.
    """
    comment = event.deletes
    reason = f"its comment was deleted: {event.id}"
    return tuple(dropped(action, reason) for action in queue if comment and action.event_id == comment)


def revived(action: QueuedAction) -> DeliveryChange:
    """Return the new start of an action that had failed or waits: it is due now, with all its time before it."""
    return DeliveryChange(action_id=action.id, state="queued", attempts=0)


def version(action: QueuedAction) -> str:
    """Return what tells the text of an action apart from the texts that it has had before."""
    return f"{action.position.segment}-{action.position.offset}"


def sent(action: QueuedAction) -> DeliveryChange:
    """Return the start of a draft that a person sends: it is due now."""
    return DeliveryChange(action_id=action.id, state="queued", attempts=0)


def withheld(action: QueuedAction, secrets: Iterable[str]) -> DeliveryChange:
    """Return what becomes of an action that would publish secrets: it fails, until a person has looked at it."""
    error = f"withheld because it contains {' and '.join(secrets)}; to read it, run `prloom approve {action.id}`"
    return DeliveryChange(action_id=action.id, state="failed", attempts=action.attempts, error=error, withheld=True)


def released(action: QueuedAction) -> DeliveryChange:
    """Return the new start of an action that was withheld: a person has looked, and lets it go as it is."""
    return DeliveryChange(action_id=action.id, state="queued", attempts=0, released=True)


def receipted(state: DeliveryState, receipt: Receipt) -> DeliveryState:
    """Return the bridge's delivery state with one more receipt, once however often it is added; the oldest go."""
    attempts = {key: attempt for key, attempt in state.attempts.items() if key != receipt.action_id}
    others = tuple(each for each in state.receipts if each.action_id != receipt.action_id)
    return DeliveryState(attempts=attempts, receipts=(*others, receipt)[-RECEIPTS:])


# An HTML comment is invisible in every Markdown that the forges and editors render.
_MARKER = re.compile(r"<!-- prloom:action (a-[0-9a-f]{20}) -->")
MARKER_START = "<!-- prloom:action "
"""Stands in every text that has a mark."""

PLAN_TARGET = "plan"
"""The target of an action that answers in the plan's own conversation, wherever that is."""


def action_id(event_id: str, owner: str, ordinal: int) -> str:
    """Return the id of the ordinal-th action that owner makes for an event: the same inputs, the same id."""
    text = f"{event_id}\0{owner}\0{ordinal}"
    return "a-" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def marker(of: str) -> str:
    """Return the mark that a text posted for this action carries."""
    return f"<!-- prloom:action {of} -->"


def cockpit_marker(plan_id: str) -> str:
    """Return the mark of the comment that has the cockpit of a plan whose pull request prloom did not open."""
    return marker(action_id(plan_id, "cockpit", 0))


def leading_marker(text: str) -> str | None:
    """Return the id of the action whose mark the text begins with, as every text that prloom posts on a forge does."""
    found = _MARKER.match(text.lstrip("\ufeff \t\r\n"))
    if found:
        return found[1]
    return None


def marked(text: str) -> tuple[str, ...]:
    """Return the ids of the actions whose marks are in the text."""
    if MARKER_START in text:
        return tuple(_MARKER.findall(text))
    return ()


def pin_commit(payload: Payload, event: Event | None, head: str | None) -> Payload:
    """Return the payload with the commit that it is about; one that names a commit already stays as it is.

    `event` is the one that the action is because of, `head` the head of the pull request as it was known at the call.
    A request to merge is about the commit that its author saw. A review, or a comment on a line, is about the
    code as it is at the call.
    """
    match payload:
        case Merge(commit=None):
            return replace(payload, commit=_commit_of(event) or naming.commit_id(head))
        case Review(commit=None) | InlineComment(commit=None):
            return replace(payload, commit=naming.commit_id(head) or _commit_of(event))
        case _:
            return payload


def placed(payload: Payload, state: DeliveryState) -> Payload:
    """Return the payload as a bridge gets it: one that is added to a post names that post as the forge does.

    Where the post is not known, such as one that a person has not sent yet, the payload is a post of its own.
    """
    if not isinstance(payload, Comment) or payload.appends_to is None:
        return payload
    post = next((each.remote_id for each in state.receipts if each.action_id == payload.appends_to), None)
    if post is None:
        return replace(payload, appends_to=None)
    return replace(payload, message=quoting.without(payload.message), appends_to=post)


def keep_commit(payload: Payload, commit: str | None) -> Payload:
    """Return the payload with the commit that earlier attempts were about, where it names none itself."""
    return pin_commit(payload, None, commit)


def _commit_of(event: Event | None) -> str | None:
    """Return the commit that a review was of, or that was the head when any other event came in."""
    if event is None:
        return None
    return naming.commit_id(event.context.get("commit" if event.type == "pr_review" else "head"))


def with_attempts(state: DeliveryState, action_ids: Sequence[str], now: datetime) -> DeliveryState:
    """Return a bridge's state with one more attempt of each action."""
    attempts = dict(state.attempts)
    for action_id in action_ids:
        count = 1
        if action_id in state.attempts:
            count += state.attempts[action_id].count
        attempts[action_id] = Attempt(count, Timestamp.of(now))
    return replace(state, attempts=attempts)
