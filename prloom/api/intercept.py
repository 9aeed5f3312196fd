"""What guards are given: a way to refuse what they are asked about, or to change it; and a tool's own context."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from prloom.api import store
from prloom.api.context import HookContext, Services
from prloom.core.text import bounds
from prloom.model.action import Action, UpsertPlan
from prloom.model.hook import HookCall, Outcome
from prloom.model.record import Json
from prloom.model.tool import ToolCall


class ToolContext(HookContext):
    """The context of a tool's handler that has a parameter `ctx`: that of a hook, and the call itself."""

    @property
    def call(self) -> ToolCall:
        """The call: its `id`, `name`, `arguments`, `run_id` and `stage`."""
        if self._call.tool is None:
            raise self._mistake("call", "it is known in tools only")
        return self._call.tool


class InterceptContext(HookContext):
    """The context of a guard, which is asked about an action, a plan or a call of a tool."""

    def __init__(self, plugin: str, call: HookCall, services: Services) -> None:
        super().__init__(plugin, call, services)
        self._block: str | None = None
        self._arguments: Mapping[str, Json] | None = None
        self._action: Action | None = None

    @property
    def upsert(self) -> UpsertPlan | None:
        """The plan that is about to be written, if the guard is asked about one: its source, title and metadata."""
        return self._call.upsert

    def block(self, reason: str) -> None:
        """Refuse what the guard was asked about; the reason is what the agent, or the operator, is told."""
        if not isinstance(reason, str) or not reason.strip():
            raise self._mistake("block", "the reason is not a text; say why it is refused")
        self._block = bounds.cut(" ".join(reason.split()))

    def change(self, value: Mapping[str, Json] | Action) -> None:
        """Put another action in the place of that of the call, or other arguments for a tool that has yet to run."""
        try:
            tool = self._call.tool
            if tool is not None and tool.result is None and isinstance(value, Mapping):
                self._arguments = store.json_copy(dict(value))
            elif self._call.action is not None:
                self._action = store.check_action(value, None, ())
            else:
                raise ValueError(f"{self.hook_point} cannot change {store.type_name(value)}")  # noqa: TRY301 - told like the others
        except ValueError as error:
            raise self._mistake("change", str(error)) from error

    def changed(self, call: ToolCall | None) -> ToolCall | None:
        """Return a call as the next function of this plugin is to see it."""
        if call is None or self._arguments is None:
            return call
        return replace(call, arguments=self._arguments)

    def changed_action(self, action: Action | None) -> Action | None:
        """Return an action as the next function of this plugin is to see it."""
        return self._action or action

    def outcome(self, plan: str | None = None) -> Outcome:
        """Return all that the hook requested, its refusal and its changes included."""
        made = super().outcome(plan)
        return replace(made, block=self._block, arguments=self._arguments, action=self._action)
