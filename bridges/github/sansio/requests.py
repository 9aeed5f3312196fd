"""Build the request that carries out each action: where it goes, and the text that is posted.

A text begins with the marker of its action, contains no other marker, and is not longer than GitHub accepts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from prloom.api import (
    AddLabels,
    ClosePr,
    InlineComment,
    Json,
    Refused,
    RequestReviewers,
    Review,
    Target,
    marked,
    marker,
)

from ..settings import Reaction  # noqa: TID252 - whoever loads the bridge names its package
from . import answers
from .endpoints import RepositoryUrls

TARGET = "github"
_EVENTS = {"approve": "APPROVE", "request_changes": "REQUEST_CHANGES", "comment": "COMMENT"}
REACTIONS: Mapping[Reaction, Sequence[str]] = {
    "+1": ("👍", "thumbsup", "thumbs_up"),
    "-1": ("👎", "thumbsdown", "thumbs_down"),
    "laugh": ("😄", "smile"),
    "confused": ("😕",),
    "heart": ("❤️", "❤"),
    "hooray": ("🎉", "tada"),
    "rocket": ("🚀",),
    "eyes": ("👀",),
}
LONGEST = 65_536
"""Characters that GitHub takes in one text."""

PART = "<!-- prloom:part -->"
"""Stands in the comments of a review of prloom's own, which GitHub numbers one by one."""

_SIGNATURE = "*— "
_ROOM = 200  # characters for the note that something was cut, and an end of the code before it
_SHOWN: dict[int, int] = {
    **{sign: 0x2400 + sign for sign in range(0x20) if chr(sign) not in "\t\n\r"},  # Unicode has pictures of them
    0x7F: 0x2421,
}


@dataclass(frozen=True)
class ReplyTarget:
    """A pull request; and there the first comment of a thread, a comment on a line, a comment, or a review."""

    pr: int
    thread: int | None = None
    inline: int | None = None
    comment: int | None = None
    review: int | None = None


def to_target(where: ReplyTarget) -> Target:
    """Return it as the target that events carry: what it names, by the names of its fields."""
    return Target(TARGET, {name: number for name, number in asdict(where).items() if number is not None})


def read_token(token: Json, pr: int | None) -> ReplyTarget | None:
    """Return what a target's token names; None: it is not a token of this bridge. `pr` is the plan's, for no token."""
    if token is None and pr is not None:
        return ReplyTarget(pr)
    named = {field.name: _positive(token, field.name) for field in fields(ReplyTarget)}
    number = named.pop("pr")
    if number is None:
        return None
    return ReplyTarget(number, **named)


@dataclass(frozen=True)
class ApiRequest:
    """A request that changes something."""

    method: str
    url: str
    body: Json


def idempotent(payload: AddLabels | ClosePr | RequestReviewers, repository: RepositoryUrls, pr: int) -> ApiRequest:
    """Return the request of an action that has the same result however often it is done."""
    match payload:
        case AddLabels(labels=labels):
            return ApiRequest("POST", f"{repository.issue(pr)}/labels", {"labels": list(labels)})
        case ClosePr():
            return ApiRequest("PATCH", repository.pull(pr), {"state": "closed"})
        case RequestReviewers(reviewers=reviewers):
            teams = [name.rpartition("/")[2] for name in reviewers if "/" in name]
            people = [name for name in reviewers if "/" not in name]
            wanted = {"reviewers": people}
            if teams:
                wanted["team_reviewers"] = teams
            return ApiRequest("POST", f"{repository.pull(pr)}/requested_reviewers", wanted)


def assign(repository: RepositoryUrls, pr: int, users: Sequence[str]) -> ApiRequest:
    """Return the request that assigns people."""
    return ApiRequest("POST", f"{repository.issue(pr)}/assignees", {"assignees": list(users)})


def milestone(found: Sequence[Json], title: str) -> int | None:
    """Return the number of the milestone with this title; one that is open comes first, case counts last."""
    named = [each for each in found if answers.text(each, "title").casefold() == title.casefold()]
    named.sort(key=lambda each: (answers.text(each, "title") != title, answers.text(each, "state") != "open"))
    if named:
        return answers.number(named[0], "number")
    return None


def set_milestone(repository: RepositoryUrls, pr: int, number: int) -> ApiRequest:
    """Return the request that puts a pull request into a milestone."""
    return ApiRequest("PATCH", repository.issue(pr), {"milestone": number})


def merge(repository: RepositoryUrls, pr: int, method: str, commit: str) -> ApiRequest:
    """Return the request that merges exactly this commit: GitHub refuses it where the head is another one."""
    return ApiRequest("PUT", f"{repository.pull(pr)}/merge", {"merge_method": method, "sha": commit})


def reaction_name(named: str) -> str | None:
    """Return GitHub's name of a reaction, given a name or the sign itself; None: it has none."""
    wanted = named.strip().strip(":")
    return next((name for name, others in REACTIONS.items() if wanted in {name, *others}), None)


def react(repository: RepositoryUrls, where: ReplyTarget, reaction: str) -> ApiRequest | Refused:
    """Return the request for a reaction, by GitHub's name for it or by the sign itself."""
    name = reaction_name(reaction)
    if name is None:
        return Refused(f"GitHub has no reaction {reaction!r}; it has {', '.join(REACTIONS)}")
    if where.review is not None:
        return Refused("GitHub does not support reactions to a review; react to a comment, or to the pull request")
    if where.inline is not None:
        url = repository.inline_reactions(where.inline)
    elif where.comment is not None:
        url = repository.comment_reactions(where.comment)
    else:
        url = f"{repository.issue(where.pr)}/reactions"
    return ApiRequest("POST", url, {"content": name})


def comment(repository: RepositoryUrls, pr: int, body: str) -> ApiRequest:
    """Return the request for a comment in the conversation."""
    return ApiRequest("POST", f"{repository.issue(pr)}/comments", {"body": body})


def reply(repository: RepositoryUrls, where: ReplyTarget, body: str) -> ApiRequest:
    """Return the request for a reply in a thread, by its first comment: GitHub takes replies to no other."""
    return ApiRequest("POST", f"{repository.pull(where.pr)}/comments/{where.thread}/replies", {"body": body})


def inline(repository: RepositoryUrls, pr: int, commit: str, payload: InlineComment, action: str) -> ApiRequest:
    """Return the request for a comment at a line of the new text."""
    text = post_body(payload.message, action)
    wanted = {"body": text, "commit_id": commit, "path": payload.path, "line": payload.line, "side": "RIGHT"}
    return ApiRequest("POST", f"{repository.pull(pr)}/comments", wanted)


def review(
    repository: RepositoryUrls, pr: int, payload: Review, action: str, *, commit: str, folded: bool
) -> ApiRequest | Refused:
    """Return the request for a review; `folded`: with the comments in its own text, as if no line were in the diff."""
    comments = [found for each in payload.comments if (found := review_comment(each)) is not None]
    at_lines = [(path, line, text) for path, line, text in comments if path and line is not None and not folded]
    others = [at_line(path, line, text) for path, line, text in comments if (path, line, text) not in at_lines]
    summary = "\n\n".join(part for part in (payload.summary.strip(), *others) if part)
    if not summary and not at_lines and payload.verdict != "approve":
        return Refused("the review is empty, so there is nothing to post")
    body: dict[str, Json] = {
        "event": _EVENTS[payload.verdict],
        "body": post_body(summary, action),
        "commit_id": commit,
    }
    if at_lines:
        body["comments"] = [
            {"path": path, "line": line, "side": "RIGHT", "body": post_body(text, action, part=True)}
            for path, line, text in at_lines
        ]
    return ApiRequest("POST", f"{repository.pull(pr)}/reviews", body)


def post_body(message: str, action: str, *, part: bool = False) -> str:
    """Return the text to post for an action: its marker first, so that nothing open in the message can hide it."""
    if part:
        head = f"{marker(action)}\n{PART}\n\n"
    else:
        head = f"{marker(action)}\n\n"
    return head + cut(defused(message), LONGEST - len(head))


def appended(body: str, message: str, action: str) -> str | None:
    """Return the text of an own post with a message added, which has the marker of its action; None without room.

    A signature below both stands once, at the end.
    """
    before, _, last = body.rstrip().rpartition("\n\n")
    if last.startswith(_SIGNATURE) and message.rstrip().endswith(f"\n\n{last}"):
        body = before
    text = f"{body.rstrip()}\n\n{marker(action)}\n\n{defused(message)}"
    if _length(text) > LONGEST:
        return None
    return text


def defused(message: str) -> str:
    """Return the message without control characters, and with the markers of other actions defused."""
    text = message.encode("utf-8", "replace").decode("utf-8").translate(_SHOWN).replace(PART, "(prloom:part)")
    for of in marked(text):
        text = text.replace(marker(of), f"(prloom:action {of})")
    return text


def cut(text: str, room: int) -> str:
    """Return the text, or as much of it as there is room for with a note of how much is missing."""
    if _length(text) <= room:
        return text
    kept = text[: room - _ROOM]
    while _length(kept) > room - _ROOM:
        kept = kept[: len(kept) - (_length(kept) - (room - _ROOM) + 1) // 2]
    end = ""
    if f"\n{kept}".count("\n```") % 2:
        end = "\n```"
    return f"{kept}{end}\n\n*(cut here: {len(text) - len(kept):,} more characters)*"


def at_line(path: str, line: int | None, message: str) -> str:
    """Return a comment on a line as it reads in the conversation."""
    if not path:
        return message
    position = path.replace("`", "")
    if line:
        position += f":{line}"
    return f"`{position}`: {message}"


def review_comment(comment: Mapping[str, Json]) -> tuple[str, int | None, str] | None:
    """Return path, line and text of a comment of a review; None where it is empty."""
    text = comment.get("message") or comment.get("body")
    if not isinstance(text, str) or not text.strip():
        return None
    return answers.text(comment, "path"), _positive(comment, "line"), text


def _length(text: str) -> int:
    """Return the length as JavaScript and MySQL count it, at the worst."""
    return len(text.encode("utf-16-le", "replace")) // 2


def _positive(token: Json, key: str) -> int | None:
    found = answers.number(token, key)
    if found is None or found <= 0:
        return None
    return found
