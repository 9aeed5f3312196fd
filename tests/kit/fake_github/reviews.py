"""Reviews in all their states; one that is pending is a draft, which its author alone sees."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from . import review_comments, shapes
from .call import Call
from .exchange import Json, Listing, Refusal, Reply, gone, stamp
from .things import Account, Pull, Review
from .world import World

EVENTS = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


def refusal(*reasons: str) -> Refusal:
    return Refusal(422, "Unprocessable Entity", errors=reasons)


def start(world: World, pull: Pull, author: Account, body: str, now: datetime, *, commit: str | None = None) -> Review:
    """Begin a draft; it is of the head unless it says of which commit."""
    if world.draft_of(pull, author):
        raise refusal("User can only have one pending review per pull request")
    review = Review(
        id=world.next_id(),
        author=author,
        body=body,
        created_at=now,
        updated_at=now,
        pull=pull,
        state="PENDING",
        commit=commit or pull.head.sha,
    )
    world.reviews[review.id] = review
    return review


def submit(world: World, review: Review, state: str, now: datetime) -> None:
    """Show the review and its comments to all; `updated_at` of its comments moves although nobody edited them."""
    review.state, review.submitted_at = state, now
    review.pull.updated_at = now
    if review.author in review.pull.reviewers:
        review.pull.reviewers.remove(review.author)
    for comment in world.review_comments.values():
        if comment.review is review:
            comment.updated_at = now


def dismiss(review: Review, now: datetime) -> None:
    review.state = "DISMISSED"
    review.pull.updated_at = now


def render(world: World, review: Review) -> Json:
    pull_url = f"{shapes.repository_url(world)}/pulls/{review.pull.number}"
    html = f"{shapes.web_url(world)}/pull/{review.pull.number}#pullrequestreview-{review.id}"
    submitted = {"submitted_at": stamp(review.submitted_at)} if review.submitted_at else {}
    return {
        "id": review.id,
        "node_id": f"PRR_{review.id}",
        "user": shapes.maybe_user(world, review.author),
        "body": review.body,
        "state": review.state,
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": shapes.association(review.author),
        "_links": {"html": {"href": html}, "pull_request": {"href": pull_url}},
        "commit_id": review.commit,
        **submitted,
    }


def visible(call: Call) -> list[Review]:
    reviews = call.world.reviews_of(call.pull)
    return [review for review in reviews if review.state != "PENDING" or review.author is call.viewer]


def found(call: Call) -> Review:
    wanted = int(call.params["review_id"])
    review = next((review for review in visible(call) if review.id == wanted), None)
    if review is None:
        raise gone()
    return review


def list_of_pull(call: Call) -> Listing:
    return Listing(visible(call), lambda review: render(call.world, review))


def read(call: Call) -> Reply:
    return Reply(200, render(call.world, found(call)))


def list_comments(call: Call) -> Listing:
    review = found(call)
    shown = [comment for comment in call.world.review_comments.values() if comment.review is review]
    return Listing(shown, lambda comment: review_comments.brief(call.world, comment))


def check_event(pull: Pull, author: Account, event: str, *, body: str, comments: Sequence[Json]) -> None:
    own = pull.author is author
    if own and event == "APPROVE":
        raise refusal("Review Can not approve your own pull request")
    if own and event == "REQUEST_CHANGES":
        raise refusal("Review Can not request changes on your own pull request")
    if event == "REQUEST_CHANGES" and not body:
        raise refusal("Could not create review: body is required to request changes")
    if event == "COMMENT" and not body and not comments:
        raise refusal("Could not create review: body is required")


def comment_lines(pull: Pull, comments: Sequence[Json]) -> list[review_comments.CommentLine]:
    """Return where the comments are to stand; if one is not in the diff, the review as a whole is refused."""
    found_places = []
    for comment in comments:
        if comment.get("path") not in pull.files:
            raise refusal("Path could not be resolved")
        try:
            found_places.append(review_comments.comment_line(pull, comment))
        except Refusal as error:
            raise refusal("Line could not be resolved") from error
    return found_places


def create(call: Call) -> Reply:
    body, pull, world = call.body or {}, call.pull, call.world
    call.unlocked(pull)
    text, comments, event = body.get("body") or "", body.get("comments") or (), body.get("event")
    commit = body.get("commit_id")
    if commit not in {None, pull.head.sha, *pull.commits}:
        raise refusal("Commit oid is not part of the pull request")
    where = comment_lines(pull, comments)
    if event:
        check_event(pull, call.writer, event, body=text, comments=comments)
    review = start(world, pull, call.writer, text, call.now, commit=commit)
    for place, comment in zip(where, comments, strict=True):
        review_comments.start_thread(world, review, place, comment["body"], call.now)
    if event:
        submit(world, review, EVENTS[event], call.now)
    return Reply(200, render(world, review))
