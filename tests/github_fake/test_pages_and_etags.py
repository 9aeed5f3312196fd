"""Lists: pages by links, `since`, order, and answers that were given before."""

from __future__ import annotations

from datetime import timedelta

import pytest


@pytest.fixture
def talkative(hub):
    """A pull request with 65 comments."""
    pr = hub.pull()
    for number in range(65):
        hub.comment(pr, "ann", f"Comment {number}")
    return pr


def test_more_than_a_hundred_to_a_page_are_not_to_be_had(api, hub):
    pr = hub.pull()
    for number in range(101):
        hub.comment(pr, "ann", str(number))

    assert len(api.get("/issues/comments", per_page=500).json()) == 100


def test_a_page_that_no_link_has_named_is_complained_of(api, talkative, hub):
    api.get("/issues/comments", per_page=30, page=2)

    assert hub.complaints == ["GET /repos/ada/engine/issues/comments: page 2 by a URL that no Link named"]


def test_a_wrapped_list_counts_all_and_pages_too(api, hub):
    pr = hub.pull()
    for number in range(3):
        hub.check(pr, f"check {number}", "success")
    answer = api.get(f"/commits/{pr.head.sha}/check-runs", per_page=2)

    assert answer.json()["total_count"] == 3
    assert len(answer.json()["check_runs"]) == 2
    assert "next" in answer.links


def test_since_includes_that_very_second(api, hub, clock):
    pr = hub.pull()
    clock.advance(milliseconds=300)
    hub.comment(pr, "ann", "on the second")
    clock.advance(seconds=1)
    hub.comment(pr, "ann", "after it")
    query = {"sort": "updated", "direction": "asc"}

    assert len(api.get("/issues/comments", since="2026-01-01T12:00:00Z", **query).json()) == 2
    assert len(api.get("/issues/comments", since="2026-01-01T12:00:01Z", **query).json()) == 1
    assert api.get("/issues/comments", since="2026-01-01T12:00:02Z", **query).json() == []


def test_an_edit_moves_a_comment_to_the_end_of_what_was_updated(api, hub, clock):
    pr = hub.pull()
    first, _ = hub.comment(pr, "ann", "first"), hub.comment(pr, "ann", "second")
    clock.advance(minutes=1)
    hub.edit(first, "first, edited")

    newest = api.get("/issues/comments", sort="updated", direction="asc").json()
    assert [comment["body"] for comment in newest] == ["second", "first, edited"]
    assert [comment["body"] for comment in api.get("/issues/comments").json()] == ["first, edited", "second"]


def test_repository_wide_lists_cover_every_pull_request_and_the_issues_too(api, hub):
    one, two, issue = hub.pull(), hub.pull(), hub.issue()
    for place in (one, two, issue):
        hub.comment(place, "ann", "Hello")
    hub.inline(one, "ann", "Why?")
    hub.inline(two, "ann", "Why?")

    assert [comment["html_url"].split("#")[0] for comment in api.get("/issues/comments").json()] == [
        "https://github.com/ada/engine/pull/1",
        "https://github.com/ada/engine/pull/2",
        "https://github.com/ada/engine/issues/3",
    ]
    assert len(api.get("/pulls/comments").json()) == 2


def test_a_comment_that_is_seen_late_is_older_than_those_seen_before(api, hub):
    pr = hub.pull()
    hub.comment(pr, "ann", "seen at once")
    hub.comment(pr, "ann", "seen late", late=timedelta(seconds=3))

    newest = api.get("/issues/comments", sort="updated", direction="asc").json()
    assert [comment["body"] for comment in newest] == ["seen late", "seen at once"]


def test_a_304_costs_as_much_as_any_answer_to_whoever_is_not(signed_in, hub, talkative):
    stranger = signed_in(None)
    tag = stranger.get("/issues/comments").headers["etag"]

    assert stranger.get("/issues/comments", headers={"if-none-match": tag}).status_code == 304
    assert [asked.charged for asked in hub.asked] == [True, True]


def test_an_etag_of_one_account_is_that_of_another_only_where_both_see_the_same(signed_in, hub):
    pr = hub.pull()
    hub.review(pr, "ann", "PENDING", "not yet")
    tag = signed_in("ann").get(f"/pulls/{pr.number}/reviews").headers["etag"]

    assert signed_in("ada").get(f"/pulls/{pr.number}/reviews", headers={"if-none-match": tag}).status_code == 200


def test_what_a_test_sets_by_hand_is_in_the_next_answer(api, hub):
    pr = hub.pull(by="ann")
    assert api.get(f"/pulls/{pr.number}").json()["user"]["login"] == "ann"

    pr.author = hub.who("eve")
    hub.world.repository.private = True

    answer = api.get(f"/pulls/{pr.number}").json()
    assert answer["user"]["login"] == "eve"
    assert answer["base"]["repo"]["private"] is True
