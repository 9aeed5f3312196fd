from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plan_states import a_queued_action, an_open_event, folded

from prloom.core.commands import requests
from prloom.core.commands.requests import OperatorRequest, RequestVerb
from prloom.model.decision import Change, DeliveryChange
from prloom.model.event import Event
from prloom.model.record import Position
from prloom.model.state import DispatchState

AT = "2026-11-21T12:00:00.000Z"


@pytest.fixture
def state() -> DispatchState:
    """One event of each open state, named after it, and an action of each kind."""
    events = [an_open_event(name, state=name) for name in ("pending", "deferred", "held", "parked")]
    actions = [
        a_queued_action("waiting", event_id="deferred"),
        a_queued_action("failed", event_id="deferred", failed=True),
        a_queued_action("lost", failed=True),
        a_queued_action("withheld", event_id="held", failed=True, withheld=True),
        a_queued_action("also withheld", event_id="held", failed=True, withheld=True),
        a_queued_action("draft", event_id="deferred", draft=True, position=Position(1, 70)),
        a_queued_action("another draft", event_id="deferred", draft=True),
    ]
    return DispatchState(open={event.id: event for event in events}, queue={action.id: action for action in actions})


def ends(changes: tuple[Change, ...]) -> list[tuple[str, str, str]]:
    return [(change.event_id, change.verdict, change.state) for change in changes]


TEXTS = st.lists(st.text(), max_size=3).map(tuple)


@given(
    request=st.builds(
        OperatorRequest,
        id=st.text(min_size=1),
        verb=st.sampled_from(get_args(RequestVerb)),
        ids=TEXTS,
        states=TEXTS,
        reason=st.none() | st.text(),
        digests=st.dictionaries(st.text(), st.text(), max_size=3),
        plan=st.none() | st.text(),
    )
)
def test_a_request_comes_out_of_the_file_as_it_went_in(request: OperatorRequest) -> None:
    event = requests.to_event(request, AT)

    assert (requests.from_event(event), event.created_at) == (request, AT)


@pytest.mark.parametrize(
    "values", [{"source": "github"}, {"type": "pr_comment"}, {"type": "rm -rf"}, {"source": "", "type": ""}]
)
def test_what_is_no_request_is_not_carried_out(values: dict[str, str]) -> None:
    event = requests.to_event(OperatorRequest("r1", "retry"), AT)

    assert requests.from_event(replace(event, **values)) is None


@pytest.mark.parametrize("junk", [None, 7, "all", {"a": 1}, [7, None]])
def test_a_request_with_junk_in_it_asks_for_nothing(junk: object) -> None:
    context = {"ids": junk, "states": junk, "reason": [junk], "digests": [junk], "plan": [junk]}
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


@pytest.mark.parametrize("verb", sorted({*get_args(RequestVerb)} - {"retry", "approve", "drop"}))
def test_a_request_about_a_plan_a_todo_or_a_draft_moves_no_event(state: DispatchState, verb: RequestVerb) -> None:
    assert requests.changes(OperatorRequest("r", verb, ids=tuple(state.open), states=tuple(state.open)), state) == ()


@pytest.mark.parametrize(("login", "approved_by"), [(None, "operator"), ("ann", "ann")])
def test_an_approval_is_in_the_name_of_who_gave_it(login: str | None, approved_by: str) -> None:
    held = an_open_event("e1", state="held")

    assert requests.approved([held], "by ann", login=login) == (
        Change(event_id="e1", verdict="vouched", state="pending", reason="approved by ann", approved_by=approved_by),
    )


@pytest.mark.parametrize(("digest", "vouched"), [("d", True), ("another text's", False)])
def test_an_approval_is_void_where_the_event_has_another_text_than_was_vouched_for(
    state: DispatchState, digest: str, *, vouched: bool
) -> None:
    request = OperatorRequest("r", "approve", ids=("held",), digests={"held": digest})

    assert bool(requests.changes(request, state)) is vouched


@pytest.mark.parametrize(
    ("verb", "named", "reason", "said"),
    [
        ("drop", "held", "spam", "spam"),
        ("drop", "held", None, "dropped by the operator"),
        ("approve", "held", None, "approved by the operator"),
        ("approve", "held", "by ann", "approved by ann"),
        ("retry", "parked", None, "a retry was requested"),
    ],
)
def test_a_request_says_why(state: DispatchState, verb: RequestVerb, named: str, reason: str | None, said: str) -> None:
    request = OperatorRequest("r", verb, ids=(named,), reason=reason)

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


DUE = DeliveryChange(action_id="draft", state="queued", attempts=0)
RELEASED = DeliveryChange(action_id="withheld", state="queued", attempts=0, released=True)
DROPPED = DeliveryChange(action_id="draft", state="dropped", attempts=0, error="dropped by the operator")


@pytest.mark.parametrize(
    ("request_", "deliveries"),
    [
        (OperatorRequest("r", "approve", ids=("withheld", "draft")), [RELEASED]),
        (OperatorRequest("r", "approve", ids=("held", "failed", "waiting")), []),
        (OperatorRequest("r", "retry", ids=("withheld", "draft")), [replace(RELEASED, released=False)]),
        (OperatorRequest("r", "draft_send", ids=("draft", "withheld", "waiting")), [DUE]),
        (OperatorRequest("r", "draft_send", ids=("draft", "deferred"), digests={"draft": "1-70"}), [DUE]),
        (OperatorRequest("r", "draft_send", ids=("draft",), digests={"draft": "1-0"}), []),
        (OperatorRequest("r", "draft_drop", ids=("draft", "failed", "deferred")), [DROPPED]),
    ],
)
def test_only_what_a_person_names_by_its_own_id_is_released_and_only_drafts_are_sent_or_dropped(
    state: DispatchState, request_: OperatorRequest, deliveries: list[DeliveryChange]
) -> None:
    assert list(requests.deliveries(request_, state)) == deliveries


@pytest.mark.parametrize("verb", ["retry", "approve", "drop"])
def test_a_request_that_is_carried_out_twice_changes_nothing_the_second_time(state: DispatchState, verb: str) -> None:
    request = OperatorRequest("r", verb, ids=("deferred", "held", "parked"))  # type: ignore[arg-type]

    after = folded(state, *requests.changes(request, state))

    assert requests.changes(request, state) != ()
    assert requests.changes(request, after) == ()
