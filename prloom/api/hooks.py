"""The hook points that a plugin may register for, by their names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Literal

Kind = Literal["plan", "event", "guard", "lifecycle"]

HOOKS: dict[str, Kind] = {
    "afterDesign": "plan",
    "afterActivate": "plan",
    "beforeTodo": "plan",
    "afterTodo": "plan",
    "beforeFinish": "plan",
    "afterFinish": "plan",
    "afterMerge": "plan",
    "beforeTriage": "plan",
    "onEvent": "event",
    "onGlobalEvent": "event",
    "beforeRoute": "guard",
    "beforeUpsert": "guard",
    "preTool": "guard",
    "postTool": "guard",
    "transformToolResult": "guard",
    "sessionStart": "lifecycle",
    "sessionEnd": "lifecycle",
}
"""Every hook point and its kind; the kind says what the hook is called with and what its failure means."""

FIRING = frozenset(
    {
        "onEvent",
        "beforeTriage",
        "onGlobalEvent",
        "afterDesign",
        "afterActivate",
        "beforeTodo",
        "afterTodo",
        "beforeFinish",
        "afterFinish",
        "afterMerge",
    }
)
"""The hook points that this version of prloom calls. Add a hook point here in the change that begins to call it."""


def refused(name: str) -> bool:
    """Whether a function must not be registered for the hook point: a guard that is never called protects nothing."""
    return HOOKS[name] == "guard" and name not in FIRING


def not_fired_yet(plugin: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return a warning for each of the hook points that a plugin uses and that prloom does not call yet."""
    waiting = [name for name in dict.fromkeys(names) if name in HOOKS and name not in FIRING]
    return tuple(f"plugin {plugin}: prloom does not call {_consequence(name)}" for name in waiting)


def _consequence(name: str) -> str:
    if refused(name):
        return f"the guard {name} yet, and does not load a plugin that registers it"
    return f"{name} yet, so its function does not run"


def canonical(name: str) -> str | None:
    """Return the hook point that a name means (`beforeTriage` or `before_triage`), or None."""
    if name in HOOKS:
        return name
    camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), name)
    if camel in HOOKS:
        return camel
    return None


def nearest(name: str) -> str | None:
    """Return the known hook point that an unknown name most resembles, or None."""
    camel = re.sub(r"_([a-z])", lambda match: match[1].upper(), name)
    close = difflib.get_close_matches(camel, HOOKS, n=1, cutoff=0.5)
    if close:
        return close[0]
    return None
