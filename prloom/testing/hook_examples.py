"""Give a call of a hook an example of what it is about, where no event leads to it: as the dispatcher would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from prloom.api import Action, Comment, Json, Session, Target, ToolCall, ToolResult, UpsertPlan
from prloom.model.hook import HookCall, HookTodo
from prloom.model.hook_points import AFTER_TODO, BEFORE_TODO, HOOK_SUBJECTS, SESSION_END, SESSION_START
from prloom.model.tool import SessionResult

HookAbout = Action | UpsertPlan | ToolCall | Session | HookTodo
"""What a hook that no event leads to is about."""

_ACTION: Final = Action(id="a-example", target=Target("github", {"pr": 7}), payload=Comment("Done."))


def tool_call(name: str, arguments: Mapping[str, Json], plan: str) -> ToolCall:
    """Return the call of a tool by a worker's run."""
    return ToolCall(id="call-1", name=name, arguments=arguments, plan_id=plan, run_id="run-1", stage="worker")


_TOOL_CALL: Final = tool_call("search", {"query": "total"}, "pr-7")
_TOOL_RESULT: Final = replace(_TOOL_CALL, result=ToolResult(success=True, output="src/app.py, line 3"))
_SESSION: Final = Session(run_id="run-1", stage="worker", agent="claude")
_ENDED_SESSION: Final = replace(_SESSION, result=SessionResult(status="ok", message="It is renamed."))
_TODO: Final = HookTodo(id="t-1", title="Rename it")
_OTHERS: Final[Mapping[str, HookAbout]] = {
    BEFORE_TODO: _TODO,
    AFTER_TODO: _TODO,
    SESSION_START: _SESSION,
    SESSION_END: _ENDED_SESSION,
}
_DIFF: Final = "--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-total = 3\n+count = 3\n"


def with_subject(call: HookCall, about: HookAbout | None = None) -> HookCall:
    """Return the call with what it is about: `about`, or else an example, if the hook is about anything but a plan."""
    subject = about or _example(call)
    match subject:
        case Action():
            return replace(call, action=subject)
        case UpsertPlan():
            return replace(call, upsert=subject, plan=subject.plan_markdown)
        case ToolCall():
            return replace(call, tool=subject)
        case Session():
            return replace(call, session=subject)
        case HookTodo() if call.hook == AFTER_TODO:
            return replace(call, todo=subject, diff=_DIFF, summary="It is renamed.")
        case HookTodo():
            return replace(call, todo=subject)
        case None:
            return call


def _example(call: HookCall) -> HookAbout | None:
    match HOOK_SUBJECTS.get(call.hook):
        case "action":
            return _ACTION
        case "upsert":
            return UpsertPlan("tickets", "A plan", call.plan)
        case "tool_call":
            return _TOOL_CALL
        case "tool_result":
            return _TOOL_RESULT
        case None:
            return _OTHERS.get(call.hook)
