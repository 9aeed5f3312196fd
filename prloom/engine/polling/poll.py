"""Ask a bridge for news, and put it on the buses of the plans it is for: events on disk before the cursor is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from prloom import backoff, errors
from prloom.api.bridge import BridgeContext, Polled
from prloom.api.http import HttpError
from prloom.backoff import Backoff
from prloom.core import admission as routing
from prloom.core import bounds, naming, trust
from prloom.core.trust import Unknown
from prloom.engine.plan import admission
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.polling.permission_cache import PermissionCache
from prloom.errors import ExtensionError, StorageError
from prloom.extensions.bridges import LoadedBridge
from prloom.model import record
from prloom.model.event import Event
from prloom.model.plan import Plan
from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

LIMIT = timedelta(minutes=5)
"""How long one poll may take."""
_MOST_WARNINGS = 20
_LONGEST_WARNING = 500  # characters
TROUBLE = Backoff(initial=timedelta(seconds=5), maximum=timedelta(minutes=10))
"""How long a bridge that failed is left alone."""

SANE = timedelta(days=36_500)
"""By how much a source's clock may differ from ours and still be believed."""


@dataclass
class PollState:
    """What is known of a bridge's polls; times are aware. `last_poll_at` is also that of a poll which asked nothing.

    `kind` is what kind of error it was that the last poll failed with.
    """

    last_poll_at: datetime | None = None
    last_ok_at: datetime | None = None
    error: str | None = None
    failures: int = 0
    rest_until: datetime | None = None
    idle: str | None = None
    warnings: tuple[str, ...] = ()
    asked_at: datetime | None = None
    kind: str | None = None


class Poller:
    """Polls one bridge for all plans at once."""

    def __init__(self, bridge: LoadedBridge, state: SafeDir) -> None:
        self.bridge = bridge
        self.polls = PollState()
        self.permissions = PermissionCache(bridge)
        # After a crash of the machine the cursor before is as good: its events come again, and are known.
        self._cursor = Document(state, paths.bridge_cursor(bridge.name), lasting=False)

    def due(self, now: datetime) -> bool:
        """Whether it is time to ask again."""
        at = self.next_time()
        return at is None or now >= at

    def next_time(self) -> datetime | None:
        """Return when the bridge is asked again; None: it never was."""
        last = self.polls.last_poll_at
        return self.polls.rest_until or (None if last is None else last + self.bridge.poll_interval)

    def turn_back(self, by: timedelta) -> None:
        """Have the bridge asked when it was to be asked, now that the clock was turned back."""
        polls = self.polls
        if polls.last_poll_at is None:
            polls.last_poll_at = None
        else:
            polls.last_poll_at = polls.last_poll_at - by
        if polls.rest_until is None:
            polls.rest_until = None
        else:
            polls.rest_until = polls.rest_until - by
        self.permissions.turn_back(by)

    async def poll(
        self, runtimes: Mapping[str, PlanRuntime], repository: PlanRuntime | None, context: BridgeContext
    ) -> set[str]:
        """Ask once; return the ids of the plans that got news ("" stands for the repository as a whole).

        Without a `repository` some plan cannot be read, and an event that is for no other may be for that one: it is
        left for the poll after the mending, and the cursor stays.

        Whatever goes wrong is this bridge's error: nothing is taken as read, and it is asked again after a while.
        """
        now = context.now
        self.polls.last_poll_at = now
        try:
            polled, woken = await self._poll(runtimes, repository, context)
            self._note(polled, now)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a bridge is a stranger's code, and the others go on
            text = bounds.cut(errors.describe(error))
            self.polls.failures += 1
            self.polls.error = text
            self.polls.idle, self.polls.asked_at = None, now
            self.polls.rest_until = self._rest_until(error, now)
            # said once, not at each try
            if _kind(error) == self.polls.kind:
                level = logging.INFO
            else:
                level = logging.WARNING
            self.polls.kind = _kind(error)
            again = self.polls.rest_until.astimezone().strftime("%H:%M:%S")
            log.log(level, "bridge %s: %s; next poll at %s", self.bridge.name, text, again)
            return set()
        return woken

    def _note(self, polled: Polled, now: datetime) -> None:
        """Remember how a poll went that did not fail; where there was nothing to ask for, nothing was asked."""
        polls = PollState(last_poll_at=now, last_ok_at=now, asked_at=now)
        polls.warnings = tuple(str(each)[:_LONGEST_WARNING] for each in tuple(polled.warnings)[:_MOST_WARNINGS])
        if isinstance(polled.idle, str):
            polls.idle, polls.asked_at, polls.last_ok_at = polled.idle, self.polls.asked_at, self.polls.last_ok_at
        self.polls = polls

    def _rest_until(self, error: BaseException, now: datetime) -> datetime:
        """Return when to ask again: when the server said, or after the usual wait."""
        told = None
        if isinstance(error, HttpError):
            told = error.retry_at
        return max(now + backoff.delay(TROUBLE, self.polls.failures, self.bridge.name), told or now)

    async def _poll(
        self, runtimes: Mapping[str, PlanRuntime], repository: PlanRuntime | None, context: BridgeContext
    ) -> tuple[Polled, set[str]]:
        cursor = self._load()
        asked_for = [runtime.plan for runtime in runtimes.values()]
        async with asyncio.timeout(LIMIT.total_seconds()):
            polled = await self.bridge.bridge.events(context, cursor)
        if not isinstance(polled, Polled):
            raise TypeError(f"events() returned {type(polled).__name__}, not Polled")
        self._note_forge(polled, runtimes, context.now)
        problems = [routing.unreadable(event) for event in polled.events]
        sound = [event for event, problem in zip(polled.events, problems, strict=True) if problem is None]
        routed = _routed(sound, runtimes, asked_for)
        takers = [runtimes.get(plan_id) if plan_id else repository for plan_id in routed]
        jobs = [self._hand_in(runtime, batch, context) for runtime, batch in zip(takers, routed.values(), strict=True)]
        counts = dict(zip(routed, await asyncio.gather(*jobs), strict=True))
        for event, problem in zip(polled.events, problems, strict=True):
            if problem is not None:  # the others are on disk; this one comes again, because the cursor stays
                name = naming.shown(str(getattr(event, "id", event)))
                raise ExtensionError(f"event {name} of the bridge cannot be written to the bus: {problem}")
        if repository is not None and None not in counts.values() and polled.state != cursor:
            self._cursor.save({"state": polled.state})
        self._log_news(counts)
        return polled, {plan_id for plan_id, count in counts.items() if count}

    def _log_news(self, counts: Mapping[str, int | None]) -> None:
        for plan_id, count in counts.items():
            if count:
                of = "the repository"
                if plan_id:
                    of = f"plan {plan_id}"
                log.info("bridge %s: %d new %s for %s", self.bridge.name, count, "events" if count > 1 else "event", of)

    def _note_forge(self, polled: Polled, runtimes: Mapping[str, PlanRuntime], now: datetime) -> None:
        """Note for the plans on this forge where their pull requests' heads are, and what time it is there."""
        for runtime in runtimes.values():
            number = runtime.plan.pr
            if number is None or runtime.plan.forge != self.bridge.name:
                continue
            if polled.now is not None and abs(polled.now - now) < SANE:
                runtime.forge_ahead = polled.now - now
            if number in polled.heads:
                runtime.head = naming.commit_id(polled.heads[number])

    async def _hand_in(self, runtime: PlanRuntime | None, batch: Sequence[Event], context: BridgeContext) -> int | None:
        """Append what is news to a plan's bus, with what its authors may do as far as that can be told now.

        Return how many events that were; or None where there is no plan that could take them, because it cannot be used
        or was given up while its bridge was asked. They come again, and no other is kept from its own.
        """
        if runtime is None or not runtime.usable:
            return None
        try:
            admission.remember_own(runtime, batch)
            events = await asyncio.gather(
                *(self._ranked(each, runtime, context) for each in admission.news(runtime, batch))
            )
            # While that was looked up, others may have appended, and the plan may have come to an end.
            return admission.append(runtime, admission.news(runtime, events)) if runtime.usable else None
        except StorageError as error:
            log.warning("plan %s: %s", runtime.id, error)
            runtime.trouble(str(error))
            return None

    async def _ranked(self, event: Event, runtime: PlanRuntime, context: BridgeContext) -> Event:
        if event.author is None or not isinstance(trust.judge(event, runtime.rules.trust), Unknown):
            return event
        permission, _ = await self.permissions.look_up(event.author.login, context)
        return replace(event, author=replace(event.author, trust=permission))

    def _load(self) -> Json:
        loaded = self._cursor.load()
        if loaded.value is None:
            return None
        return loaded.value.get("state")

    def report(self, requests: Mapping[str, Json]) -> dict[str, Json]:
        """Return what `prloom status` shows of the bridge; `requests` counts those that it has made."""
        told: dict[str, Json] = {
            "name": self.bridge.name,
            "lastPollAt": _iso(self.polls.asked_at),
            "lastOkAt": _iso(self.polls.last_ok_at),
            "error": self.polls.error,
            "requests": dict(requests),
        }
        if self.polls.idle is None:
            told |= {}
        else:
            told |= {"idle": self.polls.idle}
        return told | ({"warnings": list(self.polls.warnings)} if self.polls.warnings else {})


def _routed(
    events: Sequence[Event], runtimes: Mapping[str, PlanRuntime], asked_for: Iterable[Plan]
) -> Mapping[str, Sequence[Event]]:
    """Return the events by the plan that they are for ("": none), in order.

    Also a plan that was there when the bridge was asked keeps its events, or they would end as nobody's.
    """
    plans = {plan.id: plan for plan in (*asked_for, *(runtime.plan for runtime in runtimes.values()))}
    routed: dict[str, list[Event]] = {}
    for event in events:
        routed.setdefault(routing.route(event, plans.values()) or "", []).append(event)
    return routed


def _kind(error: BaseException) -> str:
    """Return what kind of error a poll failed with: its text may name a time, and differ with each try."""
    if isinstance(error, HttpError):
        return error.trouble
    return f"{type(error).__name__}: {error}"


def _iso(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return record.iso(moment)
