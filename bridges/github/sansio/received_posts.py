"""Read what people and bots write on pull requests, and gather the events of a poll."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256

from msgspec import structs

from prloom.api import Author, Event, Json

from . import answers, checks, requests
from .comment_kinds import ISSUE_COMMENT, NAMES, REVIEW_COMMENT, CommentKind
from .cursor import GithubCursor, StoredPost
from .requests import ReplyTarget

_AT_ONCE = timedelta(seconds=2)
_HUNK = 4000  # characters of a diff that go with a comment; the end is what the comment is about


@dataclass(frozen=True)
class Post:
    """A comment or review. `key` is its name in GitHub's own links; `created` and `updated` are to the second."""

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


REVIEW = "pullrequestreview-"
"""How the names of reviews begin in GitHub's links; a number follows."""


def comments(listed: Mapping[CommentKind, Iterable[Json]]) -> list[Post | None]:
    """Read the items of lists of comments; None for each that is not one."""
    return [_comment(kind, item) for kind, items in listed.items() for item in items]


def _comment(kind: CommentKind, item: Json) -> Post | None:
    match kind:
        case "comments":
            return comment(item)
        case "inline":
            return inline(item)


def comment(item: Json) -> Post | None:
    """Read a comment in the conversation of an issue or a pull request; None where it is not one."""
    number, pr = answers.number(item, "id"), answers.tail_number(answers.text(item, "issue_url"))
    if number is None or pr is None:
        return None
    return _post(item, f"{ISSUE_COMMENT}{number}", ("pr_comment", "commented"), ReplyTarget(pr, comment=number), {})


def inline(item: Json) -> Post | None:
    """Read a comment on a line or a file; None where it is not one."""
    number, pr = answers.number(item, "id"), answers.tail_number(answers.text(item, "pull_request_url"))
    if number is None or pr is None:
        return None
    root = answers.number(item, "in_reply_to_id") or number
    file, line = answers.text(item, "path"), answers.number(item, "line")
    context = {
        "thread": str(root),
        "inReplyTo": str(root) if root != number else None,
        "file": file or None,
        "line": line,
        "originalLine": answers.number(item, "original_line") if line is None else None,
        "side": answers.text(item, "side") or None,
        "startLine": answers.number(item, "start_line"),
        "startSide": answers.text(item, "start_side") or None,
        "diffHunk": answers.text(item, "diff_hunk")[-_HUNK:] or None,
        "commit": answers.text(item, "commit_id") or None,
        "remoteId": _remote(item, number),
    }
    did = f"commented on {file}"
    if line:
        did += f":{line}"
    target = ReplyTarget(pr, thread=root, inline=number)
    return _post(item, f"{REVIEW_COMMENT}{number}", ("pr_review_comment", did), target, context)


def review(item: Json, pr: int) -> Post | None:
    """Read a review. None for a draft, and for one that says nothing itself: its comments are read by themselves.

    Each reply in a thread brings such an empty review along, of the same account.
    """
    number, state = answers.number(item, "id"), answers.text(item, "state").lower()
    silent = not answers.text(item, "body").strip() and state not in {"approved", "changes_requested"}
    if number is None or state == "pending" or silent:
        return None
    times = {"created_at": item.get("submitted_at"), "updated_at": item.get("submitted_at")}
    context = {"state": state, "commit": answers.text(item, "commit_id") or None}
    title = f"reviewed: {state.replace('_', ' ')}"
    target = ReplyTarget(pr, review=number)
    return _post({**item, **times}, f"{REVIEW}{number}", ("pr_review", title), target, context)


def new_event(post: Post, stored: StoredPost | None) -> Event | None:
    """Return the event of a post, or None where the stored version has the same text, or a bot edited its own post.

    `updated_at` moves without an edit too: when a draft is submitted, say.
    """
    if stored is None:
        supersedes = None
        if _edited(post) and not post.author.bot:
            supersedes = _id(post.key)
        return _event(post, event_id(post), supersedes)
    older = stored.event
    text = digest(post)
    if stored.digest == text or post.author.bot:
        return None
    edited = _id(f"{post.key}@{post.updated}")
    if edited == older or not _edited(post):
        edited = f"{older}~{text}"
    return _event(post, edited, older)


def to_store(post: Post, event: str) -> StoredPost:
    """Return what is remembered of a post. The deletion of a comment of prloom's own review needs no event."""
    pr = 0
    if post.context.get("remoteId") == post.key:
        pr = post.where.pr
    return StoredPost(event, digest(post), pr)


def kind(key: str) -> CommentKind | None:
    """Return of which kind a post is, by what GitHub's links call it; None: it is no comment."""
    return next((each for each, names in NAMES.items() if key.startswith(names.mark)), None)


def deleted_event(key: str, stored: StoredPost, when: str) -> Event:
    """Return the event that a post was deleted: it has no author, and supersedes the event of the post."""
    return Event(
        id=_id(f"{key}:deleted"),
        source=requests.TARGET,
        type="comment_deleted",
        title="comment deleted",
        reply_to=requests.to_target(ReplyTarget(stored.pr)),
        context={"remoteId": key, "supersedes": stored.event},
        created_at=when,
        pr=stored.pr,
    )


def digest(post: Post) -> str:
    """Return what distinguishes the text of one version from another's."""
    return sha256(post.body.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def event_id(post: Post) -> str:
    """Return the id of the event of a post that is read for the first time, edited or not.

    A bot's edit is no event, also where its post is remembered no longer: so the event of that post is always the same.
    """
    if _edited(post) and not post.author.bot:
        return _id(f"{post.key}@{post.updated}")
    return _id(post.key)


class Changes:
    """The events of one poll, each once, and the posts that the cursor remembers.

    `unexplained` are the pull requests that changed by the list of all, while no event explains the change.
    """

    def __init__(self, cursor: GithubCursor, tracked: Container[int]) -> None:
        self.unexplained: set[int] = set()
        self._cursor = cursor
        self._tracked = tracked
        self._events: dict[str, Event] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Add events; one that was added already stays as it is."""
        for event in events:
            self._events.setdefault(event.id, event)
            self.unexplained.discard(event.pr or 0)

    def add_posts(self, read: Iterable[Post | None], *, anew: bool = False) -> None:
        """Add the posts that are new or edited; `anew`: for a new plan, whatever an earlier plan has read."""
        tracked = [post for post in read if post is not None and post.where.pr in self._tracked]
        for post in sorted(tracked, key=lambda post: post.updated):
            older = self._cursor.posts.get(post.key)
            event = new_event(post, older)
            if anew:
                event = new_event(post, None)
            if event is not None:
                self.add([event])
            if older is None or older.digest != digest(post):
                self.unexplained.discard(post.where.pr)
            if older is None:
                self._cursor.count(post.where.pr, kind(post.key))
            name = event_id(post)
            if event is not None:
                name = event.id
            elif older is not None:
                name = older.event
            self._cursor.remember(post.key, to_store(post, name))

    def events(self) -> list[Event]:
        """Return the events, oldest first, each with the head of its pull request and the state of its checks."""
        events = sorted(self._events.values(), key=lambda event: event.written_at or event.created_at or "")
        return [self._with_head(event) for event in events]

    def _with_head(self, event: Event) -> Event:
        state = self._cursor.pull_requests.get(event.pr or 0)
        if state is None or not state.head:
            return event
        more: dict[str, Json] = {"head": state.head}
        report = checks.report(state)
        if report is not None:
            more["checks"] = report
        return structs.replace(event, context={**event.context, **more})


def _edited(post: Post) -> bool:
    """Whether the times show an edit; now and then GitHub moves the later one a second after the posting."""
    created, updated = answers.time(post.created), answers.time(post.updated)
    if created is None or updated is None:
        return post.updated != post.created
    return updated - created > _AT_ONCE


def _remote(item: Json, number: int) -> str:
    """Return what GitHub calls the comment: that of a review of prloom's own by the review, whose id was delivered."""
    review_id = answers.number(item, "pull_request_review_id")
    of_ours = requests.PART in answers.text(item, "body").splitlines()
    if of_ours and review_id:
        return f"{REVIEW}{review_id}"
    return f"{REVIEW_COMMENT}{number}"


def _post(
    item: Json, key: str, kind_and_title: tuple[str, str], where: ReplyTarget, context: Mapping[str, Json]
) -> Post:
    kind, did = kind_and_title
    author = answers.author(item.get("user"))
    created = answers.text(item, "created_at")
    return Post(
        key=key,
        type=kind,
        title=f"{author.login} {did}",
        body=answers.text(item, "body"),
        author=author,
        where=where,
        url=answers.text(item, "html_url"),
        created=created,
        updated=answers.text(item, "updated_at") or created,
        warns=context.get("state") == "changes_requested",
        context={key: value for key, value in {"remoteId": key, **context}.items() if value is not None},
    )


def _event(post: Post, version: str, older: str | None) -> Event:
    edit = {}
    if older is not None:
        edit["supersedes"] = older
    if older is not None or _edited(post):
        edit["updatedAt"] = post.updated
    return Event(
        id=version,
        source=requests.TARGET,
        type=post.type,
        severity="warning" if post.warns else "info",
        title=post.title,
        body=post.body,
        reply_to=requests.to_target(post.where),
        context={**post.context, **edit},
        author=post.author,
        url=post.url or None,
        created_at=post.created or None,
        pr=post.where.pr,
    )


def _id(version: str) -> str:
    return f"github:{version}"
