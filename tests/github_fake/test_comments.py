"""Comments in the conversation: posted, edited, deleted, locked out, and by whom."""

from __future__ import annotations

import pytest


def test_a_comment_moves_the_pull_request_and_an_edit_does_not(api, hub, clock):
    pr = hub.pull()
    clock.advance(minutes=1)
    comment = hub.comment(pr, "ann", "Hello")
    clock.advance(minutes=1)
    hub.edit(comment, "Hello!")

    assert api.get(f"/pulls/{pr.number}").json()["updated_at"] == "2026-01-01T12:01:00Z"
    assert api.get(f"/issues/comments/{comment.id}").json()["updated_at"] == "2026-01-01T12:02:00Z"


@pytest.mark.parametrize("told", [False, True])
def test_a_deletion_lowers_the_counts_and_moves_the_pull_request_only_where_that_is_chosen(api, hub, clock, *, told):
    hub.world.deletions_told = told
    pr = hub.pull()
    posts = [hub.comment(pr, "ann", "Hello"), hub.inline(pr, "ann", "Why?")]
    clock.advance(minutes=1)
    for post in posts:
        hub.delete(post)
    shown = api.get(f"/pulls/{pr.number}").json()

    assert (shown["comments"], shown["review_comments"]) == (0, 0)
    assert shown["updated_at"] == f"2026-01-01T12:0{int(told)}:00Z"


@pytest.mark.parametrize(
    "path", ["/issues/1/comments", "/pulls/1/comments", "/pulls/1/reviews", "/pulls/1/comments/{}/replies"]
)
def test_a_locked_conversation_takes_no_comments(api, hub, path):
    pr = hub.pull()
    root = hub.inline(pr, "ann", "Why?")
    hub.lock(pr)
    body = {
        "/pulls/1/comments": {"body": "x", "path": "src/engine.py", "line": 3, "commit_id": pr.head.sha},
        "/pulls/1/reviews": {"body": "x", "event": "COMMENT"},
    }.get(path, {"body": "x"})
    refused = api.post(path.format(root.id), body)

    assert refused.status_code == 403
    assert "locked" in refused.json()["message"]
    assert "retry-after" not in refused.headers


@pytest.mark.parametrize("body", ["", "   ", "x" * 65_537])
def test_an_empty_or_endless_body_is_refused(api, hub, body):
    assert api.post(f"/issues/{hub.pull().number}/comments", {"body": body}).status_code == 422


def test_the_comments_of_a_deleted_account_are_nobodys(api, hub):
    pr = hub.pull()
    hub.comment(pr, "zoe", "Bye")
    hub.forget("zoe")

    assert api.get("/issues/comments").json()[0]["user"] is None
    hub.world.ghosts = "named"
    hub.comment(pr, "ann", "Where did she go?")
    assert api.get("/issues/comments").json()[0]["user"]["login"] == "ghost"


def test_a_pull_request_of_a_deleted_account_is_nobodys(api, hub):
    pr = hub.pull(by="zoe")
    hub.forget("zoe")

    assert api.get(f"/pulls/{pr.number}").json()["user"] is None
    assert api.get("/pulls").json()[0]["user"] is None


def test_a_reaction_moves_no_time(api, hub, clock):
    comment = hub.comment(hub.pull(), "ann", "Hello")
    clock.advance(minutes=1)
    hub.react(comment, "prloom", "eyes")

    assert api.get(f"/issues/comments/{comment.id}").json()["updated_at"] == "2026-01-01T12:00:00Z"
