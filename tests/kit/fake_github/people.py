"""Who somebody is, and what they may do in the repository."""

from __future__ import annotations

from collections.abc import Iterable

from . import shapes
from .call import Call
from .exchange import Json, Refusal, Reply, stamp
from .things import Account
from .world import World

OLD_NAMES = {"maintain": "write", "triage": "read"}
"""`permission` knows four names; only `role_name` has all."""


def assignable(world: World, logins: Iterable[str]) -> list[Account]:
    """Return those of the logins who may be assigned; GitHub says nothing about the others."""
    found = (world.accounts.get(login.lower()) for login in logins)
    return [account for account in found if account and account.exists and account.may("read")]


def profile(world: World, account: Account) -> Json:
    empty = ("name", "company", "blog", "location", "email", "hireable", "bio", "twitter_username")
    counts = ("public_repos", "public_gists", "followers", "following")
    return {
        **shapes.user(world, account),
        **dict.fromkeys(empty),
        **dict.fromkeys(counts, 0),
        "created_at": stamp(world.repository.created_at),
        "updated_at": stamp(world.repository.created_at),
    }


def read_viewer(call: Call) -> Reply:
    private = ("private_gists", "total_private_repos", "owned_private_repos", "disk_usage", "collaborators")
    own = {**dict.fromkeys(private, 0), "two_factor_authentication": True}
    return Reply(200, profile(call.world, call.writer) | own)


def read_permission(call: Call) -> Reply:
    """Tell what somebody may do here; only those who may write are told."""
    if not call.writer.may("write"):
        raise Refusal(403, "Must have push access to view collaborator permission.")
    account = call.world.known(call.params["username"])
    role = account.role if account.role != "none" or call.world.repository.private else "read"
    user = {**shapes.user(call.world, account), "permissions": rights(role), "role_name": role}
    return Reply(200, {"permission": OLD_NAMES.get(role, role), "role_name": role, "user": user})


def rights(role: str) -> Json:
    order = {"pull": "read", "triage": "triage", "push": "write", "maintain": "maintain", "admin": "admin"}
    probe = Account(login="", id=0, role=role)
    return {name: probe.may(least) for name, least in order.items()}
