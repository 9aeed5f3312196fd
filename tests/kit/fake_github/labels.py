"""The repository's labels and milestones."""

from __future__ import annotations

from datetime import datetime

from . import shapes
from .call import Call
from .exchange import Json, Listing, Refusal, Reply, gone, invalid
from .things import Account, Label, Milestone
from .world import World


def missing() -> Refusal:
    return Refusal(404, "Label does not exist")


def name_of(entry: Json) -> str:
    return entry["name"] if isinstance(entry, dict) else str(entry)


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


def list_labels(call: Call) -> Listing:
    return Listing(list(call.world.labels.values()), lambda label: shapes.label(call.world, label))


def create_label(call: Call) -> Reply:
    call.needs("write")
    body = call.body or {}
    if str(body.get("name", "")).lower() in call.world.labels:
        raise invalid("Label", "name", code="already_exists")
    label = named(call.world, str(body.get("name", "")))
    label.color, label.description = body.get("color", label.color), body.get("description")
    return Reply(201, shapes.label(call.world, label))


def read_label(call: Call) -> Reply:
    label = call.world.labels.get(call.params["name"].lower())
    if label is None:
        raise gone()
    return Reply(200, shapes.label(call.world, label))


def list_milestones(call: Call) -> Listing:
    state = call.query.get("state", "open")
    shown = [found for found in call.world.milestones.values() if state in {"all", found.state}]
    return Listing(shown, lambda found: shapes.milestone(call.world, found))


def create_milestone(call: Call) -> Reply:
    title = str((call.body or {}).get("title", ""))
    if any(found.title == title for found in call.world.milestones.values()):
        raise invalid("Milestone", "title", code="already_exists")
    return Reply(201, shapes.milestone(call.world, open_milestone(call.world, title, call.needs("triage"), call.now)))


def read_milestone(call: Call) -> Reply:
    found = call.world.milestones.get(int(call.params["milestone_number"]))
    if found is None:
        raise gone()
    return Reply(200, shapes.milestone(call.world, found))
