"""Choose and start agent programs for all plans: so many at a time, and none that cannot be used now."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec

from prloom.agents import mcp_server, registry, runner
from prloom.agents.agent import Agent, RunRequest, RunResult
from prloom.agents.mcp_server import Access
from prloom.agents.run_message import RunReply
from prloom.agents.run_spec import RunLimits
from prloom.agents.sandbox import Sandbox
from prloom.config import stages
from prloom.config.models import Config
from prloom.core.waits import agent_wait, brakes
from prloom.core.waits.agent_wait import AgentWait
from prloom.core.waits.brakes import DailyLimits
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.activity.followed_run import FollowedRun
from prloom.engine.bus.event_store import Clock
from prloom.engine.plan.agent_waits import AgentWaits
from prloom.engine.plan.in_flight import InFlight
from prloom.engine.plan.run_tools import ResultReceiver, RunTools
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime
from prloom.engine.plan.worker_slots import WorkerSlots
from prloom.engine.runs import records, run_exchange, run_sandbox
from prloom.engine.runs.pool_process import Pool, PoolProcess, StartPool
from prloom.engine.runs.run_commits import RunCommits
from prloom.engine.runs.run_end import RunEnd
from prloom.engine.runs.run_exchange import RunExchange, RunExecutor
from prloom.engine.runs.run_sandbox import RunEnvironment
from prloom.engine.runs.run_waits import RunWaits
from prloom.errors import AgentError, StorageError
from prloom.model import kinds
from prloom.model.agent_names import AUTO
from prloom.model.kinds import CHECK
from prloom.model.work import TodoWork
from prloom.storage import paths, run_log
from prloom.storage.paths import RepositoryPaths
from prloom.workspace import checkout
from prloom.workspace.repository import Repository

log = logging.getLogger(__name__)


class AgentPool:
    """Has agents run: at most `parallel` for triage and hooks and `workers` for TODOs, through the exchange.

    The operator's daily limits count the runs that are in the log, and those that go on. `exchange` is the address of
    the exchange, by default the repository's own; where it is not `local`, other machines do all that they can do.
    `start_pool` starts the workers of this machine. `tools` are those of the runs, where a dispatcher runs that
    answers their calls. What the runs do is written to `activity`.
    """

    def __init__(
        self,
        *,
        root: Path,
        environ: Mapping[str, str],
        parallel: int,
        workers: int,
        exchange: str = "",
        local: bool = True,
        keep: timedelta | None = None,
        start_pool: StartPool | None = None,
        activity: ActivityLog | None = None,
    ) -> None:
        self.root = root
        self.environ = environ
        self.slots = asyncio.Semaphore(parallel)
        self.workers = WorkerSlots(workers)
        self.agent_waits = AgentWaits(root)
        self._running: dict[str, str] = {}
        self._rooms: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._local = local
        self.tools: RunTools | None = None
        self.activity = activity or ActivityLog(RepositoryPaths(root, root), partial(datetime.now, UTC), environ)
        name = run_exchange.address(root, exchange)
        self.commits = RunCommits(root, shared=run_exchange.is_shared(name))
        self.waits, start = RunWaits(), start_pool or self._start_pool
        # As many workers as there may be runs at once, so that none waits for those of another kind.
        self.runs: RunExecutor = RunExchange(name, parallel + workers, start, keep=keep, waits=self.waits)

    def _start_pool(self, exchange: str, workers: int) -> Pool:
        output = self.root.joinpath(*paths.LOCAL, paths.POOL_LOG)
        return PoolProcess(
            exchange, workers, root=self.root, environ=self.environ, output=output, only_here=not self._local
        )

    def choose(self, config: Config, stage: str, model: str | None = None) -> tuple[Agent, str | None]:
        """Return the agent of a stage and the model that it uses; raises AgentMissingError where there is none."""
        choice = stages.stage(config, stage, model=model)
        if choice.agent == AUTO:
            agent = registry.auto(self.environ)
            self.agent_waits.found(AUTO)
        else:
            agent = registry.get(choice.agent)
        return agent, choice.model

    def chosen(self, config: Config) -> frozenset[str]:
        """Return the agents that the stages of the work on a plan use now."""
        names = set()
        for stage in kinds.STAGES:
            with suppress(AgentError):
                names.add(self.choose(config, stage)[0].name)
        return frozenset(names)

    def wait(
        self, agent: Agent, config: Config, plan_id: str, now: datetime, *, tried: bool = False
    ) -> AgentWait | None:
        """Return why a program is not run: it cannot be used, or the operator's daily limit is reached.

        Where a person has it `tried`, that it could not be used before does not count.
        """
        found = self.agent_waits.of(agent.name, now)
        if found is not None and not tried:
            return found
        # Those of an earlier dispatcher go on, too, from before a plan of this one has opened and waits for them.
        running = {**self.activity.unended(), **self._running}
        return daily_limit(self.root, config, plan_id, now, running=[plan or "" for plan in running.values()])

    @asynccontextmanager
    async def room(self, agent: Agent, config: Config, in_flight: InFlight) -> AsyncIterator[None]:
        """Wait until one more run of an agent program may go on, and count one until the block ends.

        What the plan waits for meanwhile is noted in what is under way for it.
        """
        room, setting = self._room(agent, config)
        if room is None:
            yield
            return
        if room.locked():
            in_flight.waits_for = setting
        try:
            await room.acquire()
        finally:
            in_flight.waits_for = None
        try:
            yield
        finally:
            room.release()

    @asynccontextmanager
    async def worker(self, agent: Agent, config: Config, in_flight: InFlight) -> AsyncIterator[None]:
        """Wait for a worker's slot, and for room for its agent program, and have both until the block ends.

        A plan that waits for room takes no slot, and gives its turn to others: they may use another program.
        """
        room, setting = self._room(agent, config)
        if room is None:
            async with self.workers.slot(in_flight):
                yield
            return
        if room.locked():
            self.workers.end_preparing(in_flight)
        with in_flight.waiting_for(setting if room.locked() else None):
            await room.acquire()
        try:
            async with self.workers.slot(in_flight):
                yield
        finally:
            room.release()

    def _room(self, agent: Agent, config: Config) -> tuple[asyncio.Semaphore | None, str]:
        """Return what a run of an agent program has to acquire, if its runs are limited, and the setting for that."""
        most = config.agents.max_parallel(agent.name)
        if not most:
            return None, ""
        setting = f"agents.{agent.name}.max_parallel"
        return self._rooms.setdefault((agent.name, most), asyncio.Semaphore(most)), setting

    def wait_of_todo(self, agent: Agent, runtime: PlanRuntime, work: TodoWork) -> AgentWait | None:
        """Return what keeps a run for a TODO from being prepared at this moment, or None.

        Call it last of all, with nothing that waits before the run is prepared: other runs begin meanwhile.
        """
        now = runtime.clock()
        found = self.wait(agent, runtime.rules.config, runtime.id, now, tried=work.tried)
        if found is None or not agent_wait.applies(found, (), now) or (found.brake and work.lifted):
            return None
        return found

    def limits(self, config: Config) -> RunLimits:
        """Return what an agent's run may use."""
        return RunLimits(
            wall_seconds=config.agents.timeout.total_seconds(),
            silence_seconds=config.agents.silence.total_seconds(),
            output_bytes=config.agents.max_output,
        )

    def prepare(
        self,
        folders: PlanFolders,
        config: Config,
        agent: Agent,
        run_id: str,
        request: RunRequest,
        *,
        limits: RunLimits | None = None,
        commit: str | None = None,
        read: tuple[str, ...] = (),
    ) -> Path:
        """Make the folder of a run, and return it; raises AgentError where that, or the run, is not possible.

        `commit` is what a worker on another machine begins with; without one, only this machine can do the run. A
        sandbox shows the paths of `read`, too.
        """
        try:
            folders.local.make_sub(paths.RUNS).close()
        except StorageError as error:  # something else is in its place: the run fails, and not the plan
            raise AgentError(f"run {run_id} could not be started: {error}") from error
        request, access = msgspec.structs.replace(request, inherit=config.agents.inherited(agent.name)), None
        if self.tools is not None and agent.name != CHECK:
            call_limit = self.tools.call_limit(config)
            server = mcp_server.of_run((folders.runs / run_id).resolve(), self.root, call_limit)
            if agent.server_settings(server, request.inherit) is not None:
                request = msgspec.structs.replace(request, server=server)
                access = self.tools.access()
        shown = self._sandbox(folders, config, agent, request, access)
        if shown is not None:
            request = msgspec.structs.replace(
                request, sandbox=msgspec.structs.replace(shown, read=(*shown.read, *read))
            )
        return runner.prepare(
            folders.runs / run_id,
            agent,
            request,
            environ=self.environ,
            limits=limits or self.limits(config),
            names=(*config.agents.env, *config.sandbox.env),
            repository=self.commits.address,
            commit=commit,
            access=access,
        )

    def _sandbox(
        self, folders: PlanFolders, config: Config, agent: Agent, request: RunRequest, access: Access | None
    ) -> Sandbox | None:
        """Return what a run sees; raises AgentError where it must have a sandbox and cannot."""
        found = checkout.at(self.root)
        git_dir = self.root / ".git"
        if found is not None:
            git_dir = found.common
        around = RunEnvironment(Repository(self.root, git_dir), folders.worktree.parent, self.environ)
        sockets = None
        if access is not None:
            sockets = Path(access.socket).parent
        return run_sandbox.of_run(config.sandbox, agent, request, around, sockets=sockets)

    async def run(self, folder: Path, agent: Agent, plan_id: str, now: Clock, *, found: bool = False) -> RunResult:
        """Have the prepared run of a folder done, and return its result; see `reply`."""
        reply = await self.reply(folder, agent, plan_id, now, found=found)
        await self.commits.forget_other(plan_id, folder.name)
        return reply.result

    async def reply(self, folder: Path, agent: Agent, plan_id: str, now: Clock, *, found: bool = False) -> RunReply:
        """Have the prepared run of a folder done, and return the reply; if this is cancelled first, the run ends too.

        `found` is a run that an earlier dispatcher has begun. Raises AgentError where it cannot be done at all.
        """
        if agent.name != CHECK:
            self._running[folder.name] = plan_id
            self.agent_waits.begin(agent.name, folder.name, now())
        try:
            end = await self._followed(folder, agent, plan_id, found=found)
            result = end.reply.result
            await asyncio.to_thread(records.save, self.root, folder, plan_id, result, now(), machine=end.machine)
        finally:
            self._running.pop(folder.name, None)
        why = ""
        if result.error or result.trouble:
            why = f" ({result.error or result.trouble})"
        log.info("plan %s: run %s of %s has ended: %s%s", plan_id, folder.name, agent.name, result.status, why)
        self.agent_waits.note(agent, folder.name, result, now())
        return end.reply

    async def _followed(self, folder: Path, agent: Agent, plan_id: str, *, found: bool) -> RunEnd:
        """Have a run done, and meanwhile write down what it does."""
        if agent.name == CHECK:
            return await self.runs.outcome(folder, found=found)
        followed = await FollowedRun.open(self.activity, folder, agent.name, plan_id)
        try:
            followed.begin()
            async with self._session(folder, agent, plan_id, found=found) as session:
                end = await self.runs.outcome(folder, found=found)
                if session is not None:
                    session.ended(end.reply.result)
            await followed.end(end.reply.result, machine=end.machine)
        finally:
            followed.break_off()
        return end

    def _session(
        self, folder: Path, agent: Agent, plan_id: str, *, found: bool
    ) -> AbstractAsyncContextManager[ResultReceiver | None]:
        if self.tools is None:
            return nullcontext()
        return self.tools.session(folder, agent.name, plan_id, found=found)

    async def cancel(self, run_id: str) -> bool:
        """End a run that waits or goes on; return whether there was one."""
        return await self.runs.cancel(run_id, "no job of prloom waits for this run")

    async def close(self) -> None:
        """Have the workers end."""
        await self.runs.close()


def daily_limit(
    root: Path, config: Config, plan_id: str, now: datetime, *, running: Sequence[str] = ()
) -> AgentWait | None:
    """Return the operator's daily limit that keeps a run of a plan from being started, or None."""
    limits = config.limits
    daily = DailyLimits(
        limits.max_runs_per_plan_per_day,
        limits.max_runs_per_day,
        limits.max_tokens_per_day,
        limits.max_cost_usd_per_day,
    )
    return brakes.tripped(daily, plan_id, run_log.today(root, now), running, now)
