"""Reviews, comments on lines, and the threads that these form."""

from __future__ import annotations

from typing import Any

import pytest
from fake_github import FileDiff

PLACE = {"path": "src/engine.py", "line": 3, "side": "RIGHT"}


@pytest.fixture
def pr(hub):
    return hub.pull()


def inline(pr, **more: Any):
    return {"body": "Why?", "commit_id": pr.head.sha, **PLACE, **more}


def states(api, pr):
    return [(review["state"], review["body"]) for review in api.get(f"/pulls/{pr.number}/reviews").json()]


def test_a_review_is_shown_with_its_state_its_text_and_its_comments(api, hub, pr):
    review = hub.review(pr, "ann", "CHANGES_REQUESTED", "Not yet", comments=[("src/engine.py", 5, "This leaks")])

    assert states(api, pr) == [("CHANGES_REQUESTED", "Not yet")]
    assert api.get(f"/pulls/{pr.number}/reviews/{review.id}/comments").json()[0]["body"] == "This leaks"
    shown = api.get("/pulls/comments").json()[0]
    assert (shown["path"], shown["line"], shown["side"]) == ("src/engine.py", 5, "RIGHT")
    assert shown["diff_hunk"].endswith("+new line 5")


def test_a_submitted_review_moves_the_pull_request(api, hub, pr, clock):
    clock.advance(minutes=1)
    hub.review(pr, "ann", "APPROVED")

    assert api.get(f"/pulls/{pr.number}").json()["updated_at"] == "2026-01-01T12:01:00Z"


def test_an_edited_review_moves_nothing(api, hub, pr, clock):
    review = hub.review(pr, "ann", "COMMENTED", "Hm")
    clock.advance(minutes=1)
    hub.edit(review, "Hm!")

    assert states(api, pr) == [("COMMENTED", "Hm!")]
    assert api.get(f"/pulls/{pr.number}").json()["updated_at"] == "2026-01-01T12:00:00Z"


def test_a_dismissed_review_says_so(api, hub, pr):
    hub.dismiss(hub.review(pr, "ann", "CHANGES_REQUESTED", "No"))

    assert states(api, pr) == [("DISMISSED", "No")]


def test_a_reply_in_a_thread_makes_a_comment_and_an_empty_review_of_the_same_account(api, hub, pr):
    root = hub.inline(pr, "ann", "Why?")
    reply = api.post(f"/pulls/{pr.number}/comments/{root.id}/replies", {"body": "Because."}).json()

    assert reply["in_reply_to_id"] == root.id
    assert (reply["path"], reply["line"]) == ("src/engine.py", 3)
    wrapper = api.get(f"/pulls/{pr.number}/reviews/{reply['pull_request_review_id']}").json()
    assert (wrapper["state"], wrapper["body"], wrapper["user"]["login"]) == ("COMMENTED", "", "prloom")


def test_a_reply_cannot_be_replied_to(api, hub, pr):
    reply = hub.reply_in_thread(hub.inline(pr, "ann", "Why?"), "zoe", "Because.")

    assert api.post(f"/pulls/{pr.number}/comments/{reply.id}/replies", {"body": "Oh"}).status_code == 422


def test_a_thread_whose_first_comment_was_deleted_cannot_be_continued(api, hub, pr):
    root = hub.inline(pr, "ann", "Why?")
    reply = hub.reply_in_thread(root, "zoe", "Because.")
    hub.delete(root)

    assert api.post(f"/pulls/{pr.number}/comments/{root.id}/replies", {"body": "Oh"}).status_code == 404
    assert api.get(f"/pulls/comments/{reply.id}").json()["in_reply_to_id"] == root.id


def test_a_draft_is_seen_by_its_author_alone(signed_in, hub, pr):
    hub.review(pr, "ann", "PENDING", "Not yet", comments=[("src/engine.py", 5, "This leaks")])
    ann, prloom = signed_in("ann"), signed_in("prloom")

    assert states(ann, pr) == [("PENDING", "Not yet")]
    assert "submitted_at" not in ann.get(f"/pulls/{pr.number}/reviews").json()[0]
    assert states(prloom, pr) == []
    assert ann.get("/pulls/comments").json() == prloom.get("/pulls/comments").json() == []


def test_a_submitted_draft_shows_comments_that_are_older_than_their_showing(api, hub, pr, clock):
    draft = hub.review(pr, "ann", "PENDING", comments=[("src/engine.py", 5, "This leaks")])
    clock.advance(hours=1)
    hub.submit(draft, "COMMENTED")
    shown = api.get("/pulls/comments").json()[0]

    assert (shown["created_at"], shown["updated_at"]) == ("2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z")


def test_a_comment_of_an_account_with_a_draft_is_absorbed_and_nobody_sees_it(api, hub, pr):
    hub.review(pr, "prloom", "PENDING", "thinking")
    posted = api.post(f"/pulls/{pr.number}/comments", inline(pr))

    assert posted.status_code == 201
    assert api.get(f"/pulls/{pr.number}/comments").json() == []
    assert api.get(f"/pulls/comments/{posted.json()['id']}").status_code == 404


def test_a_reply_of_an_account_with_a_draft_is_absorbed_too(api, hub, pr):
    root = hub.inline(pr, "ann", "Why?")
    hub.review(pr, "prloom", "PENDING", "thinking")
    posted = api.post(f"/pulls/{pr.number}/comments/{root.id}/replies", {"body": "Because."})

    assert posted.status_code == 201
    assert [comment["id"] for comment in api.get("/pulls/comments").json()] == [root.id]


def test_a_comment_of_an_account_with_a_draft_may_be_refused_instead(api, hub, pr):
    hub.world.drafts = "refuse"
    hub.review(pr, "prloom", "PENDING", "thinking")
    refused = api.post(f"/pulls/{pr.number}/comments", inline(pr))

    assert refused.status_code == 422
    assert "one pending review" in refused.json()["errors"][0]["message"]


def test_an_absorbed_comment_may_be_readable_to_its_author(api, signed_in, hub, pr):
    hub.world.drafts_readable = True
    draft = hub.review(pr, "prloom", "PENDING", "thinking")
    posted = api.post(f"/pulls/{pr.number}/comments", inline(pr)).json()

    assert api.get(f"/pulls/comments/{posted['id']}").json()["pull_request_review_id"] == draft.id
    assert signed_in("ann").get(f"/pulls/comments/{posted['id']}").status_code == 404


def test_a_client_reviews_in_one_request(api, pr):
    body = {"event": "REQUEST_CHANGES", "body": "Two things", "comments": [{**PLACE, "body": "This leaks"}]}
    posted = api.post(f"/pulls/{pr.number}/reviews", body)

    assert posted.status_code == 200
    assert states(api, pr) == [("CHANGES_REQUESTED", "Two things")]
    assert [comment["body"] for comment in api.get("/pulls/comments").json()] == ["This leaks"]


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


def test_a_line_is_null_once_a_push_took_it_from_the_diff(api, hub, pr):
    lost, kept = hub.inline(pr, "ann", "Why?", line=30), hub.inline(pr, "ann", "Here?", line=3)
    head = hub.push(pr, files=[FileDiff(path="src/engine.py", new=(1, 10))])
    shown = {comment["id"]: comment for comment in api.get("/pulls/comments").json()}

    assert (shown[lost.id]["line"], shown[lost.id]["position"], shown[lost.id]["original_line"]) == (None, None, 30)
    assert (shown[kept.id]["line"], shown[kept.id]["commit_id"]) == (3, head)


def test_ids_need_more_than_31_bits(hub, pr):
    assert hub.inline(pr, "ann", "Why?").id > 2**31
