"""Write the TODOs of each plan into its activity whenever they have changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from prloom.core.activity.activity_data import cleaned
from prloom.core.plans.plan_file import TodoItem
from prloom.core.plans.plan_reader import TodoState
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import StorageError
from prloom.model.record import Json
from prloom.storage import activity_file
from prloom.storage.file_stamp import FileStamp
from prloom.storage.safe_dir import SafeDir

TODO_UPDATE: Final = "TODO_UPDATE"
IN_PROGRESS: Final = "in_progress"
STATUSES: Final[Mapping[TodoState, str]] = {
    "open": "pending",
    "done": "completed",
    "blocked": "blocked",
    "dropped": "dropped",
}
"""What the state of a TODO is called; the first two as agents call it for the items of their own lists."""

_LOOKED_THROUGH: Final = 100
"""Events of a plan, the last ones, in which its list is looked for at the start."""


class TodoLists:
    """The lists as they were last written down; after a restart, those in the activity files of the plans."""

    def __init__(self, activity: ActivityLog) -> None:
        self._activity = activity
        self._seen: WeakKeyDictionary[PlanRuntime, tuple[FileStamp | None, str | None]] = WeakKeyDictionary()
        self._written: WeakKeyDictionary[PlanRuntime, Json] = WeakKeyDictionary()

    def update(self, runtime: PlanRuntime) -> None:
        """Write the list of a plan if it has changed; where neither the file nor the work has, nothing is read."""
        work = runtime.event_store.state.work
        current = None
        if work is not None:
            current = work.id
        seen = (runtime.todos_checked, current)
        if runtime.todos_checked is None or self._seen.get(runtime) == seen:
            return
        data = cleaned({"todos": _listed(runtime.text.todos(), current)}, self._activity.mask())
        if data != self._last(runtime):
            self._activity.record(TODO_UPDATE, data, plan_id=runtime.id)
        self._written[runtime] = data
        self._seen[runtime] = seen

    def _last(self, runtime: PlanRuntime) -> Json:
        """Return the data of the list that was written last; a plan that never had any TODOs has an empty one."""
        if runtime in self._written:
            return self._written[runtime]
        place = self._activity.place(runtime.id, None)
        try:
            with SafeDir.make(place.root, *place.parts) as folder:
                for stored in activity_file.latest(folder, _LOOKED_THROUGH):
                    if stored.event.type == TODO_UPDATE:
                        return dict(stored.event.data)
        except StorageError:  # what cannot be read is written again
            return None
        return {"todos": []}


def _listed(items: Sequence[TodoItem], current: str | None) -> list[Json]:
    todos: list[Json] = []
    for todo in items:
        status = STATUSES[todo.state]
        if todo.id is not None and todo.id == current and todo.state == "open":
            status = IN_PROGRESS
        todos.append({"id": todo.id, "content": todo.title, "status": status})
    return todos
