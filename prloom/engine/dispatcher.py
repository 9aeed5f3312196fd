"""The dispatcher: polls the bridges, works through the plans, and carries out what other commands ask for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any, Protocol

from prloom.api.bridge import BridgeContext
from prloom.api.context import Services
from prloom.core.dispatch import Triage
from prloom.engine import control, intake, work
from prloom.engine.board import Board
from prloom.engine.control import Control
from prloom.engine.desk import Desk
from prloom.engine.ledger import Clock
from prloom.engine.plugins import Crew
from prloom.engine.poll import Poller
from prloom.engine.rules import Rules
from prloom.engine.watch import Watcher
from prloom.engine.work import Hands, Job
from prloom.errors import PrloomError
from prloom.extensions.bridges import Bridges
from prloom.model.state import OpenEvent
from prloom.storage import paths

log = logging.getLogger(__name__)


class Triager(Protocol):
    """Lets agents deal with events, and finds out what became of the runs of a dispatcher that was killed."""

    async def triage(self, desk: Desk, step: Triage) -> None:
        """Run an agent on these events and commit what comes of it."""

    async def recover(self, desk: Desk, run: str, event_ids: tuple[str, ...]) -> None:
        """Settle a run that an earlier dispatcher began."""

    def services(self, desk: Desk) -> Services:
        """Return what a hook of this plan may ask for."""


class Dispatcher:
    """Everything at work on one repository. `run` goes on for ever, `once` does exactly one full tick."""

    def __init__(
        self, board: Board, *, crew: Crew, bridges: Bridges, triager: Triager, rules: Rules, clock: Clock
    ) -> None:
        self.board = board
        self.bridges = bridges
        self.clock = clock
        self._crew = crew
        self._triager = triager
        self._rules = rules
        state = board.local.make_sub(paths.BUS, paths.BUS_STATE)
        self._pollers = [Poller(bridge, state) for bridge in bridges.loaded]
        self._control = Control(board.local)
        self._watcher = Watcher()
        self._wake = asyncio.Event()
        self._working: set[asyncio.Task[None]] = set()
        self._polling: set[str] = set()
        self._poll_now = False

    # ---- the two ways to run

    async def run(self, tick: timedelta) -> None:
        """Run until cancelled: a tick at least this often, and at once when something is appended to a bus."""
        await self._start()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._notice())
                while True:
                    self._wake.clear()
                    self._tick_on()
                    await self._pause(tick)
        finally:
            await self._stop()

    async def once(self) -> None:
        """Do one full tick: poll everything, dispatch, wait for all that this began, deliver."""
        await self._start()
        try:
            self._poll_now = True
            self.tick()
            while self._working:
                await asyncio.wait(self._working, return_when=asyncio.FIRST_COMPLETED)
                self._work_through()
            self.board.publish(self._crew.report(), self._reports(), self.clock())
        finally:
            await self._stop()

    def _tick_on(self) -> None:
        """Tick, and go on whatever the disk says: the next tick tries again."""
        try:
            self.tick()
        except PrloomError as error:
            log.warning("%s", error)

    def tick(self) -> None:
        """Do all that can be done now, and begin what takes time; costs the same however much history there is."""
        self.board.beat()
        self._take_up()
        self._obey()
        self._poll()
        self._work_through()
        self.board.publish(self._crew.report(), self._reports(), self.clock())

    # ---- beginning and end

    async def _start(self) -> None:
        await self._crew.start()
        self._take_up()
        for desk in self.board.desks.values():
            for run, ids in _runs(desk.ledger.state.open.values()).items():
                desk.busy |= set(ids)
                self._spawn(desk, partial(self._recover, desk, run, ids))

    async def _recover(self, desk: Desk, run: str, ids: tuple[str, ...]) -> None:
        try:
            await self._triager.recover(desk, run, ids)
        finally:
            desk.busy -= set(ids)

    async def _stop(self) -> None:
        """End what is at work; nothing is lost by that, it is found out by the next start."""
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        await self._crew.stop()
        self._watcher.close()
        self.board.close()

    def _take_up(self) -> None:
        """Look for plans that were adopted or given up since the last tick."""
        self.board.take_up(self._rules)
        self.board.watch_over()
        buses = [desk.worktree.joinpath(*paths.LOCAL, paths.BUS) for desk in self.board.desks.values()]
        self._watcher.follow([*buses, self.board.paths.local, self.board.paths.bus])

    # ---- one tick's parts

    def _obey(self) -> None:
        requests, cursor = self._control.read()
        for request in requests:
            if request.verb == "poll":
                self._poll_now = True
            for desk in self.board.all():
                try:
                    while intake.take_in(desk):  # the request may be about an event that came just before it
                        pass
                    control.carry_out(request, (desk,))
                except PrloomError as error:
                    desk.trouble(str(error))
        self._control.settle(cursor)

    def _poll(self) -> None:
        now = self.clock()
        for poller in self._pollers:
            name = poller.bridge.name
            if name not in self._polling and (self._poll_now or poller.due(now)):
                self._polling.add(name)
                self._spawn(None, partial(self._poll_one, poller))
        self._poll_now = False

    async def _poll_one(self, poller: Poller) -> None:
        try:
            repository = None if self.board.unreadable else self.board.repository
            await poller.poll(self.board.desks, repository, self._context())
        finally:
            self._polling.discard(poller.bridge.name)

    def _work_through(self) -> None:
        roster, hands = self._crew.roster(), self._hands()
        for desk in self.board.desks.values():
            while work.advance(desk, roster, hands):
                pass
        repository = self._hands(agents=False)
        while work.advance(self.board.repository, self._crew.repository_roster(), repository):
            pass

    def _hands(self, *, agents: bool = True) -> Hands:
        return Hands(
            crew=self._crew,
            bridges=self.bridges,
            services=self._triager.services,
            context=self._context,
            triage=self._triager.triage if agents else None,
            lookup=self._look_up,
            spawn=self._spawn,
        )

    async def _look_up(self, desk: Desk, event: OpenEvent) -> None:
        """Ask the bridge that an event came from what its author may do."""
        poller = next((poller for poller in self._pollers if poller.bridge.name == event.source), None)
        if poller is None or event.author is None:
            intake.looked_up(desk, event, None, f"no bridge is named {event.source}")
            return
        permission, why = await poller.permission(event.author, self._context())
        current = desk.ledger.state.open.get(event.id)
        if current is not None and current.state == "held":
            intake.looked_up(desk, current, permission, why)

    # ---- work beside everything else

    def _spawn(self, desk: Desk | None, job: Job) -> None:
        task = asyncio.get_running_loop().create_task(self._guard(desk, job))
        self._working.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        self._wake.set()

    async def _guard(self, desk: Desk | None, job: Job) -> None:
        """Let no job's failure reach the others: it is its plan's trouble."""
        try:
            await job()
        except PrloomError as error:
            log.warning("%s: %s", f"plan {desk.id}" if desk else "dispatcher", error)
            if desk is not None:
                desk.trouble(str(error))
        except Exception as error:
            log.exception("a bug in prloom; the plan rests and is tried again")
            if desk is not None:
                desk.trouble(f"a bug in prloom: {type(error).__name__}: {error}")

    async def _pause(self, tick: timedelta) -> None:
        try:
            async with asyncio.timeout(tick.total_seconds()):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _notice(self) -> None:
        async for _folder, name in self._watcher.notices():
            if name in {paths.EVENTS, paths.CONTROL}:
                self._wake.set()

    def _context(self) -> BridgeContext:
        tracked = tuple(desk.tracked for desk in self.board.desks.values())
        return BridgeContext(repo_root=self.board.paths.root, plans=tracked, now=self.clock())

    def _reports(self) -> list[dict[str, Any]]:
        failed = [
            {"name": name, "lastPollAt": None, "lastOkAt": None, "error": error, "requests": {"total": 0, "charged": 0}}
            for name, error in self.bridges.failed
        ]
        return [poller.report() for poller in self._pollers] + failed


def _runs(opened: Iterable[OpenEvent]) -> dict[str, tuple[str, ...]]:
    """Return the agent runs that open events are in, with their events."""
    runs: dict[str, tuple[str, ...]] = {}
    for event in opened:
        if event.run is not None:
            runs[event.run] = (*runs.get(event.run, ()), event.id)
    return runs
