"""Commit statuses: the older way in which outside systems speak of a commit."""

from __future__ import annotations

from datetime import datetime

from . import commits, shapes
from .call import Call
from .exchange import Json, Listing, stamp
from .things import Account, Status
from .world import World


def record(
    world: World,
    *,
    sha: str,
    context: str,
    state: str,
    creator: Account,
    now: datetime,
    description: str | None = None,
) -> Status:
    status = Status(
        id=world.next_id(),
        sha=sha,
        context=context,
        state=state,
        description=description,
        creator=creator,
        created_at=now,
    )
    world.statuses.append(status)
    return status


def render(world: World, status: Status) -> Json:
    return {
        "id": status.id,
        "node_id": f"SC_{status.id}",
        "url": f"{shapes.repository_url(world)}/statuses/{status.sha}",
        "avatar_url": f"https://avatars.example/u/{status.creator.id}",
        "state": status.state,
        "context": status.context,
        "description": status.description,
        "target_url": None,
        "created_at": stamp(status.created_at),
        "updated_at": stamp(status.created_at),
        "creator": shapes.maybe_user(world, status.creator),
    }


def list_of_commit(call: Call) -> Listing:
    """List all that was said of the commit, the newest first."""
    sha = commits.known(call.world, call.params["ref"])
    found = [status for status in call.world.statuses if status.sha == sha][::-1]
    return Listing(found, lambda status: render(call.world, status))
