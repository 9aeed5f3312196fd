"""Know the few things that GitHub offers in GraphQL alone: resolving a thread, and taking a draft out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prloom.api import Json

from . import json_access

_THREADS = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        nodes { id isResolved comments(first: 1) { nodes { fullDatabaseId } } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""
_RESOLVE = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"
_READY = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }"


@dataclass(frozen=True)
class ReviewThread:
    """A thread of a pull request, by its GraphQL id."""

    id: str
    resolved: bool


def threads(full_name: str, number: int, after: str | None) -> Mapping[str, Json]:
    """Return the question for a page of a pull request's threads."""
    owner, _, name = full_name.partition("/")
    return {"query": _THREADS, "variables": {"owner": owner, "name": name, "number": number, "after": after}}


def resolve(thread: str) -> Mapping[str, Json]:
    """Return what resolves a thread."""
    return {"query": _RESOLVE, "variables": {"id": thread}}


def ready(pull_request: str) -> Mapping[str, Json]:
    """Return what takes a pull request out of draft."""
    return {"query": _READY, "variables": {"id": pull_request}}


def find(answer: Json, root: int) -> ReviewThread | None:
    """Return the thread that begins with this comment, if it is on the page."""
    page = json_access.at(answer, "data", "repository", "pullRequest", "reviewThreads")
    for node in json_access.items(page, "nodes"):
        first = json_access.items(node, "comments", "nodes")[:1]
        if first and json_access.text(first[0], "fullDatabaseId") == str(root):
            return ReviewThread(json_access.text(node, "id"), resolved=json_access.at(node, "isResolved") is True)
    return None


def next_page(answer: Json) -> str | None:
    """Return where the next page begins, or None where there is none."""
    info = json_access.at(answer, "data", "repository", "pullRequest", "reviewThreads", "pageInfo")
    if json_access.at(info, "hasNextPage") is True:
        return json_access.text(info, "endCursor") or None
    return None


def problem(answer: Json) -> tuple[str, str] | None:
    """Return kind and words of the first error of an answer, which is a 200 all the same; None if all went well."""
    errors = json_access.items(answer, "errors")
    if not errors:
        return None
    return json_access.text(errors[0], "type"), " ".join(json_access.text(errors[0], "message").split())[:400]
