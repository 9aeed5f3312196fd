"""Let plugins request runs of agents."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Final, Literal, Protocol

from prloom.core.plugins import message_chain
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plugin_requests import caller as request
from prloom.engine.plugin_requests import request_errors
from prloom.engine.plugin_requests.caller import Caller, Params
from prloom.engine.plugin_requests.chains import Chains
from prloom.model.record import Json

RUN_AGENT: Final = "run_agent"

LONGEST_PROMPT: Final = 256 * 1024
"""Characters of a prompt."""


class RunAgent(Params, frozen=True, kw_only=True):
    """The params of `run_agent`."""

    plan_id: str
    prompt: str
    stage: Literal["triage", "worker"]


class RunNamed(Protocol):
    """Runs the agent of a stage on a prompt."""

    async def __call__(
        self, runtime: PlanRuntime, stage: str, text: str, *, plugin: str, begun: Callable[[str], None]
    ) -> tuple[str, str]:
        """Return the run's id, which `begun` is told before it starts, and its final message; raises AgentError.

        It is run for a plugin. What `begun` raises is raised, and the run does not start.
        """


class PluginRuns:
    """Runs agents for plugins, one at a time for each plugin.

    What is permitted is checked again when the run begins: it may have waited long, for others and for its turn.
    """

    def __init__(self, chains: Chains, run: RunNamed) -> None:
        self._chains = chains
        self._run = run
        self._slots: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, caller: Caller, params: RunAgent) -> Json:
        """Run the agent of a stage in the plan's worktree, and return its final message."""
        if not params.prompt.strip() or len(params.prompt) > LONGEST_PROMPT:
            problem = f"prompt: it has {len(params.prompt)} characters; write 1 to {LONGEST_PROMPT}"
            raise request_errors.invalid(RUN_AGENT, problem)
        async with self._slots[caller.plugin]:
            self._check(caller)
            run_id, message = await self._run(
                caller.plan,
                params.stage,
                params.prompt,
                plugin=caller.plugin,
                begun=partial(self._begin, caller),
            )
        return {"run_id": run_id, "message": message}

    def _check(self, caller: Caller) -> None:
        """Raise RpcError where a run may not begin now."""
        caller.rights_now()
        request.require_usable(caller.plan)
        wait = self._chains.retry_after_ms(caller.plugin)
        if wait is not None:
            raise request_errors.limited(message_chain.refusal(RUN_AGENT), wait)

    def _begin(self, caller: Caller, run_id: str) -> None:
        self._check(caller)
        self._chains.run_begun(run_id, self._chains.next_depth(caller.plugin, caller.plan.id))
