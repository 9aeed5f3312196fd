"""Pull requests: how they are opened, described and listed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from . import diffs, issues, listing, merges, shapes
from .call import Call
from .exchange import Json, Listing, Refusal, Reply, invalid, stamp
from .things import Account, FileDiff, Pull, Side
from .world import World


def open_pull(
    world: World,
    author: Account,
    *,
    title: str,
    body: str,
    head: Side,
    base: str,
    draft: bool,
    files: Iterable[FileDiff],
    now: datetime,
) -> Pull:
    repo, number = world.repository, world.next_number()
    base_side = Side(ref=base, sha=repo.branches[base], user=repo.owner, repository=repo)
    pull = Pull(
        id=world.next_id(),
        number=number,
        title=title,
        body=body,
        author=author,
        created_at=now,
        updated_at=now,
        head=head,
        base=base_side,
        draft=draft,
        files={file.path: file for file in files},
        commits=[head.sha],
        computed_from=now,
    )
    world.issues[number] = pull
    merges.recompute(world, pull, now)
    return pull


def side(world: World, of: Side) -> Json:
    return {
        "label": f"{of.user.login}:{of.ref}",
        "ref": of.ref,
        "sha": of.sha,
        "user": shapes.maybe_user(world, of.user),
        "repo": shapes.repository(world, of.repository) if of.repository else None,
    }


def links(world: World, pull: Pull) -> dict[str, str]:
    repo, web = shapes.repository_url(world), f"{shapes.web_url(world)}/pull/{pull.number}"
    url, issue = f"{repo}/pulls/{pull.number}", f"{repo}/issues/{pull.number}"
    return {
        "self": url,
        "html": web,
        "issue": issue,
        "comments": f"{issue}/comments",
        "commits": f"{url}/commits",
        "review_comments": f"{url}/comments",
        "review_comment": f"{repo}/pulls/comments{{/number}}",
        "statuses": f"{repo}/statuses/{pull.head.sha}",
    }


def simple(world: World, pull: Pull) -> Json:
    """Write a pull request as lists do: without what would have to be computed."""
    urls = links(world, pull)
    return {
        "id": pull.id,
        "node_id": f"PR_{pull.id}",
        "number": pull.number,
        "url": urls["self"],
        "html_url": urls["html"],
        "diff_url": f"{urls['html']}.diff",
        "patch_url": f"{urls['html']}.patch",
        **{f"{name}_url": url for name, url in urls.items() if name not in {"self", "html"}},
        "state": pull.state,
        "locked": pull.locked,
        "active_lock_reason": pull.lock_reason,
        "title": pull.title,
        "body": pull.body or None,
        "user": shapes.maybe_user(world, pull.author),
        **issues.attributes(world, pull),
        "created_at": stamp(pull.created_at),
        "updated_at": stamp(pull.updated_at),
        "closed_at": stamp(pull.closed_at),
        "merged_at": stamp(pull.merged_at),
        "merge_commit_sha": pull.merge_sha,
        "requested_reviewers": [shapes.user(world, account) for account in pull.reviewers],
        "requested_teams": [],
        "head": side(world, pull.head),
        "base": side(world, pull.base),
        "_links": {name: {"href": url} for name, url in urls.items()},
        "author_association": shapes.association(pull.author),
        "auto_merge": None,
        "draft": pull.draft,
    }


def full(world: World, pull: Pull) -> Json:
    """Write a pull request as it is shown alone."""
    changes = [diffs.counts(file) for file in pull.files.values()]
    mergeable, why = merges.mergeable(world, pull)
    return {
        **simple(world, pull),
        "merged": pull.merged_at is not None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": why,
        "merged_by": shapes.maybe_user(world, pull.merged_by),
        "comments": len(world.comments_of(pull)),
        "review_comments": len(list(world.visible(pull))),
        "maintainer_can_modify": pull.head.repository is not world.repository,
        "commits": len(pull.commits),
        "additions": sum(added for added, _ in changes),
        "deletions": sum(removed for _, removed in changes),
        "changed_files": len(changes),
    }


def list_all(call: Call) -> Listing:
    state, head, base = call.query.get("state", "open"), call.query.get("head"), call.query.get("base")
    shown = [
        pull
        for pull in call.world.pulls()
        if state in {"all", pull.state}
        and head in {None, "", f"{pull.head.user.login}:{pull.head.ref}"}
        and base in {None, "", pull.base.ref}
    ]
    order = call.query.get("sort", "created")
    direction = call.query.get("direction") or ("desc" if order == "created" else "asc")
    query = {"sort": order, "direction": direction}
    return Listing(listing.sort(shown, query, since=None), lambda pull: simple(call.world, pull))


def read(call: Call) -> Reply:
    return Reply(200, full(call.world, call.pull))


def create(call: Call) -> Reply:
    """Open a pull request between branches of this repository."""
    body, repo = call.body or {}, call.world.repository
    ref, base = str(body.get("head", "")).rpartition(":")[2], str(body.get("base", ""))
    for field, name in (("head", ref), ("base", base)):
        if name not in repo.branches:
            raise invalid("PullRequest", field)
    if any(pull.state == "open" and (pull.head.ref, pull.base.ref) == (ref, base) for pull in call.world.pulls()):
        raise invalid("PullRequest", "", f"A pull request already exists for {repo.owner.login}:{ref}.")
    if repo.branches[ref] == repo.branches[base]:
        raise invalid("PullRequest", "", f"No commits between {base} and {ref}")
    head = Side(ref=ref, sha=repo.branches[ref], user=repo.owner, repository=repo)
    pull = open_pull(
        call.world,
        call.needs("write"),
        title=str(body.get("title", "")),
        body=body.get("body") or "",
        head=head,
        base=base,
        draft=bool(body.get("draft")),
        files=(),
        now=call.now,
    )
    value = full(call.world, pull)
    return Reply(201, value, {"location": value["url"]})


def update(call: Call) -> Reply:
    changes, pull = call.body or {}, call.pull
    call.owns(pull.author)
    if changes.get("state") == "open" and pull.merged_at:
        raise invalid("PullRequest", "state", "state cannot be changed. The pull request cannot be reopened.")
    if "base" in changes and changes["base"] not in call.world.repository.branches:
        raise invalid("PullRequest", "base")
    if "base" in changes:
        pull.base.ref, pull.base.sha = changes["base"], call.world.repository.branches[changes["base"]]
    issues.change(call, pull, {key: value for key, value in changes.items() if key in {"title", "body", "state"}})
    return Reply(200, full(call.world, pull))


def request_reviewers(call: Call) -> Reply:
    """Ask people for a review: all of them or, if one cannot be asked, none."""
    call.needs("triage")
    pull, world = call.pull, call.world
    asked = [world.accounts.get(login.lower()) for login in (call.body or {}).get("reviewers", ())]
    if pull.author in asked:
        raise Refusal(422, "Review cannot be requested from pull request author.")
    if any(account is None or not account.may("read") for account in asked):
        raise Refusal(
            422,
            "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not "
            f"a collaborator of the {world.repository.full_name} repository.",
        )
    pull.reviewers += [account for account in asked if account and account not in pull.reviewers]
    pull.updated_at = call.now
    return Reply(201, simple(world, pull))
