"""What only GraphQL can do, and how it says no."""

from __future__ import annotations

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


def test_how_many_are_wanted_must_be_said(api, hub):
    answer = api.graphql(THREADS, number=hub.pull().number)

    assert "You must provide a `first` or `last` value" in answer["errors"][0]["message"]


def test_what_is_not_there_is_an_error_inside_a_200(api):
    answer = api.graphql(RESOLVE, id="PRRT_1")

    assert answer["data"] == {"resolveReviewThread": None}
    assert answer["errors"][0]["type"] == "NOT_FOUND"
    assert answer["errors"][0]["path"] == ["resolveReviewThread"]


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
