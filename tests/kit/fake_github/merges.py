"""Whether a pull request can be merged, which GitHub computes late, and the merge."""

from __future__ import annotations

from datetime import datetime, timedelta

from . import issues
from .call import Call
from .exchange import Refusal, Reply
from .things import Account, Pull
from .world import World


def recompute(world: World, pull: Pull, now: datetime) -> None:
    """Forget whether the pull request can be merged, and begin to find out."""
    pull.computed_from = now
    world.unsettled[pull.number] = pull


def settle(world: World, now: datetime) -> None:
    """Make known what was found out by now."""
    limit = timedelta(seconds=world.merge_delay)
    for pull in [pull for pull in world.unsettled.values() if now >= pull.computed_from + limit]:
        del world.unsettled[pull.number]
        world.changed()


def mergeable(world: World, pull: Pull) -> tuple[bool | None, str]:
    if pull.merged_at or pull.number in world.unsettled:
        return None, "unknown"
    if pull.conflict:
        return False, "dirty"
    return True, "draft" if pull.draft else "clean"


def merge_now(world: World, pull: Pull, by: Account, now: datetime) -> None:
    issues.set_state(pull, "closed", by, now)
    pull.merged_at, pull.merged_by, pull.merge_sha = now, by, world.next_sha()
    pull.updated_at = now
    world.repository.branches[pull.base.ref] = pull.merge_sha
    world.repository.pushed_at = now
    for other in world.pulls():
        if other.state == "open" and other.base.ref == pull.base.ref:
            recompute(world, other, now)


def refuse_unless_mergeable(call: Call, pull: Pull) -> None:
    body = call.body or {}
    method = body.get("merge_method", "merge")
    if pull.state == "closed":
        raise Refusal(405, "Pull Request is not mergeable")
    if body.get("sha", pull.head.sha) != pull.head.sha:
        raise Refusal(409, "Head branch was modified. Review and try the merge again.")
    if method not in call.world.repository.merge_methods:
        raise Refusal(405, f"{method.capitalize()} merges are not allowed on this repository.")
    if pull.draft:
        raise Refusal(405, "Pull Request is still a draft")
    if pull.number in call.world.unsettled:
        raise Refusal(405, "Base branch was modified. Review and try the merge again.")
    if pull.conflict:
        raise Refusal(405, "Pull Request is not mergeable")


def merge(call: Call) -> Reply:
    """Merge; right after a push that is refused with 405, as it is for good where there are conflicts."""
    by, pull = call.needs("write"), call.pull
    refuse_unless_mergeable(call, pull)
    merge_now(call.world, pull, by, call.now)
    return Reply(200, {"sha": pull.merge_sha, "merged": True, "message": "Pull Request successfully merged"})
