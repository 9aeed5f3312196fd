from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_states import a_queued_action, an_open_event
from values import an_event

from prloom.core.delivery import outbox
from prloom.core.events import admission
from prloom.core.events.admission import OwnPosts
from prloom.core.text import bounds
from prloom.model.decision import Thread
from prloom.model.event import Author, Target, digest
from prloom.model.plan import Plan
from prloom.model.record import Position
from prloom.model.state import DispatchState, Receipt

OURS = outbox.action_id("e1", "triage", 0)
OTHER = outbox.action_id("e2", "triage", 0)
FOREIGN = outbox.action_id("of another prloom", "triage", 0)
AT = "2026-11-21T12:00:00.000Z"


def own_posts(*receipts: Receipt, issued: Collection[str] = (OURS, OTHER)) -> OwnPosts:
    return OwnPosts(
        receipts={receipt.action_id: receipt for receipt in receipts},
        remote_ids=frozenset(receipt.remote_id for receipt in receipts if receipt.remote_id),
        issued=lambda action: action in issued,
    )


# ---- which plan it is for

PLANS = (Plan(id="pr-7", branch="a", pr=7), Plan(id="pr-8", branch="b", pr=8), Plan(id="local", branch="c"))


@pytest.mark.parametrize(
    ("pr", "context", "plan"),
    [
        (7, {}, "pr-7"),
        (8, {}, "pr-8"),
        (9, {}, None),
        (None, {}, None),
        (None, {"plan": "local"}, "local"),
        (7, {"plan": "local"}, "local"),
        (7, {"plan": "gone"}, None),
        (None, {"plan": 7}, None),
    ],
)
def test_an_event_is_for_the_plan_that_it_names_or_whose_pull_request_it_is_about(
    pr: int | None, context: Mapping[str, object], plan: str | None
) -> None:
    assert admission.route(an_event(pr=pr, context=context), PLANS) == plan


# ---- prloom does not answer itself


@pytest.mark.parametrize("remote", ["c9", 9])
def test_a_post_in_the_ledger_is_our_own_whatever_its_text_says(remote: str | int) -> None:
    event_store = own_posts(Receipt(OURS, AT, remote_id=str(remote)))

    assert admission.is_own_post(an_event(body="edited by hand", context={"remoteId": remote}), event_store)


def test_what_is_no_name_of_a_post_names_none() -> None:
    event_store = own_posts(Receipt(OURS, AT, remote_id="True"), Receipt(OTHER, AT, remote_id="['c1']"))

    assert not admission.is_own_post(an_event(context={"remoteId": True}), event_store)
    assert not admission.is_own_post(an_event(context={"remoteId": ["c1"]}), event_store)


def test_a_post_whose_receipt_was_lost_is_known_by_its_marker() -> None:
    assert admission.is_own_post(
        an_event(body=f"Noted.\n\n{outbox.marker(OURS)}", context={"remoteId": "c1"}), own_posts()
    )
    assert admission.is_own_post(an_event(body=f"Noted.\r\n{outbox.marker(OURS)}\r\n"), own_posts())


@pytest.mark.parametrize("remote", ["c1", 1])
def test_a_post_with_its_marker_in_the_place_that_the_receipt_names_is_our_own(remote: str | int) -> None:
    event_store = OwnPosts({OURS: Receipt(OURS, AT, remote_id="1")}, frozenset(), lambda _: True)

    assert admission.is_own_post(an_event(body=outbox.marker(OURS), context={"remoteId": remote}), event_store) is (
        remote == 1
    )


@pytest.mark.parametrize(
    "body",
    [
        f"> Noted.\n> {outbox.marker(OURS)}\n\nI don't think so.",
        f"You wrote {outbox.marker(OURS)}, but why?",
        f"- {outbox.marker(OURS)}",
        f"{outbox.marker(OURS)} {outbox.marker(OTHER)}",
        "<!-- prloom:action a-0 -->",
        "<!-- prloom:action -->",
        "",
    ],
)
def test_whoever_quotes_us_is_not_taken_for_us(body: str) -> None:
    assert not admission.is_own_post(an_event(body=body), own_posts())


def test_whoever_copies_our_whole_comment_is_not_taken_for_us() -> None:
    event_store = own_posts(Receipt(OURS, AT, remote_id="c1"))
    copied = an_event(body=f"Noted.\n{outbox.marker(OURS)}", context={"remoteId": "c2"})

    assert not admission.is_own_post(copied, event_store)


def test_the_marker_of_an_action_that_was_never_ours_proves_nothing() -> None:
    assert not admission.is_own_post(an_event(body=outbox.marker(FOREIGN)), own_posts())


@pytest.mark.parametrize(
    ("body", "own"),
    [
        (f"{outbox.marker(FOREIGN)}\n\nNoted.", True),
        (f"\n {outbox.marker(FOREIGN)}", True),
        (f"> {outbox.marker(FOREIGN)}\n\nNoted.", False),
        (f"Noted.\n\n{outbox.marker(FOREIGN)}", False),
        ("Noted.", False),
    ],
)
def test_a_post_of_prlooms_own_account_that_begins_with_a_marker_is_our_own_whatever_is_known_of_it(
    body: str, *, own: bool
) -> None:
    nothing = own_posts(issued=())

    assert admission.is_own_post(an_event(body=body, context={"ownAccount": True}), nothing) is own
    assert not admission.is_own_post(an_event(body=body), nothing)
    assert not admission.is_own_post(an_event(body=body, context={"ownAccount": "yes"}), nothing)


def test_of_a_poll_those_of_our_own_posts_are_named_whose_delivery_is_not_on_record() -> None:
    event_store = own_posts(Receipt(OURS, AT, remote_id="c1"))
    events = [
        an_event("delivered", body=outbox.marker(OURS), context={"remoteId": "c1"}),
        an_event("lost", body=outbox.marker(OTHER), context={"remoteId": "c2"}),
        an_event("of another prloom", body=outbox.marker(FOREIGN), context={"ownAccount": True}),
        an_event("quoted", body=f"> {outbox.marker(OTHER)}"),
    ]

    assert {action: event.id for action, event in admission.unrecorded_posts(events, event_store).items()} == {
        OTHER: "lost",
        FOREIGN: "of another prloom",
    }


def test_a_login_alone_proves_nothing() -> None:
    # The operator's own account writes both prloom's answers and the operator's comments.
    assert not admission.is_own_post(
        an_event(author=Author("operator", "admin")), own_posts(Receipt(OURS, AT, remote_id="c1"))
    )


@given(body=st.text(), remote=st.none() | st.text() | st.integers() | st.booleans() | st.lists(st.text()))
def test_no_text_without_our_marker_is_taken_for_our_own(body: str, remote: object) -> None:
    event_store = OwnPosts({}, frozenset(), lambda _: True)
    event = an_event(body=body, context={} if remote is None else {"remoteId": remote})

    assert not admission.is_own_post(event, event_store) or "prloom:action" in body


# ---- what is news


def test_of_a_poll_the_known_the_own_and_the_repeated_are_no_news() -> None:
    events = [
        an_event("known"),
        an_event("fresh", body="first"),
        an_event("own", body=outbox.marker(OURS)),
        an_event("fresh", body="again"),
        an_event("too"),
    ]

    found = admission.new_events(events, lambda event_id: event_id == "known", own_posts())

    assert [(event.id, event.body) for event in found] == [("fresh", "first"), ("too", "please")]


@pytest.mark.parametrize(
    ("bot", "older", "news"),
    [(True, "known", False), (True, "never seen", True), (False, "known", True), (True, None, True)],
)
def test_a_bots_edit_of_its_own_comment_is_no_news(older: str | None, *, bot: bool, news: bool) -> None:
    event = an_event("edit", author=Author("coverage", bot=bot), context={"supersedes": older} if older else {})

    assert bool(admission.new_events([event], lambda event_id: event_id == "known", own_posts())) is news


def test_a_bots_comment_and_its_edit_in_one_poll_are_news_once() -> None:
    bot = Author("coverage", bot=True)
    events = [an_event("a", author=bot), an_event("b", author=bot, context={"supersedes": "a"})]

    assert [event.id for event in admission.new_events(events, lambda _: False, own_posts())] == ["a"]


# ---- what is kept of an event


def test_of_an_event_is_kept_where_it_is_and_enough_to_list_it() -> None:
    event = an_event()

    kept = admission.intake(event, Position(3, 14))

    assert (kept.position, kept.type, kept.source) == (Position(3, 14), "pr_comment", "github")
    assert (kept.author, kept.created_at, kept.digest) == ("ann", AT, digest(event))


@pytest.mark.parametrize(
    ("context", "written_at"),
    [
        ({}, AT),
        ({"updatedAt": "2026-11-22T00:00:00Z"}, "2026-11-22T00:00:00Z"),
        ({"updatedAt": None}, AT),
        ({"updatedAt": 5}, AT),
        ({"supersedes": "e0"}, None),
        ({"supersedes": "e0", "updatedAt": "2026-11-22T00:00:00Z"}, "2026-11-22T00:00:00Z"),
    ],
)
def test_a_text_was_written_when_it_got_its_present_form(context: Mapping[str, object], written_at: str | None) -> None:
    assert admission.intake(an_event(context=context), Position(1, 0)).written_at == written_at


def test_a_title_that_is_too_long_for_a_list_is_cut_and_the_whole_of_it_begins_the_body() -> None:
    title = "t" * (bounds.REASON + 1)

    short = admission.shortened(an_event(title=title, body="b"))

    assert short.title == "t" * (bounds.REASON - 1) + "…"
    assert short.body == f"{title}\n\nb"
    assert admission.shortened(short) is short


def test_a_notice_that_is_cut_stays_a_notice() -> None:
    notice = an_event(type="pr_pushed", title="t" * 5000, body="", author=None)

    assert admission.shortened(notice).notice


def test_an_event_without_an_author_is_kept_without_one() -> None:
    assert admission.intake(an_event(author=None), Position(1, 0)).author is None


# ---- edits


@pytest.mark.parametrize(
    ("older", "ends"), [("open", True), ("coming", True), ("done", False), ("edit", False), (None, False), (7, False)]
)
def test_an_edit_ends_what_it_replaces_while_that_is_open(older: object, *, ends: bool) -> None:
    edit = an_event("edit", context={"supersedes": older})

    coming = {"coming": admission.intake(an_event("coming"), Position(1, 0))}
    changes = admission.superseded(edit, {"open": an_open_event("open"), "edit": an_open_event("edit")}, coming)

    assert bool(changes) is ends
    for change in changes:
        assert (change.event_id, change.verdict, change.state) == (older, "superseded", "superseded")
        assert change.reason == "edited: edit"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("comment_deleted", "its comment was deleted"),
        ("check_passed", "the check has passed since"),
        ("check_failed", "the check failed again"),
        ("conflict_resolved", "the conflict is resolved"),
        ("merge_conflict", "reported again"),
    ],
)
def test_an_event_that_takes_back_another_ends_it_and_says_why(kind: str, why: str) -> None:
    later = an_event("later", type=kind, title="", body="", author=None, context={"supersedes": "open"})

    (change,) = admission.superseded(later, {"open": an_open_event("open")}, {})

    assert (change.event_id, change.state, change.reason) == ("open", "superseded", f"{why}: later")


A, B = "a" * 40, "b" * 40


@pytest.mark.parametrize(
    ("kind", "commit", "over"),
    [
        ("check_failed", A, True),
        ("check_failed", B, False),
        ("check_failed", B[:7], False),
        ("check_failed", None, False),
        ("check_failed", 7, False),
        ("merge_conflict", A, False),
        ("pr_review", A, False),
    ],
)
@pytest.mark.parametrize("is_open", [True, False])
def test_a_new_head_ends_what_was_found_out_about_another_commit(
    kind: str, commit: object, *, over: bool, is_open: bool
) -> None:
    taken_in = admission.intake(an_event("old", type=kind, context={"commit": commit}), Position(1, 0))
    opened, coming = {}, {"old": taken_in}
    if is_open:
        opened, coming = {"old": an_open_event("old", type=kind, commit=taken_in.commit)}, {}
    pushed = an_event("push", type="pr_pushed", title="", body="", author=None, context={"commit": B, "before": A})

    changes = admission.superseded(pushed, opened, coming)

    expected = [("old", "superseded", f"the head is {B[:12]} now: push")] if over else []
    assert [(each.event_id, each.state, each.reason) for each in changes] == expected


def test_a_comment_that_claims_a_new_head_ends_nothing() -> None:
    claim = an_event("claim", type="pr_pushed", author=Author("eve"), context={"commit": B})

    assert admission.superseded(claim, {"old": an_open_event("old", type="check_failed", commit=A)}, {}) == ()


def test_an_event_waits_while_it_is_open_or_a_todo_or_a_reply_of_it_is_not_done() -> None:
    state = DispatchState(
        open={"open": an_open_event("open")},
        todos={"t1": (), "t2": (Thread("todo", Target("local")),)},
        queue={
            "a-1": a_queued_action("a-1", event_id="reply"),
            "a-2": a_queued_action("a-2", event_id="failed", failed=True),
            "a-3": a_queued_action("a-3", event_id="thumb", courtesy=True),
            "a-4": a_queued_action("a-4"),
        },
    )

    events = ("open", "todo", "reply", "failed", "thumb", "ended")

    assert [each for each in events if admission.waits(each, state)] == ["open", "todo", "reply", "failed"]


@pytest.mark.parametrize(("kind", "notice"), [("pr_pushed", True), ("pr_comment", False)])
def test_whether_an_event_is_a_notice_is_kept(kind: str, *, notice: bool) -> None:
    event = an_event(type=kind, title="", body="", author=None)

    assert admission.intake(event, Position(1, 0)).notice is notice
