"""Let plugins read a plan: its text, its TODOs, its trusted events and its runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Final

from msgspec import Meta

from prloom.core.plans import plan_status
from prloom.core.plans.plan_file import TodoItem
from prloom.engine.bus.event_store import Clock
from prloom.engine.plan.hook_services import HookServices
from prloom.engine.plan.in_flight import InFlight
from prloom.engine.plan.runtime import PlanRuntime, is_triaging
from prloom.engine.plugin_requests import caller as request
from prloom.engine.plugin_requests import request_errors
from prloom.engine.plugin_requests.caller import Caller, Params
from prloom.engine.plugin_requests.chains import Chains
from prloom.engine.runs import listing
from prloom.errors import ExtensionError
from prloom.model import record
from prloom.model.event import Event
from prloom.model.record import Json
from prloom.model.run import RunRecord
from prloom.model.state import DispatchState
from prloom.model.work import TodoWork
from prloom.storage.paths import RepositoryPaths

GET_CONTEXT: Final = "get_context"
READ_EVENTS: Final = "read_events"

_LATEST_EVENTS: Final = 50
_LATEST_RUNS: Final = 20
_COUNTED_RUNS: Final = 1000
_MOST_EVENTS: Final = 1000

_AT_ONCE: Final = 200
"""Events that are looked at before everything else in the dispatcher goes on."""


class GetContext(Params, frozen=True, kw_only=True):
    """The params of `get_context`."""

    plan_id: str


class ReadEvents(Params, frozen=True, kw_only=True):
    """The params of `read_events`; without types, all are read."""

    plan_id: str
    types: tuple[str, ...] | None = None
    since_id: str | None = None
    limit: Annotated[int, Meta(ge=1, le=_MOST_EVENTS)] = 100


class Contexts:
    """Reads plans for plugins; `read_plan` returns the text of one."""

    def __init__(self, chains: Chains, where: RepositoryPaths, read_plan: Callable[[str], str], clock: Clock) -> None:
        self._chains = chains
        self._where = where
        self._read_plan = read_plan
        self._clock = clock

    async def get(self, caller: Caller, params: GetContext) -> Json:
        """Return what is known of a plan, for reading only."""
        runtime = caller.plan
        listed = asyncio.to_thread(listing.listed, self._where, self._clock(), plan_id=runtime.id, limit=_COUNTED_RUNS)
        runs = await listed
        request.require_usable(runtime)
        events = self._services(runtime).latest_events(_LATEST_EVENTS)
        self._chains.read(caller.plugin, runtime.id, events)
        todos = runtime.text.todos()
        return {
            "plan": _plan(runtime, todos),
            "todos": [{"id": each.id, "title": each.title, "state": each.state} for each in todos],
            "events": [record.to_wire(event) for event in events],
            "runs": [record.to_wire(run) for run in runs[-_LATEST_RUNS:]],
            "token_usage": _usage(runs),
            "focus": _focus(runtime.event_store.state.work),
            "is_processing": _is_processing(runtime.in_flight, runtime.event_store.state),
            "read_only": True,
        }

    async def read_events(self, caller: Caller, params: ReadEvents) -> Json:
        """Return events of a plan after an id, oldest first, and the id to go on from."""
        runtime = caller.plan
        request.require_usable(runtime)
        try:
            events, last = await self._found(runtime, params)
        except ExtensionError as error:
            problem = str(error).removeprefix(f"{READ_EVENTS}: ")
            raise request_errors.invalid(READ_EVENTS, f"since_id: {problem}") from error
        self._chains.read(caller.plugin, runtime.id, events)
        return {"events": [record.to_wire(event) for event in events], "last_id": last}

    async def _found(self, runtime: PlanRuntime, params: ReadEvents) -> tuple[list[Event], str | None]:
        """Return the events that are asked for, and the id of the last one that was looked at."""
        events: list[Event] = []
        last = params.since_id
        scanned = self._services(runtime).scan_events(types=params.types, since_id=params.since_id)
        for number, (event_id, event) in enumerate(scanned, 1):
            if len(events) >= params.limit:
                break
            last = event_id
            if event is not None:
                events.append(event)
            if number % _AT_ONCE == 0:  # a journal may be long, and few of its events wanted
                await asyncio.sleep(0)
                request.require_usable(runtime)
        return events, last

    def _services(self, runtime: PlanRuntime) -> HookServices:
        return HookServices(runtime, run=_no_agent, read_plan=self._read_plan)


async def _no_agent(runtime: PlanRuntime, stage: str, text: str, model: str | None, plugin: str | None) -> str:
    raise ExtensionError("reading a plan runs no agent")


def _plan(runtime: PlanRuntime, todos: Sequence[TodoItem]) -> Json:
    plan, state = runtime.plan, runtime.event_store.state
    return {
        "id": plan.id,
        "title": plan.title,
        "status": plan_status.derive(plan, state, todos),
        "paused": state.paused,
        "branch": plan.branch,
        "base": runtime.base,
        "pr": plan.pr,
        "url": plan.url,
        "text": runtime.text.read(),
    }


def _usage(runs: Sequence[RunRecord]) -> Json:
    """Return what the latest runs used; None for a cost that no program measured."""
    used = [run.usage for run in runs if run.usage is not None]
    costs = [run.cost_usd for run in runs if run.cost_usd is not None]
    cost = None
    if costs:
        cost = round(sum(costs), 6)
    return {
        "runs": len(runs),
        "inputTokens": sum(each.input_tokens for each in used),
        "outputTokens": sum(each.output_tokens for each in used),
        "cachedTokens": sum(each.cached_tokens for each in used),
        "costUsd": cost,
    }


def _focus(work: TodoWork | None) -> Json:
    """Return the TODO that is worked on."""
    if work is None:
        return None
    return {"id": work.id, "title": work.title, "attempt": work.attempt, "phase": work.phase, "run": work.run}


def _is_processing(in_flight: InFlight, state: DispatchState) -> bool:
    """Whether a hook or an agent is at work on the plan."""
    return bool(in_flight.hooks or in_flight.working or is_triaging(state))
