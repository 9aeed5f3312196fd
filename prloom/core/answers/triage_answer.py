"""Read a triage agent's answer, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from prloom.core.text import bounds
from prloom.model import record
from prloom.model.kinds import AgentVerdict
from prloom.model.record import JsonValue, Record
from prloom.model.work import NewTodo

KEY = "items"
"""The key by which a triage agent's answer is found in what it says."""


class AnswerItem(Record, frozen=True):
    """What the agent says of one event; `reply` is Markdown for its author."""

    event_id: str
    verdict: AgentVerdict
    reply: str | None = None


@dataclass(frozen=True)
class TriageAnswer:
    """An answer's valid parts, and in `problems` what was wrong with the rest, by event or for all ("")."""

    items: Mapping[str, AnswerItem]
    todos: tuple[NewTodo, ...]
    rebase_requested: bool
    problems: Mapping[str, str]


def read(value: JsonValue, batch: tuple[str, ...]) -> TriageAnswer:
    """Return what of an answer holds for a batch of event ids; one bad item does not spoil the others."""
    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        return TriageAnswer({}, (), rebase_requested=False, problems={"": "the answer has no list of items"})
    problems: dict[str, str] = {}
    items: dict[str, AnswerItem] = {}
    for raw in value["items"]:
        _read_item(raw, batch, items, problems)
    todo_values = value.get("todos") or []
    if not isinstance(todo_values, list):
        problems.setdefault("", "todos is not a list")
        todo_values = []
    todos = tuple(todo for raw in todo_values if (todo := _todo(raw, batch, problems)) is not None)
    ids_with_todo = {event_id for todo in todos for event_id in todo.event_ids}
    for event_id, item in list(items.items()):
        if item.verdict == "todo" and event_id not in ids_with_todo:
            problems[event_id] = "the verdict is todo, but no TODO names the event"
            del items[event_id]
    return TriageAnswer(items, todos, rebase_requested=value.get("rebaseRequested") is True, problems=problems)


def _read_item(raw: JsonValue, batch: tuple[str, ...], items: dict[str, AnswerItem], problems: dict[str, str]) -> None:
    """Take in one item. Two that say different things of one event say nothing."""
    named = None
    if isinstance(raw, dict):
        named = raw.get("eventId")
    event_id = ""
    if isinstance(named, str) and named in batch:
        event_id = named
    problem, item = "an item names an event that is not in the batch", None
    try:
        item = record.from_wire(AnswerItem, raw)
    except msgspec.ValidationError as error:
        problem = str(error)
    if event_id and (event_id in problems or items.get(event_id, item) != item):
        items.pop(event_id, None)
        problems[event_id] = "the answer has two items for the event"
    elif event_id and item is not None:
        items[event_id] = item
    else:
        problems.setdefault(event_id, problem)


def _todo(raw: JsonValue, batch: tuple[str, ...], problems: dict[str, str]) -> NewTodo | None:
    try:
        todo = record.from_wire(NewTodo, raw)
    except msgspec.ValidationError as error:
        problems.setdefault("", f"a TODO cannot be read: {error}")
        return None
    title = " ".join(todo.title.split())
    named_events = tuple(dict.fromkeys(event_id for event_id in todo.event_ids if event_id in batch))
    if not named_events or not title:
        problems.setdefault("", "a TODO has no title or names no event of the batch")
        return None
    context = todo.context.strip()
    if len(title) > bounds.TITLE:  # the whole of it is still what a worker reads
        context = f"{title}\n\n{context}".strip()
    return NewTodo(bounds.title(title), context, named_events)
