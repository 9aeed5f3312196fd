"""Know the request that each action is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prloom.api import AddLabels, ClosePr, InlineComment, Json, Refused, RequestReviewers, Review

from . import json_access, rendering
from .reply_target import ReplyTarget
from .urls import RepositoryUrls

_EVENTS = {"approve": "APPROVE", "request_changes": "REQUEST_CHANGES", "comment": "COMMENT"}
REACTIONS = {
    "+1": ("👍", "thumbsup", "thumbs_up"),
    "-1": ("👎", "thumbsdown", "thumbs_down"),
    "laugh": ("😄", "smile"),
    "confused": ("😕",),
    "heart": ("❤️", "❤"),
    "hooray": ("🎉", "tada"),
    "rocket": ("🚀",),
    "eyes": ("👀",),
}


@dataclass(frozen=True)
class ApiRequest:
    """A request that changes something."""

    method: str
    url: str
    body: Json


def plain(payload: AddLabels | ClosePr | RequestReviewers, repository: RepositoryUrls, pr: int) -> ApiRequest:
    """Return the request of an action that is the same however often it is done."""
    match payload:
        case AddLabels(labels=labels):
            return ApiRequest("POST", f"{repository.issue(pr)}/labels", {"labels": list(labels)})
        case ClosePr():
            return ApiRequest("PATCH", repository.pull(pr), {"state": "closed"})
        case RequestReviewers(reviewers=reviewers):
            teams = [name.rpartition("/")[2] for name in reviewers if "/" in name]
            people = [name for name in reviewers if "/" not in name]
            wanted = {"reviewers": people} | ({"team_reviewers": teams} if teams else {})
            return ApiRequest("POST", f"{repository.pull(pr)}/requested_reviewers", wanted)


def assign(repository: RepositoryUrls, pr: int, users: Sequence[str]) -> ApiRequest:
    """Return the request that assigns people."""
    return ApiRequest("POST", f"{repository.issue(pr)}/assignees", {"assignees": list(users)})


def milestone(found: Sequence[Json], title: str) -> int | None:
    """Return the number of the milestone with this title; one that is open comes first, case counts last."""
    named = [each for each in found if json_access.text(each, "title").casefold() == title.casefold()]
    named.sort(key=lambda each: (json_access.text(each, "title") != title, json_access.text(each, "state") != "open"))
    if named:
        return json_access.number(named[0], "number")
    return None


def set_milestone(repository: RepositoryUrls, pr: int, number: int) -> ApiRequest:
    """Return the request that puts a pull request into a milestone."""
    return ApiRequest("PATCH", repository.issue(pr), {"milestone": number})


def merge(repository: RepositoryUrls, pr: int, method: str, commit: str) -> ApiRequest:
    """Return the request that merges exactly this commit: GitHub refuses it where the head is another one."""
    return ApiRequest("PUT", f"{repository.pull(pr)}/merge", {"merge_method": method, "sha": commit})


def reaction_name(named: str) -> str | None:
    """Return GitHub's name of a reaction that is named like that or by the sign itself; None: it has none."""
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
    body = rendering.body(payload.message, action)
    wanted = {"body": body, "commit_id": commit, "path": payload.path, "line": payload.line, "side": "RIGHT"}
    return ApiRequest("POST", f"{repository.pull(pr)}/comments", wanted)


def review(
    repository: RepositoryUrls, pr: int, payload: Review, action: str, *, commit: str, folded: bool
) -> ApiRequest | Refused:
    """Return the request for a review; `folded`: with the comments in its own text, as if no line were in the diff."""
    said = [found for each in payload.comments if (found := rendering.review_comment(each)) is not None]
    at_lines = [(path, line, text) for path, line, text in said if path and line is not None and not folded]
    rest = [rendering.at_line(path, line, text) for path, line, text in said if (path, line, text) not in at_lines]
    summary = "\n\n".join(part for part in (payload.summary.strip(), *rest) if part)
    if not summary and not at_lines and payload.verdict != "approve":
        return Refused("the review is empty, so there is nothing to post")
    body: dict[str, Json] = {
        "event": _EVENTS[payload.verdict],
        "body": rendering.body(summary, action),
        "commit_id": commit,
    }
    if at_lines:
        body["comments"] = [
            {"path": path, "line": line, "side": "RIGHT", "body": rendering.body(text, action, part=True)}
            for path, line, text in at_lines
        ]
    return ApiRequest("POST", f"{repository.pull(pr)}/reviews", body)
