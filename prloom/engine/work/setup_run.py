"""Set up a plan's clone by the operator's commands: once it is made, and again when its lock files have changed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.work import command_run
from prloom.engine.work.change import Changes
from prloom.errors import PrloomError
from prloom.model.work import TodoWork
from prloom.workspace import clone


class SetupFailedError(PrloomError):
    """A command of `[work] setup` has failed; the text has the end of its output."""


@dataclass
class SetupRuns:
    """Runs `[work] setup` where that is due."""

    pool: AgentPool
    changes: Changes

    async def ensure(self, runtime: PlanRuntime, work: TodoWork) -> None:
        """Have the clone set up for the files that it has; raises SetupFailedError, or AgentError.

        What the commands change in files that git does not ignore is taken back: it is no worker's change.
        """
        config = runtime.rules.config.work
        if not config.setup:
            return
        files = await asyncio.to_thread(lambda: self.changes.take(runtime, work.base or "").tree)
        digest = await asyncio.to_thread(clone.setup_digest, self.changes.repo, files, config.setup, config.setup_files)
        if clone.noted_setup(runtime.folders.clone) == digest:
            return
        for command in config.setup:
            result = await command_run.run(self.pool, runtime, work, command, limit=config.setup_timeout)
            if result.status != "ok":
                raise SetupFailedError(
                    f"the command `{command}` of [work] setup failed: {result.error}\n{result.message}".strip()
                )
        await asyncio.to_thread(lambda: self.changes.fill_clone(runtime, work.base or "", tree=files))
        clone.note_setup(runtime.folders.clone, digest)
