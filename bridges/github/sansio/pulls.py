"""Read pull requests, and tell what happened to one since it was seen last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prloom.api import Event, Json, PullRequest

from . import json_access, reply_target
from .cursor import SeenPullRequest
from .reply_target import ReplyTarget

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class PullRequestSummary:
    """What a list tells of a pull request. Times as GitHub's.

    `owner` is whose the head repository is, empty where it is gone; `pushed` is when the base's was pushed to last.
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
    number = json_access.number(item, "number")
    if number is None:
        return None
    merged = json_access.text(item, "merged_at")
    return PullRequestSummary(
        number=number,
        head=json_access.text(item, "head", "sha"),
        base=json_access.text(item, "base", "ref"),
        state="merged" if merged else json_access.text(item, "state"),
        updated=json_access.text(item, "updated_at"),
        ended=merged or json_access.text(item, "closed_at"),
        fork=_fork(item),
        owner=json_access.text(item, "head", "repo", "owner", "login"),
        pushed=json_access.text(item, "base", "repo", "pushed_at"),
    )


def conflict(item: Json) -> bool | None:
    """Whether a pull request, shown alone, conflicts with its base; None while GitHub works it out."""
    mergeable = json_access.at(item, "mergeable")
    if mergeable is None:
        return None
    return mergeable is False


def counts(item: Json) -> Mapping[str, int]:
    """Return how many comments a pull request, shown alone, has of each kind, as far as GitHub tells."""
    found = {"comments": json_access.number(item, "comments"), "inline": json_access.number(item, "review_comments")}
    return {kind: count for kind, count in found.items() if count is not None}


def differs(seen: SeenPullRequest, now: PullRequestSummary) -> bool:
    """Whether anything became of a pull request; within one second its time stays what it was."""
    before = (seen.updated, seen.head, seen.base, seen.state)
    return before != (now.updated, now.head, now.base, now.state)


def happened(before: SeenPullRequest | None, now: PullRequestSummary) -> Sequence[Event]:
    """Return what became of a pull request since it was seen last; at first sight, whether it has ended."""
    events = []
    if before is not None and before.state != "open" and now.state == "open":
        events.append(_event(now, f"reopened:{now.updated}", "pr_reopened", "reopened", now.updated))
    if before is not None and before.head and before.head != now.head:
        title = f"new commits: {json_access.short(before.head)} → {json_access.short(now.head)}"
        context = {"commit": now.head, "before": before.head}
        events.append(_event(now, f"pushed:{now.head}", "pr_pushed", title, now.updated, context=context))
    if now.state != "open" and (before is None or before.state != now.state):
        said = "closed without being merged"
        if now.state == "merged":
            said = "merged"
        events.append(_event(now, f"{now.state}:{now.ended}", f"pr_{now.state}", said, now.ended))
    return events


def conflicts(now: PullRequestSummary, base_sha: str) -> Event:
    """Return the event that a pull request conflicts with its base."""
    context: dict[str, Json] = {"base": now.base, "commit": now.head}
    name, title = f"conflict:{now.head}:{base_sha}", f"conflicts with {now.base}"
    return _event(now, name, "merge_conflict", title, now.updated, context=context, severity="warning")


def gone(number: int, when: str) -> Event:
    """Return the event that a pull request is gone: GitHub says 404 for it, and shows the repository."""
    return Event(
        id=f"github:pr-{number}:gone",
        source=reply_target.TARGET,
        type="pr_closed",
        title="no longer on GitHub, or the token has no access to it",
        created_at=when,
        pr=number,
    )


def pull_request(item: Json) -> PullRequest:
    """Read a pull request, as prloom has it. Its head can be fetched by a ref of GitHub's own, from forks too."""
    number = json_access.number(item, "number") or 0
    known = summary(item)
    return PullRequest(
        number=number,
        title=json_access.text(item, "title"),
        body=json_access.text(item, "body"),
        branch=json_access.text(item, "head", "ref"),
        base=json_access.text(item, "base", "ref"),
        state=known.state if known else "open",
        url=json_access.text(item, "html_url"),
        head=json_access.text(item, "head", "sha"),
        draft=json_access.at(item, "draft") is True,
        ref=f"refs/pull/{number}/head",
        fork=_fork(item),
        author=json_access.text(item, "user", "login") or None,
    )


def _fork(item: Json) -> bool:
    """Whether the head is in another repository, or in one that is gone."""
    head, base = (json_access.text(item, side, "repo", "full_name").lower() for side in ("head", "base"))
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
    """Return an event that GitHub itself tells: it has no author, and no words of anybody."""
    return Event(
        id=f"github:pr-{now.number}:{name}",
        source=reply_target.TARGET,
        type=kind,
        severity=severity,
        title=title,
        reply_to=reply_target.target(ReplyTarget(now.number)),
        context=context or {},
        created_at=when or None,
        pr=now.number,
    )
