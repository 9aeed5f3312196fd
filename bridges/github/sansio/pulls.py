"""Read pull requests, and make events of what happened to one since the last poll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prloom.api import Answer, Event, Json, PullRequest

from . import answers, requests
from .comment_kinds import NAMES, CommentKind
from .cursor import PullRequestState
from .requests import ReplyTarget

Severity = Literal["info", "warning", "error"]

_STATES = {"open", "closed"}


@dataclass(frozen=True)
class PullRequestSummary:
    """A pull request as lists show it. Times are GitHub's texts.

    `owner` is the owner of the head repository, empty where it is gone; `pushed` is when the base's was pushed to last.
    """

    number: int
    head: str
    base: str
    state: str
    updated: str
    ended: str
    fork: bool
    owner: str
    pushed: str


def summary(item: Json) -> PullRequestSummary | None:
    """Read a pull request; None where it is none."""
    number = answers.number(item, "number")
    if number is None or answers.text(item, "state") not in _STATES or not answers.text(item, "head", "sha"):
        return None
    merged = answers.text(item, "merged_at")
    return PullRequestSummary(
        number=number,
        head=answers.text(item, "head", "sha"),
        base=answers.text(item, "base", "ref"),
        state="merged" if merged else answers.text(item, "state"),
        updated=answers.text(item, "updated_at"),
        ended=merged or answers.text(item, "closed_at"),
        fork=_fork(item),
        owner=answers.text(item, "head", "repo", "owner", "login"),
        pushed=answers.text(item, "base", "repo", "pushed_at"),
    )


def read_alone(answer: Answer, number: int | None = None) -> tuple[Json, PullRequestSummary]:
    """Read an answer that shows a pull request alone, of this number; raises HttpError where it does not."""
    item = answer.json()
    found = summary(item)
    if found is None:
        raise answers.unexpected(answer, "is not a pull request")
    if number not in {None, found.number}:
        raise answers.unexpected(answer, f"is #{found.number}, another pull request than #{number}")
    return item, found


def conflict(item: Json) -> bool | None:
    """Whether a pull request, shown alone, conflicts with its base; None while GitHub computes it."""
    mergeable = answers.value_at(item, "mergeable")
    if mergeable is None:
        return None
    return mergeable is False


def counts(item: Json) -> Mapping[CommentKind, int]:
    """Return how many comments a pull request, shown alone, has of each kind, as far as GitHub says."""
    found = {kind: answers.number(item, names.counter) for kind, names in NAMES.items()}
    return {kind: count for kind, count in found.items() if count is not None}


def differs(before: PullRequestState, now: PullRequestSummary) -> bool:
    """Whether a pull request has changed; a change within one second does not change its time."""
    old = (before.updated, before.head, before.base, before.state)
    return old != (now.updated, now.head, now.base, now.state)


def changes(before: PullRequestState | None, now: PullRequestSummary) -> Sequence[Event]:
    """Return the events since the last poll; for a new pull request, whether it has ended."""
    events = []
    if before is not None and before.state != "open" and now.state == "open":
        events.append(_event(now, f"reopened:{now.updated}", "pr_reopened", "reopened", now.updated))
    if before is not None and before.head and before.head != now.head:
        title = f"new commits: {answers.short_sha(before.head)} → {answers.short_sha(now.head)}"
        context = {"commit": now.head, "before": before.head}
        name = f"pushed:{before.head}:{now.head}"  # a branch may be put back to an earlier commit
        events.append(_event(now, name, "pr_pushed", title, now.updated, context=context))
    if now.state != "open" and (before is None or before.state != now.state):
        title = "closed without being merged"
        if now.state == "merged":
            title = "merged"
        events.append(_event(now, f"{now.state}:{now.ended}", f"pr_{now.state}", title, now.ended))
    return events


def conflict_event(now: PullRequestSummary, base_sha: str, older: str | None) -> Event:
    """Return the event that a pull request conflicts with its base; it takes the place of an `older` one."""
    context: dict[str, Json] = {"base": now.base, "commit": now.head}
    if older is not None:
        context |= {"supersedes": older, "updatedAt": now.updated}
    name, title = f"conflict:{now.head}:{base_sha}", f"conflicts with {now.base}"
    return _event(now, name, "merge_conflict", title, now.updated, context=context, severity="warning")


def resolved_event(now: PullRequestSummary, older: str) -> Event:
    """Return the notice that the conflict of an `older` event is resolved."""
    context: dict[str, Json] = {"base": now.base, "commit": now.head, "supersedes": older}
    name = f"resolved:{older.rpartition('conflict:')[2]}"
    return _event(now, name, "conflict_resolved", f"no longer conflicts with {now.base}", now.updated, context=context)


def gone_event(number: int, when: str) -> Event:
    """Return the event that a pull request is gone: GitHub says 404 for it, and shows the repository."""
    return Event(
        id=f"github:pr-{number}:gone",
        source=requests.TARGET,
        type="pr_closed",
        title="no longer on GitHub, or the token has no access to it",
        created_at=when,
        pr=number,
    )


def pull_request(item: Json, *, edited: Json = None) -> PullRequest:
    """Read a pull request as prloom's own value. Its head can be fetched by a ref of GitHub's own, from forks too.

    `edited` is its body and editor as GraphQL says them together: the editor of any other body is not known.
    """
    body = answers.text(item, "body")
    editor = None
    if answers.value_at(edited, "body") is not None:
        body = answers.text(edited, "body")
    if answers.value_at(edited, "editor") is not None:
        editor = answers.graphql_author(answers.value_at(edited, "editor")).login
    number = answers.number(item, "number") or 0
    short = summary(item)
    return PullRequest(
        number=number,
        title=answers.text(item, "title"),
        body=body,
        branch=answers.text(item, "head", "ref"),
        base=answers.text(item, "base", "ref"),
        state=short.state if short else "open",
        url=answers.text(item, "html_url"),
        head=answers.text(item, "head", "sha"),
        draft=answers.value_at(item, "draft") is True,
        ref=f"refs/pull/{number}/head",
        fork=_fork(item),
        author=answers.text(item, "user", "login") or None,
        labels=tuple(answers.text(each, "name") for each in answers.items(item, "labels")),
        edited_by=editor,
    )


def _fork(item: Json) -> bool:
    """Whether the head is in another repository, or in one that is gone."""
    head, base = (answers.text(item, side, "repo", "full_name").lower() for side in ("head", "base"))
    return not head or head != base


def _event(
    now: PullRequestSummary,
    name: str,
    kind: str,
    title: str,
    when: str,
    *,
    context: Mapping[str, Json] | None = None,
    severity: Severity = "info",
) -> Event:
    """Return an event from GitHub itself: it has no author, and no text by a person."""
    return Event(
        id=f"github:pr-{now.number}:{name}",
        source=requests.TARGET,
        type=kind,
        severity=severity,
        title=title,
        reply_to=requests.to_target(ReplyTarget(now.number)),
        context=context or {},
        created_at=when or None,
        pr=now.number,
    )
