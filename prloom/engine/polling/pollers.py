"""Decide when each bridge is polled, keep how its polls went, and decide held events by permissions looked up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from prloom import backoff, errors
from prloom.api.bridge import BridgeContext, Polled
from prloom.api.http import HttpError
from prloom.backoff import Backoff
from prloom.core import trust
from prloom.core.events import acknowledgements
from prloom.core.text import bounds
from prloom.core.trust import Trusted
from prloom.core.waits import deferral
from prloom.engine.bus.event_store import EventStore
from prloom.engine.plan.dependencies import Job
from prloom.engine.plan.runtime import PlanRuntime, Rules
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.polling.network import Network
from prloom.engine.polling.poll import BridgeReader, CheckPlan
from prloom.extensions import bridges as bridge_code
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.model import kinds
from prloom.model.decision import Change
from prloom.model.record import Json, Timestamp
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

_MOST_WARNINGS = 20
_LONGEST_WARNING = 500  # characters
DELAYS = Backoff(initial=timedelta(seconds=5), maximum=timedelta(minutes=10))
"""How long a bridge that failed is left alone."""


@dataclass
class PollState:
    """What is known of a bridge's polls; times are aware. `last_poll_at` is also that of a poll which made no request.

    `kind` is what kind of error it was that the last poll failed with.
    """

    last_poll_at: datetime | None = None
    last_ok_at: datetime | None = None
    error: str | None = None
    failures: int = 0
    retry_at: datetime | None = None
    idle: str | None = None
    warnings: tuple[str, ...] = ()
    requested_at: datetime | None = None
    kind: str | None = None


class Poller:
    """Polls one bridge at its interval, and after a failure with a backoff."""

    def __init__(self, bridge: LoadedBridge, state: SafeDir, where: RepositoryPaths) -> None:
        self.bridge = bridge
        self.polls = PollState()
        self.reader = BridgeReader(bridge, state, where)
        self._one_at_a_time = asyncio.Lock()

    def due(self, now: datetime) -> bool:
        """Whether it is time to poll."""
        at = self.next_time()
        return at is None or now >= at

    def next_time(self) -> datetime | None:
        """Return when the bridge is polled again; None if it never was."""
        last = self.polls.last_poll_at
        return self.polls.retry_at or (None if last is None else last + self.bridge.poll_interval)

    def shift(self, by: timedelta) -> None:
        """Poll the bridge when it was to be polled, now that the clock was turned back."""
        if self.polls.last_poll_at is not None:
            self.polls.last_poll_at -= by
        if self.polls.retry_at is not None:
            self.polls.retry_at -= by
        self.reader.permissions.shift(by)

    async def poll(
        self, runtimes: Mapping[str, PlanRuntime], repository: PlanRuntime | None, context: BridgeContext
    ) -> set[str]:
        """Poll once; return the ids of the plans that got events ("" is the repository as a whole).

        Whatever goes wrong is this bridge's error: nothing counts as read, and it is polled again after a while.
        """
        async with self._one_at_a_time:
            return await self._poll(runtimes, repository, context)

    async def _poll(
        self, runtimes: Mapping[str, PlanRuntime], repository: PlanRuntime | None, context: BridgeContext
    ) -> set[str]:
        now = context.now
        self.polls.last_poll_at = now
        try:
            polled, plan_ids = await self.reader.read(runtimes, repository, context)
            self._note(polled, now)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a bridge is a stranger's code, and the others go on
            text = bounds.cut(_described(error))
            self.polls.failures += 1
            self.polls.error = text
            self.polls.idle, self.polls.requested_at = None, now
            self.polls.retry_at = self._retry_at(error, now)
            # said once, not at each try
            level = logging.WARNING
            if _kind(error) == self.polls.kind:
                level = logging.INFO
            self.polls.kind = _kind(error)
            again = self.polls.retry_at.astimezone().strftime("%H:%M:%S")
            log.log(level, "bridge %s: %s; next poll at %s", self.bridge.name, text, again)
            return set()
        return plan_ids

    def _note(self, polled: Polled, now: datetime) -> None:
        """Remember how a poll went that did not fail; one with nothing to request made no request."""
        polls = PollState(last_poll_at=now, last_ok_at=now, requested_at=now)
        polls.warnings = tuple(str(each)[:_LONGEST_WARNING] for each in tuple(polled.warnings)[:_MOST_WARNINGS])
        if isinstance(polled.idle, str):
            polls.idle, polls.requested_at, polls.last_ok_at = (
                polled.idle,
                self.polls.requested_at,
                self.polls.last_ok_at,
            )
        self.polls = polls

    def _retry_at(self, error: BaseException, now: datetime) -> datetime:
        """Return when to poll again: when the server said, or after the usual wait."""
        usual = now + backoff.delay(DELAYS, self.polls.failures, self.bridge.name)
        if isinstance(error, HttpError) and error.retry_at is not None:
            return max(usual, error.retry_at)
        return usual

    def report(self, requests: Mapping[str, Json]) -> dict[str, Json]:
        """Return what `prloom status` shows of the bridge; `requests` counts those that it has made."""
        shown: dict[str, Json] = {
            "name": self.bridge.name,
            "lastPollAt": _timestamp(self.polls.requested_at),
            "lastOkAt": _timestamp(self.polls.last_ok_at),
            "error": self.polls.error,
            "requests": dict(requests),
        }
        if self.polls.idle is not None:
            shown["idle"] = self.polls.idle
        if self.polls.warnings:
            shown["warnings"] = list(self.polls.warnings)
        return shown


def _described(error: BaseException) -> str:
    """Return one line about what a bridge raised: where in its code, if that was not foreseen."""
    if errors.explain(error) is not None:
        return errors.describe(error)
    return f"{errors.describe(error)}{bridge_code.origin(error)}"


def _kind(error: BaseException) -> str:
    """Return what kind of error a poll failed with: its text may name a time, and differ with each try."""
    if isinstance(error, HttpError):
        return error.trouble
    return f"{type(error).__name__}: {error}"


def _timestamp(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    return Timestamp.of(moment)


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
                self.requested.discard(name)
                spawn(partial(self._poll, poller, on_events))

    async def read_files(self, on_events: Callable[[set[str]], None]) -> None:
        """Poll the bridges that read plans' files, from now on, also where one is being polled just now."""
        for poller in self._pollers:
            if poller.reader.may_read_files:
                await self._poll(poller, on_events)

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

    def reports(self) -> list[dict[str, Any]]:
        """Return what `prloom status` shows of the bridges, those included that could not be loaded."""
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
        return [poller.report(self._network.requests(poller.bridge.name)) for poller in self._pollers] + failed

    async def _poll(self, poller: Poller, on_events: Callable[[set[str]], None]) -> None:
        try:
            repository = None
            if not self._registry.unreadable:
                repository = self._registry.repository
            on_events(await poller.poll(self._registry.runtimes, repository, self.context(poller.bridge.name)))
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
