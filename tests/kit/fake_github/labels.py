"""The repository's labels and milestones."""

from __future__ import annotations

from datetime import datetime

from . import shapes
from .call import Call
from .exchange import Listing, Refusal, invalid
from .things import Account, Label, Milestone
from .world import World


def missing() -> Refusal:
    return Refusal(404, "Label does not exist")


def named(world: World, name: str) -> Label:
    """Return the label of this name, whatever its case; make it if there is none."""
    if not name.strip() or len(name) > 50:
        raise invalid("Label", "name")
    key = name.lower()
    if key not in world.labels:
        world.labels[key] = Label(id=world.next_id(), name=name)
    return world.labels[key]


def open_milestone(world: World, title: str, creator: Account, now: datetime) -> Milestone:
    number = max(world.milestones, default=0) + 1
    found = Milestone(id=world.next_id() % 100_000_000, number=number, title=title, creator=creator, created_at=now)
    world.milestones[number] = found
    return found


def list_milestones(call: Call) -> Listing:
    state = call.query.get("state", "open")
    shown = [found for found in call.world.milestones.values() if state in {"all", found.state}]
    return Listing(shown, lambda found: shapes.milestone(call.world, found))
