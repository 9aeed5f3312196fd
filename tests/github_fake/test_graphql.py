"""What only GraphQL can do, and how it says no."""

from __future__ import annotations

from typing import Any

import pytest
from fake_github import ContractBroken

THREADS = """
query($number: Int!, $first: Int, $after: String) {
  repository(owner: "ada", name: "engine") {
    pullRequest(number: $number) {
      id isDraft
      reviewThreads(first: $first, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { id isResolved isOutdated comments(first: 1) { nodes { id databaseId fullDatabaseId } } }
      }
    }
  }
}"""
RESOLVE = (
    "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved resolvedBy { login } } } }"
)
READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }"


def threads(api, pr, **variables: Any):
    answer = api.graphql(THREADS, number=pr.number, **{"first": 50, **variables})
    assert "errors" not in answer
    return answer["data"]["repository"]["pullRequest"]["reviewThreads"]


def test_a_thread_is_found_by_the_node_id_of_its_first_comment(api, hub):
    pr = hub.pull()
    hub.inline(pr, "ann", "Other")
    root = hub.inline(pr, "ann", "Why?")
    hub.reply_in_thread(root, "zoe", "Because.")
    node_id = api.get(f"/pulls/comments/{root.id}").json()["node_id"]

    found = [thread for thread in threads(api, pr)["nodes"] if thread["comments"]["nodes"][0]["id"] == node_id]
    assert len(found) == 1
    assert found[0]["comments"]["nodes"][0]["fullDatabaseId"] == str(root.id)
    assert found[0]["comments"]["nodes"][0]["databaseId"] is None


def test_threads_come_in_pages(api, hub):
    pr = hub.pull()
    for number in range(3):
        hub.inline(pr, "ann", str(number))
    first = threads(api, pr, first=2)
    second = threads(api, pr, first=2, after=first["pageInfo"]["endCursor"])

    assert (first["pageInfo"]["hasNextPage"], second["pageInfo"]["hasNextPage"]) == (True, False)
    assert len({thread["id"] for thread in first["nodes"] + second["nodes"]}) == 3


def test_how_many_are_wanted_must_be_said(api, hub):
    answer = api.graphql(THREADS, number=hub.pull().number)

    assert "You must provide a `first` or `last` value" in answer["errors"][0]["message"]


def test_what_is_not_there_is_an_error_inside_a_200(api):
    answer = api.graphql(RESOLVE, id="PRRT_1")

    assert answer["data"] == {"resolveReviewThread": None}
    assert answer["errors"][0]["type"] == "NOT_FOUND"
    assert answer["errors"][0]["path"] == ["resolveReviewThread"]


def test_who_may_not_resolve_is_told_inside_a_200(signed_in, hub):
    root = hub.inline(hub.pull(), "ann", "Why?")
    answer = signed_in("stranger").graphql(RESOLVE, id=f"PRRT_{root.thread.id}")

    assert answer["errors"][0]["type"] == "FORBIDDEN"


def test_a_fine_grained_token_needs_contents_to_resolve_and_not_to_make_ready(signed_in, hub):
    pr = hub.pull(draft=True)
    thread = f"PRRT_{hub.inline(pr, 'ann', 'Why?').thread.id}"
    talker = signed_in("prloom", permissions={"pull_requests": "write", "contents": "read"})
    writer = signed_in("prloom", permissions={"pull_requests": "write", "contents": "write"})

    assert talker.graphql(RESOLVE, id=thread)["errors"][0]["message"] == "Resource not accessible by integration"
    assert "errors" not in talker.graphql(READY, id=f"PR_{pr.id}")
    assert "errors" not in writer.graphql(RESOLVE, id=thread)


def test_a_query_that_githubs_schema_does_not_know_breaks_the_contract(api, hub):
    with pytest.raises(ContractBroken, match="Cannot query field 'weather'"):
        api.graphql("{ viewer { weather } }")
    hub.broken.clear()


def test_an_outdated_thread_says_so(api, hub):
    pr = hub.pull()
    hub.inline(pr, "ann", "Why?")
    hub.push(pr, files=())

    assert threads(api, pr)["nodes"][0]["isOutdated"] is True


EDITOR = """
query($id: ID!) {
  node(id: $id) {
    ... on PullRequest { body editor { __typename login } lastEditedAt }
    ... on IssueComment { body editor { __typename login } lastEditedAt }
  }
}"""


def test_a_text_that_nobody_edited_has_no_editor(api, hub):
    comment = hub.comment(hub.pull(), "ann", "Hello")

    assert api.graphql(EDITOR, id=f"IC_{comment.id}")["data"]["node"] == {
        "body": "Hello",
        "editor": None,
        "lastEditedAt": None,
    }


def test_the_last_who_edited_a_text_is_its_editor_and_a_bots_login_has_no_end(api, hub):
    hub.bot("helper[bot]", "write")
    pr = hub.pull(by="ann", body="Why.")
    hub.edit(pr, "Because.", by="helper[bot]")
    by_bot = api.graphql(EDITOR, id=f"PR_{pr.id}")["data"]["node"]
    api.send("PATCH", f"/pulls/{pr.number}", {"body": "So."})
    by_client = api.graphql(EDITOR, id=f"PR_{pr.id}")["data"]["node"]
    api.send("PATCH", f"/pulls/{pr.number}", {"title": "Another title"})

    assert by_bot["editor"] == {"__typename": "Bot", "login": "helper"}
    assert (by_client["body"], by_client["editor"]["login"]) == ("So.", "prloom")
    assert api.graphql(EDITOR, id=f"PR_{pr.id}")["data"]["node"] == by_client
