"""Commit statuses: the older way in which outside systems speak of a commit."""

from __future__ import annotations

from datetime import datetime

from . import commits, shapes
from .call import Call
from .exchange import Json, Listing, Reply, invalid, stamp
from .things import Account, Status
from .world import World

STATES = ("error", "failure", "pending", "success")


def record(
    world: World,
    *,
    sha: str,
    context: str,
    state: str,
    creator: Account,
    now: datetime,
    description: str | None = None,
    target_url: str | None = None,
) -> Status:
    status = Status(
        id=world.next_id(),
        sha=sha,
        context=context,
        state=state,
        description=description,
        target_url=target_url,
        creator=creator,
        created_at=now,
    )
    world.statuses.append(status)
    return status


def simple(world: World, status: Status) -> Json:
    return {
        "id": status.id,
        "node_id": f"SC_{status.id}",
        "url": f"{shapes.repository_url(world)}/statuses/{status.sha}",
        "avatar_url": f"https://avatars.example/u/{status.creator.id}",
        "state": status.state,
        "context": status.context,
        "description": status.description,
        "target_url": status.target_url,
        "created_at": stamp(status.created_at),
        "updated_at": stamp(status.created_at),
    }


def render(world: World, status: Status) -> Json:
    return simple(world, status) | {"creator": shapes.maybe_user(world, status.creator)}


def of_commit(world: World, sha: str) -> list[Status]:
    """Return all that was said of the commit, the newest first."""
    return [status for status in world.statuses if status.sha == sha][::-1]


def list_of_commit(call: Call) -> Listing:
    sha = commits.resolve(call.world, call.params["ref"])
    return Listing(of_commit(call.world, sha), lambda status: render(call.world, status))


def create(call: Call) -> Reply:
    body = call.body or {}
    if body.get("state") not in STATES:
        raise invalid("Status", "state")
    status = record(
        call.world,
        sha=commits.resolve(call.world, call.params["sha"]),
        context=body.get("context", "default"),
        state=body["state"],
        creator=call.needs("write"),
        now=call.now,
        description=body.get("description"),
        target_url=body.get("target_url"),
    )
    return Reply(201, render(call.world, status))
