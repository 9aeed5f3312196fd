"""All pollers of a repository: which of them are at work, which are due, and what they can tell of an author."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from prloom.api.bridge import BridgeContext
from prloom.engine.plan import admission
from prloom.engine.plan.dependencies import Job
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.polling.network import Network
from prloom.engine.polling.poll import Poller
from prloom.extensions.bridges import LoadedBridges
from prloom.storage.safe_dir import SafeDir


class Pollers:
    """The bridges, asked beside everything else. `wanted` are those that somebody wants asked at once."""

    def __init__(self, bridges: LoadedBridges, state: SafeDir, board: PlanRegistry, network: Network) -> None:
        self._network = network
        self._pollers = [Poller(bridge, state) for bridge in bridges.loaded]
        self._failed = bridges.failed
        self._board = board
        self._polling: set[str] = set()
        self.wanted: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._polling)

    def want(self) -> None:
        """Have every bridge asked, whatever its interval says; one that is just being asked is asked once more."""
        self.wanted = {poller.bridge.name for poller in self._pollers}

    def turn_back(self, by: timedelta) -> None:
        """Have the bridges asked when they were to be asked, now that the clock was turned back."""
        for poller in self._pollers:
            poller.turn_back(by)

    def begin(self, spawn: Callable[[Job], None], told: Callable[[set[str]], None]) -> None:
        """Ask the bridges whose time has come; `told` gets the ids of the plans that have news."""
        now = self._board.clock()
        for poller in self._pollers:
            name = poller.bridge.name
            if name not in self._polling and (name in self.wanted or poller.due(now)):
                self._polling.add(name)
                self.wanted.discard(name)
                spawn(partial(self._poll, poller, told))

    def next_times(self) -> Iterator[datetime]:
        """Yield when the bridges that are not being asked are asked next."""
        for poller in self._pollers:
            time = poller.next_time()
            if time is not None and poller.bridge.name not in self._polling:
                yield time

    def context(self, bridge: str) -> BridgeContext:
        """Return what a bridge may use during a call that begins now."""
        tracked = tuple(runtime.tracked for runtime in self._board.runtimes.values())
        client = self._network.client(bridge)
        return BridgeContext(repo_root=self._board.paths.root, plans=tracked, now=self._board.clock(), http=client)

    async def look_up(self, runtime: PlanRuntime, event_id: str) -> None:
        """Ask the bridge that an event came from, or else the plan's forge, what its author may do; and decide that."""
        event = runtime.event_store.state.open.get(event_id)
        if event is None:
            return
        sources = (event.source, runtime.plan.forge)
        poller = next((poller for name in sources for poller in self._pollers if poller.bridge.name == name), None)
        if poller is None or event.author is None:
            admission.looked_up(runtime, event_id, None, f"no bridge is named {event.source}")
            return
        permission, why = await poller.permissions.look_up(event.author, self.context(poller.bridge.name))
        admission.looked_up(runtime, event_id, permission, why)

    def reports(self) -> list[dict[str, Any]]:
        """Return what `prloom status` shows of the bridges, those included that could not be loaded."""
        failed = [
            {"name": name, "lastPollAt": None, "lastOkAt": None, "error": error, "requests": {"total": 0, "charged": 0}}
            for name, error in self._failed
        ]
        return [poller.report(self._network.requests(poller.bridge.name)) for poller in self._pollers] + failed

    async def _poll(self, poller: Poller, told: Callable[[set[str]], None]) -> None:
        try:
            if self._board.unreadable:
                repository = None
            else:
                repository = self._board.repository
            told(await poller.poll(self._board.runtimes, repository, self.context(poller.bridge.name)))
        finally:
            self._polling.discard(poller.bridge.name)
