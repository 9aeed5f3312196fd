"""Know the few things that GitHub offers in GraphQL alone: resolving a thread, and taking a draft out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prloom.api import Json

from . import fields

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
class Thread:
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


def find(answer: Json, root: int) -> Thread | None:
    """Return the thread that begins with this comment, if it is on the page."""
    page = fields.at(answer, "data", "repository", "pullRequest", "reviewThreads")
    for node in fields.items(page, "nodes"):
        first = fields.items(node, "comments", "nodes")[:1]
        if first and fields.text(first[0], "fullDatabaseId") == str(root):
            return Thread(fields.text(node, "id"), resolved=fields.at(node, "isResolved") is True)
    return None


def next_page(answer: Json) -> str | None:
    """Return where the next page begins, or None where there is none."""
    info = fields.at(answer, "data", "repository", "pullRequest", "reviewThreads", "pageInfo")
    return fields.text(info, "endCursor") or None if fields.at(info, "hasNextPage") is True else None


def problem(answer: Json) -> tuple[str, str] | None:
    """Return kind and words of the first error of an answer, which is a 200 all the same; None if all went well."""
    errors = fields.items(answer, "errors")
    if not errors:
        return None
    return fields.text(errors[0], "type"), " ".join(fields.text(errors[0], "message").split())[:400]
