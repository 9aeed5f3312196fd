"""The hook points that a plugin may register for: their names, and what each is called with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NewType, get_args

HookKind = Literal["plan", "event", "guard", "lifecycle"]
"""What a hook is called with, and what its failure means.

`plan`: the text of a plan; it may return another, and its failure defers or blocks. `event`: each event. `guard`: what
is about to happen; it may refuse or change that, and its failure refuses. `lifecycle`: a run, which it cannot change.
"""

PlanHookName = Literal[
    "afterDesign",
    "afterActivate",
    "beforeTodo",
    "afterTodo",
    "beforeFinish",
    "afterFinish",
    "afterMerge",
    "beforeTriage",
]
EventHookName = Literal["onEvent", "onGlobalEvent"]
ActionHookName = Literal["beforeRoute"]
UpsertHookName = Literal["beforeUpsert"]
ToolCallHookName = Literal["preTool"]
ToolResultHookName = Literal["postTool", "transformToolResult"]
GuardHookName = Literal[ActionHookName, UpsertHookName, ToolCallHookName, ToolResultHookName]
"""The guards, by what they are asked about: an action, a plan to write, a call of a tool, or one with its result."""
LifecycleHookName = Literal["sessionStart", "sessionEnd"]
HookName = Literal[PlanHookName, EventHookName, GuardHookName, LifecycleHookName]
NamedHook = NewType("NamedHook", str)
"""A hook point that is named for something of the plugin's own: `command:/NAME`, `tool:NAME` or `check:NAME`."""
HookPoint = HookName | NamedHook

AFTER_DESIGN: Final = "afterDesign"
AFTER_ACTIVATE: Final = "afterActivate"
BEFORE_TODO: Final = "beforeTodo"
AFTER_TODO: Final = "afterTodo"
BEFORE_FINISH: Final = "beforeFinish"
AFTER_FINISH: Final = "afterFinish"
AFTER_MERGE: Final = "afterMerge"
BEFORE_TRIAGE: Final = "beforeTriage"
ON_EVENT: Final = "onEvent"
ON_GLOBAL_EVENT: Final = "onGlobalEvent"
BEFORE_ROUTE: Final = "beforeRoute"
BEFORE_UPSERT: Final = "beforeUpsert"
PRE_TOOL: Final = "preTool"
POST_TOOL: Final = "postTool"
TRANSFORM: Final = "transformToolResult"
SESSION_START: Final = "sessionStart"
SESSION_END: Final = "sessionEnd"

_BY_KIND: Final[Mapping[HookKind, tuple[HookName, ...]]] = {
    "plan": get_args(PlanHookName),
    "event": get_args(EventHookName),
    "guard": get_args(GuardHookName),
    "lifecycle": get_args(LifecycleHookName),
}
HOOKS: Final[Mapping[str, HookKind]] = {name: kind for kind, names in _BY_KIND.items() for name in names}
"""Every hook point and its kind, in the order in which pages and commands list them."""

HookSubject = Literal["action", "upsert", "tool_call", "tool_result"]
HOOK_SUBJECTS: Final[Mapping[str, HookSubject]] = {
    **dict.fromkeys(get_args(ActionHookName), "action"),
    **dict.fromkeys(get_args(UpsertHookName), "upsert"),
    **dict.fromkeys(get_args(ToolCallHookName), "tool_call"),
    **dict.fromkeys(get_args(ToolResultHookName), "tool_result"),
}
"""What each guard is asked about."""
