"""Comments on lines and files of a pull request, and the threads that they form."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from . import comments, diffs, listing, shapes
from .call import Call
from .exchange import Json, Listing, Reply, gone, invalid, stamp
from .things import Account, Pull, Review, ReviewComment, Thread
from .world import World

RESOURCE = "PullRequestReviewComment"


@dataclass(frozen=True, kw_only=True)
class CommentLine:
    """Where a comment stands; without a line it is about the file."""

    path: str
    line: int | None
    side: str = "RIGHT"
    start_line: int | None = None
    start_side: str | None = None


def comment_line(pull: Pull, wanted: Json) -> CommentLine:
    """Return where the comment is to stand, or refuse with 422 what is not part of the diff."""
    path, side = str(wanted.get("path", "")), wanted.get("side", "RIGHT")
    if path not in pull.files:
        raise invalid(RESOURCE, "pull_request_review_thread.path", "pull_request_review_thread.path is invalid")
    if wanted.get("subject_type") == "file":
        return CommentLine(path=path, line=None)
    line = wanted.get("line")
    for number in (line, wanted.get("start_line", line)):
        if number is None or diffs.position(pull.files[path], side, number) is None:
            field = "pull_request_review_thread.line"
            raise invalid(RESOURCE, field, f"{field} must be part of the diff")
    start = wanted.get("start_line")
    return CommentLine(
        path=path, line=line, side=side, start_line=start, start_side=start and wanted.get("start_side", side)
    )


def start_thread(world: World, review: Review, where: CommentLine, body: str, now: datetime) -> ReviewComment:
    pull = review.pull
    file = pull.files[where.path]
    thread = Thread(id=world.next_id(), pull=pull)
    world.threads[thread.id] = thread
    comment = ReviewComment(
        id=world.next_id(),
        author=review.author,
        body=body,
        created_at=now,
        updated_at=now,
        pull=pull,
        review=review,
        thread=thread,
        path=where.path,
        line=where.line,
        original_line=where.line,
        side=where.side,
        start_line=where.start_line,
        start_side=where.start_side,
        commit=pull.head.sha,
        original_commit=pull.head.sha,
        hunk=diffs.hunk(file, (diffs.position(file, where.side, where.line) or 0) if where.line else 0),
        subject="line" if where.line else "file",
    )
    world.review_comments[comment.id] = comment
    return comment


def continue_thread(world: World, review: Review, root: ReviewComment, body: str, now: datetime) -> ReviewComment:
    reply = ReviewComment(**vars(root))
    reply.id, reply.author, reply.body, reply.review = world.next_id(), review.author, body, review
    reply.created_at = reply.updated_at = now
    reply.reactions, reply.reply_to = [], root.id
    world.review_comments[reply.id] = reply
    return reply


def review_for(world: World, pull: Pull, author: Account, now: datetime) -> Review:
    """Return the review that a single comment becomes part of.

    Every comment belongs to one. That is the author's draft if there is one, and then nobody sees the comment yet; or
    else an empty review of its own, already submitted.
    """
    draft = world.draft_of(pull, author)
    if draft and world.drafts == "refuse":
        raise invalid("PullRequestReview", "user_id", "user_id can only have one pending review per pull request")
    if draft:
        return draft
    review = Review(
        id=world.next_id(),
        author=author,
        body="",
        created_at=now,
        updated_at=now,
        pull=pull,
        state="COMMENTED",
        commit=pull.head.sha,
        submitted_at=now,
    )
    world.reviews[review.id] = review
    pull.updated_at = now
    return review


def outdate(world: World, pull: Pull) -> None:
    """Take the line from comments whose line is no longer in the diff; the others are of the new head."""
    for comment in world.review_comments.values():
        if comment.pull is not pull or comment.line is None:
            continue
        file = pull.files.get(comment.path)
        if file is None or diffs.position(file, comment.side, comment.line) is None:
            comment.line = comment.start_line = None
        else:
            comment.commit = pull.head.sha


def remove(world: World, comment: ReviewComment, now: datetime) -> None:
    """Delete a comment, likewise; those that answer it stay."""
    del world.review_comments[comment.id]
    if world.deletions_told:
        comment.pull.updated_at = now


def brief(world: World, comment: ReviewComment) -> Json:
    """Write a comment as a review's own list does: without line and side."""
    url = f"{shapes.repository_url(world)}/pulls/comments/{comment.id}"
    pull_url = f"{shapes.repository_url(world)}/pulls/{comment.pull.number}"
    html = f"{shapes.web_url(world)}/pull/{comment.pull.number}#discussion_r{comment.id}"
    file = comment.pull.files.get(comment.path)
    position = diffs.position(file, comment.side, comment.line) if file and comment.line else None
    if comment.subject == "file":
        position = 1
    return {
        "id": comment.id,
        "node_id": f"PRRC_{comment.id}",
        "url": url,
        "html_url": html,
        "pull_request_url": pull_url,
        "pull_request_review_id": comment.review.id,
        "diff_hunk": comment.hunk,
        "path": comment.path,
        "position": position,
        "original_position": max(1, comment.hunk.count("\n")),
        "commit_id": comment.commit,
        "original_commit_id": comment.original_commit,
        "user": shapes.maybe_user(world, comment.author),
        "body": comment.body,
        "created_at": stamp(comment.created_at),
        "updated_at": stamp(comment.updated_at),
        "author_association": shapes.association(comment.author),
        "_links": {"self": {"href": url}, "html": {"href": html}, "pull_request": {"href": pull_url}},
        "reactions": shapes.rollup(comment.reactions, url),
        **({"in_reply_to_id": comment.reply_to} if comment.reply_to else {}),
    }


def render(world: World, comment: ReviewComment) -> Json:
    return {
        **brief(world, comment),
        "line": comment.line,
        "original_line": comment.original_line,
        "side": comment.side,
        "start_line": comment.start_line,
        "original_start_line": comment.start_line,
        "start_side": comment.start_side,
        "subject_type": comment.subject,
    }


def found(call: Call) -> ReviewComment:
    """Return the comment; one that is part of a draft is there for nobody, or for its author alone."""
    comment = call.world.review_comments.get(int(call.params["comment_id"]))
    if comment is None:
        raise gone()
    draft = comment.review.state == "PENDING"
    if draft and not (call.world.drafts_readable and comment.author is call.viewer):
        raise gone()
    return comment


def list_everywhere(call: Call) -> Listing:
    posts = listing.sort(call.world.visible(), call.query, since=call.since)
    return Listing(posts, lambda comment: render(call.world, comment))


def list_of_pull(call: Call) -> Listing:
    posts = listing.sort(call.world.visible(call.pull), call.query, since=call.since)
    return Listing(posts, lambda comment: render(call.world, comment))


def read(call: Call) -> Reply:
    return Reply(200, render(call.world, found(call)))


def update(call: Call) -> Reply:
    comment = found(call)
    call.owns(comment.author)
    comments.edit(comment, comments.checked_body(call.body, RESOURCE), call.now, by=call.writer)
    return Reply(200, render(call.world, comment))


def create(call: Call) -> Reply:
    body, pull = call.body or {}, call.pull
    text = comments.checked_body(body, RESOURCE)
    call.unlocked(pull)
    if body.get("commit_id") not in {pull.head.sha, *pull.commits}:
        raise invalid(RESOURCE, "commit_id", "commit_id is not part of the pull request")
    where = comment_line(pull, body)
    comment = start_thread(call.world, review_for(call.world, pull, call.writer, call.now), where, text, call.now)
    return posted(call, comment)


def reply(call: Call) -> Reply:
    """Continue a thread; only its first comment can be answered, and only while it is there."""
    text = comments.checked_body(call.body, RESOURCE)
    call.unlocked(call.pull)
    root = call.world.review_comments.get(int(call.params["comment_id"]))
    if root is None or root.pull is not call.pull or root.review.state == "PENDING":
        raise gone()
    if root.reply_to is not None:
        raise invalid(RESOURCE, "in_reply_to", "in_reply_to must be a top-level comment")
    review = review_for(call.world, call.pull, call.writer, call.now)
    return posted(call, continue_thread(call.world, review, root, text, call.now))


def posted(call: Call, comment: ReviewComment) -> Reply:
    value = render(call.world, comment)
    return Reply(201, value, {"location": value["url"]})
