"""What plan hooks are given: the TODO that they are about, the worker's change, and a way to block the plan."""

from __future__ import annotations

from msgspec.structs import replace

from prloom.api.context import HookContext, Services
from prloom.core.text import bounds
from prloom.model.hook import HookCall, HookTodo, Outcome


class PlanContext(HookContext):
    """The context of plan hooks, such as `beforeTodo` and `afterTodo`."""

    def __init__(self, plugin: str, call: HookCall, services: Services) -> None:
        super().__init__(plugin, call, services)
        self._block: str | None = None

    @property
    def todo(self) -> HookTodo | None:
        """The TODO (`id`, `title`, `context`, `event_ids`) of `beforeTodo` and `afterTodo`; None in other hooks."""
        return self._call.todo

    @property
    def diff(self) -> str | None:
        """What the worker changed, as a unified diff, in `afterTodo`; None in other hooks."""
        return self._call.diff

    @property
    def summary(self) -> str | None:
        """What the worker says of its change, in `afterTodo`; None in other hooks."""
        return self._call.summary

    def block(self, reason: str) -> None:
        """Block the plan: no TODO is worked on until a person resumes it. `status` shows the reason and this plugin."""
        if not isinstance(reason, str) or not reason.strip():
            raise self._mistake("block", "the reason is not a text; say what has to be done before the plan goes on")
        self._block = bounds.cut(" ".join(reason.split()))

    def outcome(self, plan: str | None = None) -> Outcome:
        """Return all that the hook requested, the block included."""
        return replace(super().outcome(plan), block=self._block)
