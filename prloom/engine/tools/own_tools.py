"""Answer prloom's own tools: the plan and its notes, the trusted events, what is left of the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prloom.core.plans import plan_file, plan_text
from prloom.core.waits import budget
from prloom.engine.bus.plan_files import text_digest
from prloom.engine.tools.call_sequence import CallScene, ToolFailed
from prloom.model import record
from prloom.model.decision import PlanText
from prloom.model.record import Json
from prloom.model.tool import ToolCall, ToolResult, ToolSpec
from prloom.storage import run_log

_NO_ARGUMENTS: Final = {"type": "object", "properties": {}, "additionalProperties": False}

PLAN: Final = ToolSpec(
    name="prloom_plan",
    kind="own",
    description="The plan that this run works on: its text, its TODOs with their states, and its notes.",
    schema=_NO_ARGUMENTS,
)

EVENTS: Final = ToolSpec(
    name="prloom_events",
    kind="own",
    description="The events of this plan by trusted authors, oldest first: comments, reviews, failed checks.",
    schema={
        "type": "object",
        "properties": {
            "types": {"type": "array", "items": {"type": "string"}},
            "since_id": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 200},
        },
        "additionalProperties": False,
    },
)

NOTE: Final = ToolSpec(
    name="prloom_note",
    kind="own",
    description="Save a note in the plan, which those who work on later TODOs read.",
    schema={
        "type": "object",
        "properties": {"note": {"type": "string", "minLength": 1, "maxLength": 4000}},
        "required": ["note"],
        "additionalProperties": False,
    },
)

BUDGET: Final = ToolSpec(
    name="prloom_budget",
    kind="own",
    description="What is left of the operator's limits: runs, tokens and cost of today, and attempts at the TODO.",
    schema=_NO_ARGUMENTS,
)

_FEW: Final = 50

AnswerOwnTool = Callable[[CallScene, ToolCall], Awaitable["Json | ToolResult"]]


@dataclass(frozen=True)
class OwnHandler:
    """Answers each of prloom's own tools by its function."""

    answers: Mapping[str, AnswerOwnTool]

    async def answer(self, scene: CallScene, tool: ToolSpec, call: ToolCall) -> Json | ToolResult:
        """Return the answer of the tool's function; see `call_sequence.ToolHandler`."""
        return await self.answers[tool.name](scene, call)


async def plan(scene: CallScene, call: ToolCall) -> Json:
    """Return the plan's text, TODOs and notes."""
    runtime = scene.runtime
    text = runtime.text.read()
    todos = [{"id": todo.id, "title": todo.title, "state": todo.state} for todo in runtime.text.todos()]
    return {
        "message": text,
        "data": {
            "id": runtime.id,
            "title": plan_file.title(text),
            "branch": runtime.plan.branch,
            "base": runtime.base,
            "pullRequest": runtime.plan.url or runtime.plan.pr,
            "todos": todos,
            "notes": plan_text.notes(text),
        },
    }


async def events(scene: CallScene, call: ToolCall) -> Json:
    """Return trusted events of the plan, and the id to go on from."""
    given = call.arguments
    found, last = scene.services.read_events(
        types=given.get("types"), since_id=given.get("since_id"), limit=given.get("limit", _FEW)
    )
    return {
        "message": f"{len(found)} events",
        "data": {"events": [record.to_wire(event) for event in found], "lastId": last},
    }


async def note(scene: CallScene, call: ToolCall) -> Json:
    """Add a note to the plan's `## Notes`."""
    if scene.runtime.has_lost_text:
        raise ToolFailed("plan.md is missing or empty, so the note was not saved", "unavailable")
    text = scene.runtime.text.read()
    changed = plan_text.append_notes(text, (call.arguments["note"],))
    if changed != text:
        scene.runtime.event_store.commit("tool", "prloom", plan=PlanText(base=text_digest(text), text=changed))
    return {"message": "The note is saved in the plan.", "data": None}


@dataclass(frozen=True)
class Budget:
    """Answers `prloom_budget`; `running` returns the plans of the runs that go on, one for each run."""

    root: Path
    running: Callable[[], Sequence[str]]

    async def answer(self, scene: CallScene, call: ToolCall) -> Json:
        """Return the limits of the day, and what was used of each."""
        runtime = scene.runtime
        ended = await asyncio.to_thread(run_log.today, self.root, runtime.clock())
        limits, running = runtime.rules.config.limits, self.running()
        used = budget.used(ended, running, runtime.id)
        data: dict[str, Json] = budget.left(
            used,
            runs_of_plan=limits.max_runs_per_plan_per_day,
            runs=limits.max_runs_per_day,
            tokens=limits.max_tokens_per_day,
            cost=limits.max_cost_usd_per_day,
        )
        work = runtime.event_store.state.work
        if work is not None:
            data["todo"] = {"id": work.id, "attempt": work.attempt, "maxAttempts": limits.max_attempts}
        return {"message": budget.sentence(data), "data": data}
