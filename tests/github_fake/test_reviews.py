"""Reviews, comments on lines, and the threads that these form."""

from __future__ import annotations

from typing import Any

import pytest

PLACE = {"path": "src/engine.py", "line": 3, "side": "RIGHT"}


@pytest.fixture
def pr(hub):
    return hub.pull()


def inline(pr, **more: Any):
    return {"body": "Why?", "commit_id": pr.head.sha, **PLACE, **more}


def states(api, pr):
    return [(review["state"], review["body"]) for review in api.get(f"/pulls/{pr.number}/reviews").json()]


def test_a_submitted_review_moves_the_pull_request(api, hub, pr, clock):
    clock.advance(minutes=1)
    hub.review(pr, "ann", "APPROVED")

    assert api.get(f"/pulls/{pr.number}").json()["updated_at"] == "2026-01-01T12:01:00Z"


def test_a_reply_cannot_be_replied_to(api, hub, pr):
    reply = hub.reply_in_thread(hub.inline(pr, "ann", "Why?"), "zoe", "Because.")

    assert api.post(f"/pulls/{pr.number}/comments/{reply.id}/replies", {"body": "Oh"}).status_code == 422


def test_a_submitted_draft_shows_comments_that_are_older_than_their_showing(api, hub, pr, clock):
    draft = hub.review(pr, "ann", "PENDING", comments=[("src/engine.py", 5, "This leaks")])
    clock.advance(hours=1)
    hub.submit(draft, "COMMENTED")
    shown = api.get("/pulls/comments").json()[0]

    assert (shown["created_at"], shown["updated_at"]) == ("2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z")


@pytest.mark.parametrize(
    ("review", "reason"),
    [
        ({"event": "APPROVE"}, "Can not approve your own pull request"),
        ({"event": "REQUEST_CHANGES", "body": "x"}, "Can not request changes on your own pull request"),
        ({"event": "COMMENT"}, "body is required"),
        ({"event": "COMMENT", "body": "x", "comments": [{"path": "src/engine.py", "line": 99, "body": "x"}]}, "Line"),
        ({"event": "COMMENT", "body": "x", "comments": [{"path": "nowhere.py", "line": 1, "body": "x"}]}, "Path"),
    ],
)
def test_a_review_that_cannot_be_is_refused_whole(signed_in, hub, pr, review, reason):
    refused = signed_in("ann").post(f"/pulls/{pr.number}/reviews", review)

    assert refused.status_code == 422
    assert reason in refused.json()["errors"][0]
    assert hub.posts("ann") == []


@pytest.mark.parametrize("place", [{"line": 99}, {"side": "LEFT", "line": 9}, {"path": "nowhere.py"}])
def test_a_comment_on_what_is_not_in_the_diff_is_refused(api, hub, pr, place):
    refused = api.post(f"/pulls/{pr.number}/comments", inline(pr, **place))

    assert refused.status_code == 422
    assert hub.posts("prloom") == []


def test_a_comment_on_another_commit_is_refused(api, pr):
    assert api.post(f"/pulls/{pr.number}/comments", inline(pr, commit_id="0" * 40)).status_code == 422


def test_a_comment_can_stand_on_removed_lines_on_several_and_on_the_file(api, pr):
    removed = api.post(f"/pulls/{pr.number}/comments", inline(pr, side="LEFT", line=2)).json()
    several = api.post(f"/pulls/{pr.number}/comments", inline(pr, start_line=4, start_side="RIGHT", line=8)).json()
    whole = {"body": "Why?", "commit_id": pr.head.sha, "path": "src/engine.py", "subject_type": "file"}
    file = api.post(f"/pulls/{pr.number}/comments", whole).json()

    assert (removed["side"], removed["line"]) == ("LEFT", 2)
    assert (several["start_line"], several["line"]) == (4, 8)
    assert (file["subject_type"], file["line"]) == ("file", None)


def test_ids_need_more_than_31_bits(hub, pr):
    assert hub.inline(pr, "ann", "Why?").id > 2**31
