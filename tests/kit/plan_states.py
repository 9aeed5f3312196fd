"""What a plan's state is made of, for the tests of decisions: each fills in what a test does not speak of."""

from __future__ import annotations

from datetime import UTC

from msgspec.structs import replace

from prloom.core.events import projection
from prloom.model.action import Action, Comment
from prloom.model.decision import Change, Decision, Deferral, Intake
from prloom.model.event import Target
from prloom.model.record import Cursor, Position, Timestamp
from prloom.model.state import DispatchState, OpenEvent, QueuedAction

TIME = Timestamp(2026, 11, 21, 12, tzinfo=UTC)


def an_open_event(event_id: str = "e1", **values: object) -> OpenEvent:
    usual = OpenEvent(
        id=event_id,
        state="pending",
        position=Position(1, 0),
        type="pr_comment",
        source="github",
        digest="d",
        since=TIME,
    )
    return replace(usual, **values)


def a_deferral(owner: str = "quiet", **values: object) -> Deferral:
    usual = Deferral(
        owner=owner,
        reason="somebody is still writing",
        attempts=1,
        first_deferred_at=TIME,
        deferred_until=Timestamp(2026, 11, 21, 12, 0, 30, tzinfo=UTC),
        deadline=Timestamp(2026, 11, 28, 12, tzinfo=UTC),
    )
    return replace(usual, **values)


def a_queued_action(action_id: str = "a-1", **values: object) -> QueuedAction:
    usual = QueuedAction(id=action_id, position=Position(1, 0), target="github", since=TIME)
    return replace(usual, **values)


def an_action(action_id: str = "", **values: object) -> Action:
    usual = Action(id=action_id, target=Target("github", {"pr": 7}), payload=Comment("Noted."))
    return replace(usual, **values)


def admitted(event_id: str = "e1", offset: int = 0, **values: object) -> Change:
    """Return the first change of an event."""
    came_in = Intake(position=Position(1, offset), type="pr_comment", source="github", digest="d")
    return replace(Change(event_id=event_id, verdict="admitted", state="pending", intake=came_in), **values)


def folded(
    state: DispatchState, *changes: Change, by: str = "prloom", at: Timestamp = TIME, **parts: object
) -> DispatchState:
    """Fold one decision, given by its changes and other parts, into a state."""
    decision = Decision(seq=state.seq + 1, stage="test", by=by, changes=changes, **parts)  # type: ignore[arg-type]
    outbox = {action.id: Position(1, 10 * number) for number, action in enumerate(decision.actions)}
    return projection.fold(state, decision, at=at, end=Cursor(1, state.seq + 1), outbox=outbox, tail=state.outbox)
