"""Reactions to issues, pull requests and comments."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from . import comments, review_comments, shapes
from .call import Call
from .exchange import Json, Reply, invalid, stamp
from .things import Account, Post, Reaction
from .world import World


def add(world: World, post: Post, user: Account, content: str, now: datetime) -> tuple[Reaction, bool]:
    """Return the reaction and whether it is new; nobody reacts twice in the same way."""
    for reaction in post.reactions:
        if reaction.user is user and reaction.content == content:
            return reaction, False
    reaction = Reaction(id=world.next_id() % 1_000_000_000, user=user, content=content, created_at=now)
    post.reactions.append(reaction)
    return reaction, True


def render(world: World, reaction: Reaction) -> Json:
    return {
        "id": reaction.id,
        "node_id": f"REA_{reaction.id}",
        "user": shapes.maybe_user(world, reaction.user),
        "content": reaction.content,
        "created_at": stamp(reaction.created_at),
    }


Find = Callable[[Call], Post]


def create(find: Find) -> Callable[[Call], Reply]:
    def created(call: Call) -> Reply:
        content = (call.body or {}).get("content")
        if content not in shapes.REACTIONS:
            raise invalid("Reaction", "content")
        reaction, new = add(call.world, find(call), call.writer, content, call.now)
        return Reply(201 if new else 200, render(call.world, reaction))

    return created


def of_issue(call: Call) -> Post:
    return call.issue


def of_comment(call: Call) -> Post:
    return comments.found(call)


def of_review_comment(call: Call) -> Post:
    return review_comments.found(call)
