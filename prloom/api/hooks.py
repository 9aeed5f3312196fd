"""The hook points that a plugin may register for, by their names."""

from __future__ import annotations

import difflib
import re
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
