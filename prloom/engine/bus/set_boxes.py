"""Remember, in the main checkout, which boxes of TODOs prloom's commands and hooks have set: no worker writes there.

By this a box in a plan is known as a person's or a hook's, also where it was set while a worker ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from prloom.core.plans import plan_file
from prloom.core.plans.plan_reader import TodoState
from prloom.model import record
from prloom.model.record import Json, Record
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

REMEMBERED = 500
"""Boxes that are kept, of all plans."""


class SetBox(Record, frozen=True):
    """A box that was set on purpose."""

    plan: str
    todo: str
    state: TodoState


def remember_change(root: Path, plan_id: str, before: str, after: str) -> None:
    """Remember the boxes that a plan's text is about to get in place of those that it has `before`."""
    had = {todo.id: todo.state for todo in plan_file.todos(before)}
    remember(
        root,
        plan_id,
        {todo.id: todo.state for todo in plan_file.todos(after) if todo.id and had.get(todo.id) != todo.state},
    )


def remember(root: Path, plan_id: str, boxes: Mapping[str, TodoState]) -> None:
    """Remember boxes of a plan, by TODO."""
    if not boxes:
        return
    new = [SetBox(plan_id, todo_id, state) for todo_id, state in boxes.items()]
    with SafeDir.make(root, *paths.LOCAL) as folder:
        Document(folder, paths.SET_BOXES).update(
            lambda found: {"boxes": [record.to_wire(each) for each in [*_boxes(found.value), *new][-REMEMBERED:]]}
        )


def of_plan(root: Path, plan_id: str) -> Mapping[str, TodoState]:
    """Return the boxes of a plan that were set on purpose, by TODO: of each, what it was set to last."""
    folder = SafeDir.open(root, *paths.LOCAL)
    if folder is None:
        return {}
    with folder:
        value = Document(folder, paths.SET_BOXES).load().value
    return {each.todo: each.state for each in _boxes(value) if each.plan == plan_id}


def _boxes(value: Json) -> list[SetBox]:
    try:
        return [record.from_wire(SetBox, each) for each in (value or {}).get("boxes", [])]
    except (msgspec.ValidationError, TypeError):
        return []
