"""Issues, and pull requests in so far as they are issues: state, lock, labels, people and milestone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from . import labels, people, shapes
from .call import Call
from .exchange import Json, Reply, invalid, stamp
from .things import Account, Issue, Label, Pull
from .world import World


def open_issue(world: World, author: Account, title: str, body: str, now: datetime) -> Issue:
    number = world.next_number()
    issue = Issue(
        id=world.next_id(), number=number, title=title, body=body, author=author, created_at=now, updated_at=now
    )
    world.issues[number] = issue
    return issue


def set_state(issue: Issue, state: str, by: Account, now: datetime) -> None:
    """Close or reopen; what is so already stays as it was."""
    if issue.state == state:
        return
    issue.state = state
    issue.closed_at, issue.closed_by = (now, by) if state == "closed" else (None, None)
    issue.state_reason = None if isinstance(issue, Pull) else ("completed" if state == "closed" else "reopened")
    issue.updated_at = now


def pull_links(world: World, pull: Pull) -> Json:
    web = f"{shapes.web_url(world)}/pull/{pull.number}"
    return {
        "url": f"{shapes.repository_url(world)}/pulls/{pull.number}",
        "html_url": web,
        "diff_url": f"{web}.diff",
        "patch_url": f"{web}.patch",
        "merged_at": stamp(pull.merged_at),
    }


def render(world: World, issue: Issue) -> Json:
    repo = shapes.repository_url(world)
    url = f"{repo}/issues/{issue.number}"
    pull = isinstance(issue, Pull)
    extra = {"pull_request": pull_links(world, issue), "draft": issue.draft} if isinstance(issue, Pull) else {}
    return {
        "id": issue.id,
        "node_id": f"{'PR' if pull else 'I'}_{issue.id}",
        "number": issue.number,
        "url": url,
        "repository_url": repo,
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": f"{shapes.web_url(world)}/{'pull' if pull else 'issues'}/{issue.number}",
        "title": issue.title,
        "body": issue.body or None,
        "user": shapes.maybe_user(world, issue.author),
        "state": issue.state,
        "state_reason": issue.state_reason,
        "locked": issue.locked,
        "active_lock_reason": issue.lock_reason,
        **attributes(world, issue),
        "comments": len(world.comments_of(issue)),
        "created_at": stamp(issue.created_at),
        "updated_at": stamp(issue.updated_at),
        "closed_at": stamp(issue.closed_at),
        "closed_by": shapes.maybe_user(world, issue.closed_by),
        "author_association": shapes.association(issue.author),
        "performed_via_github_app": None,
        "reactions": shapes.rollup(issue.reactions, url),
        **extra,
    }


def attributes(world: World, issue: Issue) -> Json:
    """Write what issues and pull requests have in common besides their text."""
    people_of = [shapes.user(world, account) for account in issue.assignees if account.exists]
    return {
        "labels": [shapes.label(world, label) for label in issue.labels],
        "assignee": people_of[0] if people_of else None,
        "assignees": people_of,
        "milestone": shapes.milestone(world, issue.milestone),
    }


def read(call: Call) -> Reply:
    return Reply(200, render(call.world, call.issue))


def update(call: Call) -> Reply:
    changes = call.body or {}
    issue = call.issue
    call.needs("triage") if {"labels", "assignees", "milestone"} & set(changes) else call.owns(issue.author)
    change(call, issue, changes)
    return Reply(200, render(call.world, issue))


def change(call: Call, issue: Issue, changes: Json) -> None:
    """Set what is named; what is not named stays."""
    world = call.world
    if "milestone" in changes:
        number = changes["milestone"]
        if number is not None and int(number) not in world.milestones:
            raise invalid("Issue", "milestone")
        issue.milestone = world.milestones[int(number)] if number is not None else None
    if "labels" in changes:
        issue.labels = [labels.named(world, name) for name in changes["labels"]]
    if "assignees" in changes:
        issue.assignees = people.assignable(world, changes["assignees"])
    if "title" in changes:
        issue.title = changes["title"] or ""
    if "body" in changes:
        issue.body, issue.editor, issue.edited_at = changes["body"] or "", call.writer, call.now
    if "state" in changes:
        set_state(issue, changes["state"], call.writer, call.now)
    if changes:
        issue.updated_at = call.now


def add_assignees(call: Call) -> Reply:
    """Assign those who can be; GitHub leaves the others out and says nothing."""
    call.needs("triage")
    new = people.assignable(call.world, (call.body or {}).get("assignees", ()))
    issue = call.issue
    issue.assignees += [account for account in new if account not in issue.assignees]
    del issue.assignees[10:]
    issue.updated_at = call.now
    return Reply(201, render(call.world, issue))


def relabel(call: Call, chosen: Sequence[Label]) -> None:
    call.issue.labels = list(dict.fromkeys(chosen))
    call.issue.updated_at = call.now


def labelled(call: Call) -> Reply:
    return Reply(200, [shapes.label(call.world, label) for label in call.issue.labels])


def add_labels(call: Call) -> Reply:
    """Add the labels that the body names; an unknown one is made on the spot."""
    call.needs("triage")
    wanted = [labels.named(call.world, name) for name in (call.body or {}).get("labels", ())]
    relabel(call, [*call.issue.labels, *wanted])
    return labelled(call)


def remove_label(call: Call) -> Reply:
    call.needs("triage")
    kept = [label for label in call.issue.labels if label.name.lower() != call.params["name"].lower()]
    if len(kept) == len(call.issue.labels):
        raise labels.missing()
    relabel(call, kept)
    return labelled(call)
