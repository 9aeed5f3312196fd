"""Comments in the conversation of an issue or a pull request."""

from __future__ import annotations

from datetime import datetime

from . import listing, shapes
from .call import Call
from .exchange import Json, Listing, Reply, gone, invalid, stamp
from .things import Account, Issue, IssueComment, Post, Pull
from .world import World

LONGEST = 65_536
"""Characters that a body may have."""


def add(world: World, issue: Issue, author: Account, body: str, now: datetime) -> IssueComment:
    comment = IssueComment(id=world.next_id(), author=author, body=body, created_at=now, updated_at=now, issue=issue)
    world.comments[comment.id] = comment
    issue.updated_at = now
    return comment


def edit(post: Post, body: str, now: datetime, *, by: Account | None = None) -> None:
    """Change the text of a comment; the pull request's own `updated_at` is not told. `by` None: by its author."""
    post.body = body
    post.editor, post.edited_at = by or post.author, now
    post.updated_at = now


def remove(world: World, comment: IssueComment, now: datetime) -> None:
    """Delete a comment; whether the issue's `updated_at` tells of it is a matter of `deletions_told`."""
    del world.comments[comment.id]
    if world.deletions_told:
        comment.issue.updated_at = now


def render(world: World, comment: IssueComment) -> Json:
    repo, number = shapes.repository_url(world), comment.issue.number
    kind = "pull" if isinstance(comment.issue, Pull) else "issues"
    url = f"{repo}/issues/comments/{comment.id}"
    return {
        "id": comment.id,
        "node_id": f"IC_{comment.id}",
        "url": url,
        "html_url": f"{shapes.web_url(world)}/{kind}/{number}#issuecomment-{comment.id}",
        "issue_url": f"{repo}/issues/{number}",
        "user": shapes.maybe_user(world, comment.author),
        "body": comment.body,
        "created_at": stamp(comment.created_at),
        "updated_at": stamp(comment.updated_at),
        "author_association": shapes.association(comment.author),
        "performed_via_github_app": None,
        "reactions": shapes.rollup(comment.reactions, url),
    }


def checked_body(body: Json, resource: str) -> str:
    """Return the text that is to be posted, or refuse it with 422."""
    text = (body or {}).get("body")
    if not isinstance(text, str) or not text.strip():
        raise invalid(resource, "body", code="missing_field")
    if len(text) > LONGEST:
        raise invalid(resource, "body", f"body is too long (maximum is {LONGEST} characters)")
    return text


def found(call: Call) -> IssueComment:
    comment = call.world.comments.get(int(call.params["comment_id"]))
    if comment is None:
        raise gone()
    return comment


def list_everywhere(call: Call) -> Listing:
    posts = listing.sort(call.world.comments.values(), call.query, since=call.since)
    return Listing(posts, lambda comment: render(call.world, comment))


def list_of_issue(call: Call) -> Listing:
    posts = listing.sort(call.world.comments_of(call.issue), {}, since=call.since)
    return Listing(posts, lambda comment: render(call.world, comment))


def create(call: Call) -> Reply:
    call.unlocked(call.issue)
    comment = add(call.world, call.issue, call.writer, checked_body(call.body, "IssueComment"), call.now)
    value = render(call.world, comment)
    return Reply(201, value, {"location": value["url"]})


def read(call: Call) -> Reply:
    return Reply(200, render(call.world, found(call)))


def update(call: Call) -> Reply:
    comment = found(call)
    call.owns(comment.author)
    edit(comment, checked_body(call.body, "IssueComment"), call.now, by=call.writer)
    return Reply(200, render(call.world, comment))
