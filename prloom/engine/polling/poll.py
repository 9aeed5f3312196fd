"""Read the events of one bridge, and append them to the buses of their plans: on disk before the cursor is saved."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import ValidationError
from msgspec.structs import replace

from prloom import errors
from prloom.api.bridge import BridgeContext, Permissions, Polled
from prloom.api.http import UsesHttp
from prloom.core import trust
from prloom.core.delivery import outbox
from prloom.core.events import admission as routing
from prloom.core.text import naming
from prloom.core.trust import Policy, Unknown
from prloom.engine.bus import entries, upserts
from prloom.engine.bus.plan_folder import PlanFolder
from prloom.engine.plan import admission
from prloom.engine.plan.runtime import PlanRuntime
from prloom.errors import ExtensionError, PrloomError, StorageError
from prloom.extensions import bridge_calls, bridge_results
from prloom.extensions.bridges import LoadedBridge
from prloom.model import kinds, record
from prloom.model.action import UpsertPlan
from prloom.model.event import Event
from prloom.model.plan import Plan
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

LIMIT = timedelta(minutes=5)
"""How long one poll may take."""

ROOM = 1024 * 1024
"""Characters of text that an event may have."""

SANE = timedelta(days=36_500)
"""By how much a source's clock may differ from ours and still be believed."""

LOOKUP_LIMIT = timedelta(seconds=30)
"""How long one look-up may take."""
BELIEVED = timedelta(minutes=5)
"""How long a permission that was looked up is believed."""
RETRIED = timedelta(seconds=20)
"""After which time a permission is looked up again that could not be."""


class CachedPermission(NamedTuple):
    """What an author may do, or why that is not known; believed until then."""

    until: datetime
    permission: str | None
    why: str | None = None


class PermissionCache:
    """Looks up permissions through one bridge; calls for one author at the same time share one request."""

    def __init__(self, bridge: LoadedBridge) -> None:
        self._bridge = bridge
        self._cached: dict[str, CachedPermission] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def shift(self, by: timedelta) -> None:
        """Keep what is cached for no longer than before, now that the clock was turned back."""
        self._cached = {login: permit._replace(until=permit.until - by) for login, permit in self._cached.items()}

    async def look_up(self, login: str, context: BridgeContext) -> tuple[str | None, str | None]:
        """Return what an author may do; or None and why it is not known."""
        lock = self._locks[login]
        async with lock:
            now = context.now
            found = self._cached.get(login)
            if found is None or now >= found.until:
                found = await self._request(login, context)
                self._cached = {name: each for name, each in self._cached.items() if now < each.until} | {login: found}
        if not lock.locked():
            self._locks.pop(login, None)
        return found.permission, found.why

    async def _request(self, login: str, context: BridgeContext) -> CachedPermission:
        bridge, now = self._bridge.bridge, context.now
        if not isinstance(bridge, Permissions):
            return CachedPermission(now + RETRIED, None, f"the bridge {self._bridge.name} cannot look it up")
        try:
            async with asyncio.timeout(LOOKUP_LIMIT.total_seconds()):
                permission = await bridge_calls.wait(bridge.permission, context, login)
        except Exception as error:  # noqa: BLE001 - whatever went wrong: not known is not trusted
            why = errors.describe(error)
            return CachedPermission(now + RETRIED, None, why)
        if permission not in kinds.PERMISSIONS:
            shown = naming.printable(repr(permission))
            why = f"the bridge {self._bridge.name} answered with {shown}, which is not a permission"
            return CachedPermission(now + RETRIED, None, why)
        return CachedPermission(now + BELIEVED, permission)


CheckPlan = Callable[[UpsertPlan], Awaitable[UpsertPlan]]
"""Returns a plan as it is to be written; raises PrloomError where it is not to be."""


async def _unchanged(payload: UpsertPlan) -> UpsertPlan:
    return payload


class BridgeReader:
    """Reads the events of one bridge for all plans at once, and remembers how far.

    `may_read_files` says whether it reads files of the plans, by its latest poll. `check_plan` has plugins look at each
    plan that it writes.
    """

    def __init__(self, bridge: LoadedBridge, state: SafeDir, where: RepositoryPaths) -> None:
        self.permissions = PermissionCache(bridge)
        self.check_plan: CheckPlan = _unchanged
        self._where = where
        self.may_read_files = not isinstance(bridge.bridge, UsesHttp)
        self._bridge = bridge
        # After a crash of the machine the cursor before is as good: its events come again, and are known.
        self._cursor = Document(state, paths.bridge_cursor(bridge.name), lasting=False)

    async def read(
        self, runtimes: Mapping[str, PlanRuntime], repository: PlanRuntime | None, context: BridgeContext
    ) -> tuple[Polled, set[str]]:
        """Request the events after the cursor and append them; return the ids of the plans that got some ("": none).

        Without a `repository` some plan cannot be read, and an event that is for no other may be for that one: it comes
        again with a later poll, because the cursor stays.
        """
        cursor = (self._cursor.load().value or {}).get("state")
        plans = [runtime.plan for runtime in runtimes.values()]
        async with asyncio.timeout(LIMIT.total_seconds()):
            polled = await bridge_calls.wait(self._bridge.bridge.events, context, cursor)
        self.may_read_files = any(isinstance(each.files, PlanFolder) and each.files.was_read for each in context.plans)
        polled, mistake = bridge_results.checked_poll(polled)
        self._note_forge(polled, runtimes, context.now)
        problems = [routing.reading_problem(event) for event in polled.events]
        sound = [event for event, problem in zip(polled.events, problems, strict=True) if problem is None]
        routed = _routed(sound, (*plans, *(runtime.plan for runtime in runtimes.values())))
        receivers = [runtimes.get(plan_id) if plan_id else repository for plan_id in routed]
        jobs = [
            self._append(runtime, batch, context) for runtime, batch in zip(receivers, routed.values(), strict=True)
        ]
        counts = dict(zip(routed, await asyncio.gather(*jobs), strict=True))
        for event, problem in zip(polled.events, problems, strict=True):
            if problem is not None:  # the others are on disk; this one comes again, because the cursor stays
                name = naming.printable(str(getattr(event, "id", event))) or "without an id"
                raise ExtensionError(f"event {name} of the bridge cannot be written to the bus: {problem}")
        if mistake is not None:
            raise ExtensionError(mistake)
        if polled.plans:
            refused = [each async for each in self._write_plans(polled)]
            polled = dataclasses.replace(polled, warnings=(*polled.warnings, *refused))
        if repository is not None and None not in counts.values() and polled.state != cursor:
            self._cursor.save({"state": polled.state})
        self._log_counts(counts)
        return polled, {plan_id for plan_id, count in counts.items() if count}

    async def _write_plans(self, polled: Polled) -> AsyncIterator[str]:
        """Write the plans that the source has as drafts; yield why one cannot be used, which keeps no other back."""
        for payload in polled.plans:
            try:
                sound = record.from_wire(UpsertPlan, record.to_builtins(payload))
                plan_id = upserts.write(self._where, await self.check_plan(sound))
            except (PrloomError, ValidationError, TypeError) as error:
                log.warning("bridge %s: %s", self._bridge.name, error)
                yield f"a plan of {self._bridge.name} cannot be used: {error}"
            else:
                log.info("bridge %s: draft %s", self._bridge.name, plan_id)

    def _log_counts(self, counts: Mapping[str, int | None]) -> None:
        for plan_id, count in counts.items():
            if count:
                of = "the repository"
                if plan_id:
                    of = f"plan {plan_id}"
                log.info(
                    "bridge %s: %d new %s for %s", self._bridge.name, count, "events" if count > 1 else "event", of
                )

    def _note_forge(self, polled: Polled, runtimes: Mapping[str, PlanRuntime], now: datetime) -> None:
        """Note for the plans on this forge the heads and bases of their pull requests, and what time it is there."""
        for runtime in runtimes.values():
            number = runtime.plan.pr
            if number is None or runtime.plan.forge != self._bridge.name:
                continue
            if polled.now is not None and abs(polled.now - now) < SANE:
                runtime.forge_ahead = polled.now - now
            if number in polled.heads:
                runtime.head = naming.commit_id(polled.heads[number])
            runtime.ticked = tuple(polled.ticked.get(number, ()))
            if number in polled.heads:
                _supersede_cleared(runtime, by=self._bridge.name)
            if number in polled.bases:
                _note_base(runtime, polled.bases[number])

    async def _append(self, runtime: PlanRuntime | None, batch: Sequence[Event], context: BridgeContext) -> int | None:
        """Append what is new to a plan's bus, with the permissions of its authors as far as they are known now.

        Return how many events that were; or None if no plan could take them, because it cannot be used or was given up
        meanwhile. They come again with the next poll, and other plans get their own.
        """
        if runtime is None or not runtime.usable:
            return None
        try:
            events = await asyncio.gather(
                *(self._with_permission(each, runtime.rules.trust, context) for each in _new_events(runtime, batch))
            )
            # Meanwhile, others may have appended, and the plan may have been closed.
            if not runtime.usable:
                return None
            return _append(runtime, _new_events(runtime, events))
        except StorageError as error:
            log.warning("plan %s: %s", runtime.id, error)
            runtime.fail(str(error))
            return None

    async def _with_permission(self, event: Event, policy: Policy, context: BridgeContext) -> Event:
        if event.author is None or not isinstance(trust.judge(event, policy), Unknown):
            return event
        permission, _ = await self.permissions.look_up(event.author.login, context)
        return replace(event, author=replace(event.author, trust=permission))


def _note_base(runtime: PlanRuntime, base: str) -> None:
    """Note the base of a plan's pull request; where it cannot be written, the next poll says it again."""
    if not runtime.usable:
        return
    try:
        runtime.note_base(base)
    except StorageError as error:
        log.warning("plan %s: %s", runtime.id, error)
        runtime.fail(str(error))


def _supersede_cleared(runtime: PlanRuntime, *, by: str) -> None:
    """End the events of boxes that a person cleared; where that cannot be written, the command is obeyed.

    prloom clears boxes too: where it is about to, or may have done so, a box that is clear says nothing.
    """
    store = runtime.event_store
    kept = store.state.pull_request
    if runtime.in_flight.at_forge or kept.retry_at is not None or not runtime.usable:
        return
    ticks = map(store.texts.get, routing.wait_for_authors(store.state.open.values(), kept.shown_at))
    changes = routing.cleared((tick for tick in ticks if tick is not None), runtime.ticked)
    if not changes:
        return
    try:
        store.commit("intake", by, changes=changes)
    except StorageError as error:
        log.warning("plan %s: %s", runtime.id, error)
        runtime.fail(str(error))


def _routed(events: Sequence[Event], plans: Sequence[Plan]) -> Mapping[str, Sequence[Event]]:
    """Return the events by the plan that they are for ("": none), in order.

    `plans` are also those that were there when the poll began, or their events would go to the repository's bus.
    """
    by_id = {plan.id: plan for plan in plans}
    routed: dict[str, list[Event]] = {}
    for event in events:
        routed.setdefault(routing.route(event, by_id.values()) or "", []).append(event)
    return routed


def _remember_own(runtime: PlanRuntime, events: Sequence[Event]) -> None:
    """Remember those of prloom's own posts in a poll that this plan's files do not know, and what they answer."""
    if not any(outbox.MARKER_START in event.body for event in events):
        return
    own = routing.unrecorded_posts(events, admission.own_posts(runtime))
    unknown = {action: event for action, event in own.items() if not runtime.event_store.issued(action)}
    if unknown:
        posted = {event.id for event in own.values()}
        runtime.issued.find(unknown, [event for event in events if event.id not in posted])


def _new_events(runtime: PlanRuntime, events: Sequence[Event]) -> tuple[Event, ...]:
    """Return those of a poll's events that are new to the plan, without prloom's own posts, which it remembers."""
    _remember_own(runtime, events)
    return routing.new_events(events, runtime.seen_ids.__contains__, admission.own_posts(runtime))


def _append(runtime: PlanRuntime, events: Sequence[Event]) -> int:
    """Append events to the plan's bus, on disk when this returns; return how many."""
    written = [_writable(routing.shortened(event)) for event in events]
    return entries.append(runtime.event_store.events, written, runtime.clock())


def _writable(event: Event) -> Event:
    """Return the event in a form that a line can hold: one that is too long for that is cut, and says so."""
    room = ROOM - len(event.title)
    if len(event.body) <= room:
        return event
    log.warning("event %s has %d characters; prloom keeps the first %d", event.id, len(event.body), room)
    return replace(event, body=f"{event.body[: max(room, 0)]}\n\n(cut off by prloom)")
