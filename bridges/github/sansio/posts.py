"""Read what people and bots write on pull requests, and tell what of it is news."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256

from prloom.api import Author, Event, Json

from . import accounts, json_access, rendering, reply_target
from .cursor import KnownPost
from .reply_target import ReplyTarget

_AT_ONCE = timedelta(seconds=2)
_HUNK = 4000  # characters of a diff that go with a comment; the end is what the comment is about


@dataclass(frozen=True)
class Post:
    """Something written. `key` is what GitHub's own links call it; `created` and `updated` are to the second."""

    key: str
    type: str
    title: str
    body: str
    author: Author
    where: ReplyTarget
    url: str
    created: str
    updated: str
    warns: bool = False
    context: Mapping[str, Json] = field(default_factory=dict)


MARKS = {"comments": "issuecomment-", "inline": "discussion_r"}
"""How GitHub's links call comments, by their kind."""


def comment(item: Json) -> Post | None:
    """Read a comment in the conversation of an issue or a pull request; None where it is none."""
    number, pr = json_access.number(item, "id"), json_access.tail_number(json_access.text(item, "issue_url"))
    if number is None or pr is None:
        return None
    return _post(item, f"issuecomment-{number}", ("pr_comment", "commented"), ReplyTarget(pr, comment=number), {})


def inline(item: Json) -> Post | None:
    """Read a comment on a line or a file; None where it is none."""
    number, pr = json_access.number(item, "id"), json_access.tail_number(json_access.text(item, "pull_request_url"))
    if number is None or pr is None:
        return None
    root = json_access.number(item, "in_reply_to_id") or number
    file, line = json_access.text(item, "path"), json_access.number(item, "line")
    context = {
        "thread": str(root),
        "inReplyTo": str(root) if root != number else None,
        "file": file or None,
        "line": line,
        "originalLine": json_access.number(item, "original_line") if line is None else None,
        "side": json_access.text(item, "side") or None,
        "startLine": json_access.number(item, "start_line"),
        "startSide": json_access.text(item, "start_side") or None,
        "diffHunk": json_access.text(item, "diff_hunk")[-_HUNK:] or None,
        "commit": json_access.text(item, "commit_id") or None,
        "remoteId": _remote(item, number),
    }
    if line:
        said = f"commented on {file}:{line}"
    else:
        said = f"commented on {file}"
    spot = ReplyTarget(pr, thread=root, inline=number)
    return _post(item, f"discussion_r{number}", ("pr_review_comment", said), spot, context)


def review(item: Json, pr: int) -> Post | None:
    """Read a review. None for a draft, and for one that says nothing itself: what its comments say comes with them.

    Each reply in a thread brings such an empty review along, of the same account.
    """
    number, state = json_access.number(item, "id"), json_access.text(item, "state").lower()
    silent = not json_access.text(item, "body").strip() and state not in {"approved", "changes_requested"}
    if number is None or state == "pending" or silent:
        return None
    times = {"created_at": item.get("submitted_at"), "updated_at": item.get("submitted_at")}
    context = {"state": state, "commit": json_access.text(item, "commit_id") or None}
    title = f"reviewed: {state.replace('_', ' ')}"
    spot = ReplyTarget(pr, review=number)
    return _post({**item, **times}, f"pullrequestreview-{number}", ("pr_review", title), spot, context)


def news(post: Post, known: KnownPost | None) -> Event | None:
    """Return the event that a post is, or None where it says what is known, or is a bot's edit of its own words.

    `updated_at` moves without an edit too: when a draft is submitted, say.
    """
    if known is None:
        supersedes = None
        if _edited(post) and not post.author.bot:
            supersedes = _id(post.key)
        return _event(post, event_id(post), supersedes)
    older = known.event
    said = digest(post)
    if known.words == said or post.author.bot:
        return None
    edited = _id(f"{post.key}@{post.updated}")
    return _event(post, edited if edited != older and _edited(post) else f"{older}~{said}", older)


def known(post: Post, event: str) -> KnownPost:
    """Return what is remembered of a post. A comment of prloom's own review is told of by the review."""
    return KnownPost(event, digest(post), post.where.pr if post.context.get("remoteId") == post.key else 0)


def kind(key: str) -> str:
    """Return of which kind a post is, by what GitHub's links call it: "comments", "inline", or neither."""
    return next((name for name, mark in MARKS.items() if key.startswith(mark)), "")


def deleted(key: str, known: KnownPost, when: str) -> Event:
    """Return the event that a post was deleted: nobody says it, and it takes the place of what was said."""
    return Event(
        id=_id(f"{key}:deleted"),
        source=reply_target.TARGET,
        type="comment_deleted",
        title="comment deleted",
        reply_to=reply_target.target(ReplyTarget(known.pr)),
        context={"remoteId": key, "supersedes": known.event},
        created_at=when,
        pr=known.pr,
    )


def digest(post: Post) -> str:
    """Return what tells the words of one version from another's."""
    return sha256(post.body.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def event_id(post: Post) -> str:
    """Return the id of the event that a post is at first sight, edited or not.

    A bot's edit is no news, also where its post is remembered no longer: so that post is one event for ever.
    """
    return _id(f"{post.key}@{post.updated}" if _edited(post) and not post.author.bot else post.key)


def _edited(post: Post) -> bool:
    """Whether the times tell of an edit; now and then GitHub moves the later one a second after the posting."""
    created, updated = json_access.time(post.created), json_access.time(post.updated)
    if created is None or updated is None:
        return post.updated != post.created
    return updated - created > _AT_ONCE


def _remote(item: Json, number: int) -> str:
    """Return what GitHub calls the comment: that of a review of prloom's own by the review, whose id was delivered."""
    review_id = json_access.number(item, "pull_request_review_id")
    of_ours = rendering.PART in json_access.text(item, "body").splitlines()
    if of_ours and review_id:
        return f"pullrequestreview-{review_id}"
    return f"discussion_r{number}"


def _post(item: Json, key: str, said: tuple[str, str], where: ReplyTarget, context: Mapping[str, Json]) -> Post:
    kind, did = said
    author = accounts.author(item.get("user"))
    created = json_access.text(item, "created_at")
    return Post(
        key=key,
        type=kind,
        title=f"{author.login} {did}",
        body=json_access.text(item, "body"),
        author=author,
        where=where,
        url=json_access.text(item, "html_url"),
        created=created,
        updated=json_access.text(item, "updated_at") or created,
        warns=context.get("state") == "changes_requested",
        context={key: value for key, value in {"remoteId": key, **context}.items() if value is not None},
    )


def _event(post: Post, version: str, older: str | None) -> Event:
    if older is None:
        edit = {}
    else:
        edit = {"supersedes": older}
    if older is not None or _edited(post):
        edit["updatedAt"] = post.updated
    return Event(
        id=version,
        source=reply_target.TARGET,
        type=post.type,
        severity="warning" if post.warns else "info",
        title=post.title,
        body=post.body,
        reply_to=reply_target.target(post.where),
        context={**post.context, **edit},
        author=post.author,
        url=post.url or None,
        created_at=post.created or None,
        pr=post.where.pr,
    )


def _id(version: str) -> str:
    return f"github:{version}"
