from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from prloom.core.commands import requests
from prloom.core.commands.requests import OperatorRequest
from prloom.model.decision import Change
from prloom.model.event import Event
from prloom.model.state import DispatchState, OpenEvent, QueuedAction

Make = Callable[..., OpenEvent]
MakeAction = Callable[..., QueuedAction]

AT = "2026-11-21T12:00:00.000Z"


@pytest.fixture
def state(an_open_event: Make, a_queued_action: MakeAction) -> DispatchState:
    """One event of each open state, named after it, and an action of each kind."""
    events = [an_open_event(name, state=name) for name in ("pending", "deferred", "held", "parked")]
    actions = [
        a_queued_action("waiting", event_id="deferred"),
        a_queued_action("failed", event_id="deferred", failed=True),
        a_queued_action("lost", failed=True),
    ]
    return DispatchState(open={event.id: event for event in events}, queue={action.id: action for action in actions})


def ends(changes: tuple[Change, ...]) -> list[tuple[str, str, str]]:
    return [(change.event_id, change.verdict, change.state) for change in changes]


TEXTS = st.lists(st.text(), max_size=3).map(tuple)


@given(
    request=st.builds(
        OperatorRequest,
        id=st.text(min_size=1),
        verb=st.sampled_from(["retry", "approve", "drop", "poll"]),
        ids=TEXTS,
        states=TEXTS,
        reason=st.none() | st.text(),
        digests=st.dictionaries(st.text(), st.text(), max_size=3),
    )
)
def test_a_request_comes_out_of_the_file_as_it_went_in(request: OperatorRequest) -> None:
    assert requests.from_event(requests.to_event(request, AT)) == request


@pytest.mark.parametrize(
    "values", [{"source": "github"}, {"type": "pr_comment"}, {"type": "rm -rf"}, {"source": "", "type": ""}]
)
def test_what_is_no_request_is_not_carried_out(values: dict[str, str]) -> None:
    event = requests.to_event(OperatorRequest("r1", "retry"), AT)

    assert requests.from_event(replace(event, **values)) is None


@pytest.mark.parametrize("junk", [None, 7, "all", {"a": 1}, [7, None]])
def test_a_request_with_junk_in_it_asks_for_nothing(junk: object) -> None:
    context = {"ids": junk, "states": junk, "reason": [junk], "digests": [junk]}
    event = Event(id="r1", source=requests.SOURCE, type="drop", context=context)

    assert requests.from_event(event) == OperatorRequest("r1", "drop")


@pytest.mark.parametrize(
    ("request_", "changes"),
    [
        (OperatorRequest("r", "retry", ids=("deferred",)), [("deferred", "retried", "pending")]),
        (OperatorRequest("r", "retry", ids=("parked", "gone")), [("parked", "retried", "pending")]),
        (OperatorRequest("r", "retry", ids=("pending", "held")), []),
        (OperatorRequest("r", "retry", states=("deferred",)), [("deferred", "retried", "pending")]),
        (OperatorRequest("r", "retry", states=("parked",), ids=("parked",)), [("parked", "retried", "pending")]),
        (OperatorRequest("r", "retry", states=("held", "pending")), []),
        (OperatorRequest("r", "approve", ids=("held",)), [("held", "vouched", "pending")]),
        (OperatorRequest("r", "approve", ids=("pending", "deferred", "parked", "gone")), []),
        (OperatorRequest("r", "drop", ids=("held",)), [("held", "dropped", "dropped")]),
        (OperatorRequest("r", "drop", ids=("pending", "gone")), [("pending", "dropped", "dropped")]),
        (OperatorRequest("r", "drop"), []),
        (OperatorRequest("r", "poll", ids=("held",)), []),
    ],
)
def test_a_request_moves_what_it_names_and_what_can_be_moved(
    state: DispatchState, request_: OperatorRequest, changes: list[tuple[str, str, str]]
) -> None:
    assert ends(requests.changes(request_, state)) == changes


@pytest.mark.parametrize(("digest", "vouched"), [("d", True), ("another text's", False)])
def test_an_approval_is_void_where_the_event_has_another_text_than_was_vouched_for(
    state: DispatchState, digest: str, *, vouched: bool
) -> None:
    request = OperatorRequest("r", "approve", ids=("held",), digests={"held": digest})

    assert bool(requests.changes(request, state)) is vouched


@pytest.mark.parametrize(
    ("verb", "reason", "said"),
    [
        ("drop", "spam", "spam"),
        ("drop", None, "dropped by the operator"),
        ("approve", None, "approved by the operator"),
        ("approve", "by ann", "approved by ann"),
    ],
)
def test_a_request_says_why(state: DispatchState, verb: str, reason: str | None, said: str) -> None:
    request = OperatorRequest("r", verb, ids=("held",), reason=reason)  # type: ignore[arg-type]

    (change,) = requests.changes(request, state)

    assert change.reason == said


@pytest.mark.parametrize(
    ("request_", "revived"),
    [
        (OperatorRequest("r", "retry", ids=("failed",)), ["failed"]),
        (OperatorRequest("r", "retry", ids=("waiting",)), ["waiting"]),
        (OperatorRequest("r", "retry", ids=("deferred",)), ["failed"]),
        (OperatorRequest("r", "retry", ids=("gone",)), []),
        (OperatorRequest("r", "retry", states=("parked",)), []),
        (OperatorRequest("r", "drop", ids=("failed",)), []),
    ],
)
def test_a_retry_revives_the_actions_that_it_names_and_the_failed_ones_of_its_events(
    state: DispatchState, request_: OperatorRequest, revived: list[str]
) -> None:
    assert [delivery.action_id for delivery in requests.deliveries(request_, state)] == revived


@pytest.mark.parametrize("verb", ["retry", "approve", "drop"])
def test_a_request_that_is_carried_out_twice_changes_nothing_the_second_time(
    state: DispatchState, verb: str, folded: Callable[..., DispatchState]
) -> None:
    request = OperatorRequest("r", verb, ids=("deferred", "held", "parked"))  # type: ignore[arg-type]

    after = folded(state, *requests.changes(request, state))

    assert requests.changes(request, state) != ()
    assert requests.changes(request, after) == ()
