"""Poll all bridges when they are due, and decide held events by the permissions that they look up."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from prloom.api.bridge import BridgeContext
from prloom.core import trust
from prloom.core.events import acknowledgements
from prloom.core.trust import Trusted
from prloom.core.waits import deferral
from prloom.engine.bus.event_store import EventStore
from prloom.engine.plan.dependencies import Job
from prloom.engine.plan.rules import Rules
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.polling.network import Network
from prloom.engine.polling.poll import CheckPlan
from prloom.engine.polling.poller import Poller
from prloom.extensions.bridges import LoadedBridges
from prloom.model import kinds
from prloom.model.decision import Change
from prloom.storage.safe_dir import SafeDir


class Pollers:
    """Polls all bridges. `requested` are those to poll at once, whatever their interval says."""

    def __init__(self, bridges: LoadedBridges, state: SafeDir, registry: PlanRegistry, network: Network) -> None:
        self._network = network
        self._pollers = [Poller(bridge, state, registry.paths) for bridge in bridges.loaded]
        self._failed = bridges.failed
        self._registry = registry
        self._polling: set[str] = set()
        self.requested: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._polling)

    def request_all(self) -> None:
        """Poll every bridge at once; one that is being polled just now is polled once more."""
        self.requested = {poller.bridge.name for poller in self._pollers}

    def check_plans(self, check: CheckPlan) -> None:
        """Have plugins look at each plan that a bridge writes."""
        for poller in self._pollers:
            poller.reader.check_plan = check

    def shift(self, by: timedelta) -> None:
        """Poll the bridges when they were to be polled, now that the clock was turned back."""
        for poller in self._pollers:
            poller.shift(by)

    def begin(self, spawn: Callable[[Job], None], on_events: Callable[[set[str]], None]) -> None:
        """Poll the bridges whose time has come; `on_events` gets the ids of the plans that got events."""
        now = self._registry.clock()
        for poller in self._pollers:
            name = poller.bridge.name
            if name not in self._polling and (name in self.requested or poller.due(now)):
                self._polling.add(name)
                spawn(partial(self._poll, poller, on_events, again=name not in self.requested))
                self.requested.discard(name)

    async def read_files(self, on_events: Callable[[set[str]], None]) -> None:
        """Poll the bridges that read plans' files, from now on, also where one is being polled just now."""
        for poller in self._pollers:
            if poller.reader.may_read_files:
                await self._poll(poller, on_events, again=False)

    def next_times(self) -> Iterator[datetime]:
        """Yield when the bridges that are not being polled are polled next."""
        for poller in self._pollers:
            time = poller.next_time()
            if time is not None and poller.bridge.name not in self._polling:
                yield time

    def context(self, bridge: str) -> BridgeContext:
        """Return what a bridge may use during a call that begins now."""
        tracked = tuple(runtime.tracked for runtime in self._registry.runtimes.values())
        client = self._network.client(bridge)
        return BridgeContext(
            repo_root=self._registry.paths.root, plans=tracked, now=self._registry.clock(), http=client
        )

    async def look_up(self, runtime: PlanRuntime, event_id: str) -> None:
        """Look up an author's permission through the event's bridge, or else the plan's forge, and decide the event."""
        event = runtime.event_store.state.open.get(event_id)
        if event is None:
            return
        sources = (event.source, runtime.plan.forge)
        poller = next((poller for name in sources for poller in self._pollers if poller.bridge.name == name), None)
        if poller is None or event.author is None:
            missing = f"no bridge is named {event.source}"
            _decide(runtime.event_store, runtime.rules, event_id, None, missing)
            return
        context = self.context(poller.bridge.name)
        permission, reason = await poller.reader.permissions.look_up(event.author, context)
        _decide(runtime.event_store, runtime.rules, event_id, permission, reason)

    def reports(self, problems: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return what `prloom status` shows of the bridges, those included that could not be loaded.

        `problems` are those that bridges have with something else than being polled.
        """
        failed = [
            {
                "name": name,
                "loaded": False,
                "lastPollAt": None,
                "lastOkAt": None,
                "error": error,
                "requests": {"total": 0, "charged": 0},
            }
            for name, error in self._failed
        ]
        found = [poller.report(self._network.requests(poller.bridge.name)) for poller in self._pollers]
        return [{**each, "error": each["error"] or problems.get(each["name"])} for each in found] + failed

    async def _poll(self, poller: Poller, on_events: Callable[[set[str]], None], *, again: bool) -> None:
        try:
            repository = None
            if not self._registry.unreadable:
                repository = self._registry.repository
            context = dataclasses.replace(self.context(poller.bridge.name), polled_again=again)
            on_events(await poller.poll(self._registry.runtimes, repository, context))
        finally:
            self._polling.discard(poller.bridge.name)


def _decide(store: EventStore, rules: Rules, event_id: str, permission: str | None, why: str | None) -> None:
    """Decide a held event by its author's permission, or let it wait if that is not known.

    An event that was approved or dropped meanwhile is not held any more.
    """
    event = store.state.open.get(event_id)
    if event is None or event.state != "held" or event.deferral is None:
        return
    login = event.author or ""
    if permission is None:
        held = trust.unknown(login, why or "no bridge can look it up")
        wait = deferral.defer(event, "trust", held.reason, now=store.clock(), policy=rules.backoff)
        change = Change(event_id=event.id, verdict="held", state="held", reason=held.reason, deferral=wait)
    else:
        judged = trust.rank(login, permission, rules.trust)
        reason = f"{login} has {permission} permission"
        if isinstance(judged, Trusted):
            change = Change(event_id=event.id, verdict="admitted", state="pending", reason=reason)
        elif kinds.kind(event.type, by_person=True).control:
            change = Change(event_id=event.id, verdict="dropped", state="dropped", reason=judged.reason)
        else:
            change = Change(event_id=event.id, verdict="held", state="held", reason=judged.reason)
    signs = acknowledgements.for_approved((change,), store.state)
    store.commit("trust", "prloom", changes=(change,), actions=signs, courtesies=tuple(action.id for action in signs))
