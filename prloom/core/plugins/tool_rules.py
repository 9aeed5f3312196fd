"""Decide about tools: their names, who sees them, and what a call comes to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from prloom.core.text import bounds
from prloom.model import kinds
from prloom.model.record import Json
from prloom.model.tool import EXECUTED, ToolResult, ToolSpec

OWN_NAMES = ("prloom_plan", "prloom_events", "prloom_ask", "prloom_note", "prloom_budget")
"""prloom's own tools, which no plugin can shadow."""

LONGEST_SECONDS = 3600
"""How long a call of a tool may take at most."""

_STAGES = tuple(each for each in kinds.STAGES if each != "default")
"""The stages that agents run in."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,51}")
_LONGEST_ERROR = 4000


def name_problem(name: str) -> str | None:
    """Return why a plugin's tool cannot have this name, or None."""
    if _NAME.fullmatch(name) is None:
        return "use 1 to 51 letters, digits, '_' and '-'"
    if name in OWN_NAMES:
        return "prloom has a tool of this name itself; choose another name"
    return None


def stage_problem(name: str) -> str | None:
    """Return why a tool cannot be visible to this stage, or None; behind the semicolon is what to write."""
    if name in _STAGES:
        return None
    import difflib  # noqa: PLC0415 - only a mistake costs it

    hint = f"the stages are {', '.join(_STAGES)}"
    close = difflib.get_close_matches(str(name).lower(), _STAGES, n=1, cutoff=0.6)
    if close:
        hint = f"did you mean {close[0]!r}?"
    return f"there is no stage {name!r}; {hint}"


def clashes(offered: Iterable[ToolSpec]) -> Mapping[str, tuple[str, ...]]:
    """Return, for each name that several tools have, the plugins that offer it, in their order."""
    owners: dict[str, list[str]] = {}
    for tool in offered:
        owners.setdefault(tool.name, []).append(tool.plugin)
    counted = Counter({name: len(plugins) for name, plugins in owners.items()})
    return {name: tuple(owners[name]) for name, count in counted.items() if count > 1}


def clash_error(name: str, plugins: Sequence[str], plugin: str) -> str:
    """Return what a plugin shows of a tool's name that others use too."""
    others = ", ".join(sorted({each for each in plugins if each != plugin})) or "the plugin itself"
    return f"tool {name!r} is offered by {others} too, so that no agent gets either; rename one of them"


def visible(offered: Iterable[ToolSpec], stage: str) -> tuple[ToolSpec, ...]:
    """Return the tools that agents of a stage see: each whose name is its own, and that is meant for the stage."""
    every = tuple(offered)
    taken = clashes(every)
    return tuple(tool for tool in every if tool.name not in taken and (not tool.visible_to or stage in tool.visible_to))


def answered(answer: Json) -> ToolResult:
    """Return the result of a call whose handler gave this answer."""
    output, data = EXECUTED, answer
    if isinstance(answer, Mapping):
        if isinstance(answer.get("message"), str):
            output = answer["message"]
        if "data" in answer:
            data = answer["data"]
        if answer.get("success") is False:
            error = answer.get("error")
            return failed(error if isinstance(error, str) else output, "tool_failed", data=data)
    return ToolResult(success=True, output=output, data=data)


def failed(error: str, error_type: str, *, data: Json = None) -> ToolResult:
    """Return the result of a call that failed."""
    return ToolResult(success=False, error=bounds.cut(error, _LONGEST_ERROR), error_type=error_type, data=data)


def transformed(result: ToolResult, text: str) -> ToolResult:
    """Return a result in whose place a plugin has put a text: nothing else of it reaches the agent."""
    if result.success:
        return ToolResult(success=True, output=text)
    return ToolResult(success=False, error=text, error_type=result.error_type)


def structured(result: ToolResult) -> dict[str, Json]:
    """Return a result as an agent gets it."""
    return {
        "success": result.success,
        "error": result.error,
        "output": result.output,
        "data": result.data,
        "error_type": result.error_type,
    }
