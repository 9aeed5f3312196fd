"""GraphQL, in so far as it is needed: threads, drafts, and who edited a text last.

The schema is a slice of GitHub's own; queries are parsed, checked and carried out by graphql-core.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import graphql

from .call import Call
from .contract import ContractBroken
from .exchange import Json, Refusal, Reply, stamp
from .things import Account, Post, Pull, ReviewComment, Thread
from .world import World

SLICE = Path(__file__).parents[2] / "data/github/schema.graphql"
LARGEST_INT = 2**31 - 1


class Problem(Exception):  # noqa: N818  # the word for what GraphQL answers
    """GitHub says no, in the way of GraphQL."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@cache
def schema() -> graphql.GraphQLSchema:
    return graphql.build_schema(SLICE.read_text())


def is_mutation(body: Json) -> bool:
    try:
        document = graphql.parse(body["query"])
    except (graphql.GraphQLError, KeyError, TypeError):
        return False
    operations = (node for node in document.definitions if isinstance(node, graphql.OperationDefinitionNode))
    return any(node.operation is graphql.OperationType.MUTATION for node in operations)


def answer(call: Call) -> Reply:
    """Carry out a query. What GitHub's schema does not know, or the slice of it has not, breaks the contract."""
    if call.viewer is None:
        raise Refusal(401, "This endpoint requires you to be authenticated.")
    text, variables = call.body["query"], call.body.get("variables") or {}
    wrong = graphql.validate(schema(), graphql.parse(text))
    if wrong:
        raise ContractBroken(f"POST /graphql: {wrong[0].message} (the slice is cut by tests/data/github/cut.py)")
    result = graphql.graphql_sync(
        schema(), text, roots(call), variable_values=variables, operation_name=call.body.get("operationName")
    )
    value: Json = {"data": result.data}
    if result.errors:
        value["errors"] = [problem(error) for error in result.errors]
    return Reply(200, value)


def problem(error: graphql.GraphQLError) -> Json:
    kind = error.original_error.kind if isinstance(error.original_error, Problem) else None
    return dict(error.formatted) | ({"type": kind} if kind else {})


def roots(call: Call) -> Mapping[str, Any]:
    """Return the fields of `query` and `mutation`; no two have the same name."""
    return {
        "viewer": actor(call.world, call.writer),
        "repository": lambda info, owner, name, **_: repository(call.world, owner, name),
        "node": lambda info, **given: node(call.world, given["id"]),
        "resolveReviewThread": lambda info, **given: resolve(call, given["input"]),
        "markPullRequestReadyForReview": lambda info, **given: make_ready(call, given["input"]),
    }


def actor(world: World, account: Account) -> Json:
    """Write an account; an app's login stands here without `[bot]`."""
    kind = "Bot" if account.type == "Bot" else "User"
    login = account.login.removesuffix("[bot]") if kind == "Bot" else account.login
    return {"__typename": kind, "id": f"U_{account.id}", "login": login}


def repository(world: World, owner: str, name: str) -> Json:
    full = f"{owner}/{name}"
    if full.lower() not in {world.repository.full_name.lower(), *(old.lower() for old in world.old_names)}:
        raise Problem("NOT_FOUND", f"Could not resolve to a Repository with the name '{full}'.")

    def pull_request(info: object, number: int) -> Json:
        found = world.issues.get(number)
        if not isinstance(found, Pull):
            raise Problem("NOT_FOUND", f"Could not resolve to a PullRequest with the number of {number}.")
        return pull_node(world, found)

    return {"__typename": "Repository", "id": f"R_{world.repository.id}", "pullRequest": pull_request}


def pull_node(world: World, pull: Pull) -> Json:
    threads = [thread for thread in world.threads.values() if thread.pull is pull and comments_of(world, thread)]
    return {
        "__typename": "PullRequest",
        "id": f"PR_{pull.id}",
        **text_of(world, pull),
        "isDraft": pull.draft,
        "reviewThreads": connection("reviewThreads", threads, lambda thread: thread_node(world, thread)),
    }


def text_of(world: World, post: Post) -> Json:
    """Write what somebody wrote and who edited it last: nobody, where it is as it was posted."""
    editor = post.editor if post.editor and post.editor.exists else None
    return {
        "body": post.body,
        "author": actor(world, post.author) if post.author.exists else None,
        "editor": actor(world, editor) if editor else None,
        "lastEditedAt": stamp(post.edited_at),
    }


def comments_of(world: World, thread: Thread) -> list[ReviewComment]:
    return [comment for comment in world.visible(thread.pull) if comment.thread is thread]


def thread_node(world: World, thread: Thread) -> Json:
    members = comments_of(world, thread)
    first = members[0] if members else None
    return {
        "__typename": "PullRequestReviewThread",
        "id": f"PRRT_{thread.id}",
        "isResolved": thread.resolved_by is not None,
        "resolvedBy": actor(world, thread.resolved_by) if thread.resolved_by else None,
        "isOutdated": bool(first and first.line is None and first.subject == "line"),
        "comments": connection("comments", members, comment_node),
    }


def comment_node(comment: ReviewComment) -> Json:
    """Write a review comment; `databaseId` has no room for today's ids and is null then."""
    return {
        "__typename": "PullRequestReviewComment",
        "id": f"PRRC_{comment.id}",
        "databaseId": comment.id if comment.id <= LARGEST_INT else None,
        "fullDatabaseId": str(comment.id),
    }


def connection(name: str, items: Sequence[Any], render: Callable[[Any], Json]) -> Callable[..., Json]:
    """Return a field that shows a page of the items; as at GitHub it must be said how many."""

    def page(info: object, first: int | None = None, after: str | None = None, **_: object) -> Json:
        if first is None:
            raise Problem(
                "MISSING_PAGINATION_BOUNDARIES", f"You must provide a `first` or `last` value to paginate `{name}`."
            )
        if first > 100:
            raise Problem(
                "EXCESSIVE_PAGINATION", f"Requesting {first} records on `{name}` exceeds the `first` limit of 100."
            )
        begin = int(base64.b64decode(after).decode().rpartition(":")[2]) if after else 0
        end = min(begin + first, len(items))
        cursor = base64.b64encode(f"cursor:{end}".encode()).decode() if end > begin else None
        return {
            "nodes": [render(item) for item in items[begin:end]],
            "pageInfo": {"hasNextPage": end < len(items), "endCursor": cursor},
        }

    return page


def node(world: World, node_id: str) -> Json:
    """Return the pull request or the comment in a conversation for which a global id stands."""
    prefix, _, number = node_id.rpartition("_")
    key = int(number) if number.isdigit() else -1
    if prefix == "IC" and key in world.comments:
        return {"__typename": "IssueComment", "id": node_id, **text_of(world, world.comments[key])}
    return pull_node(world, pull_of(world, node_id))


def pull_of(world: World, node_id: str) -> Pull:
    for pull in world.pulls():
        if node_id == f"PR_{pull.id}":
            return pull
    raise Problem("NOT_FOUND", f"Could not resolve to a node with the global id of '{node_id}'")


def resolve(call: Call, given: Mapping[str, str]) -> Json:
    prefix, _, number = given["threadId"].rpartition("_")
    thread = call.world.threads.get(int(number)) if prefix == "PRRT" and number.isdigit() else None
    if thread is None or not comments_of(call.world, thread):
        raise Problem("NOT_FOUND", f"Could not resolve to a node with the global id of '{given['threadId']}'.")
    permit(call, thread.pull, "ResolveReviewThread")
    if not call.granted("contents=write"):  # for `pull_requests=write` alone it is refused: github/gh-aw#35726
        raise Problem("FORBIDDEN", "Resource not accessible by integration")
    thread.resolved_by = call.writer
    return {"thread": thread_node(call.world, thread), "clientMutationId": given.get("clientMutationId")}


def make_ready(call: Call, given: Mapping[str, str]) -> Json:
    pull = pull_of(call.world, given["pullRequestId"])
    permit(call, pull, "MarkPullRequestReadyForReview")
    pull.draft, pull.updated_at = False, call.now
    return {"pullRequest": pull_node(call.world, pull)}


def permit(call: Call, pull: Pull, mutation: str) -> None:
    """Let only those change it who opened the pull request or may write to the repository."""
    if not call.granted("pull_requests=write"):
        raise Problem("FORBIDDEN", "Resource not accessible by personal access token")
    if not (call.writer is pull.author or call.writer.may("write")):
        message = f"{call.writer.login} does not have the correct permissions to execute `{mutation}`"
        raise Problem("FORBIDDEN", message)
