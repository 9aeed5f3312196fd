"""Ask a bridge for news, and put it on the buses of the plans it is for: events on disk before the cursor is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from prloom.api.bridge import BridgeContext, Permissions, Polled
from prloom.core import backoff, intake, trust
from prloom.core.backoff import Backoff
from prloom.core.trust import Unknown
from prloom.engine import intake as intakes
from prloom.engine.desk import Desk
from prloom.errors import StorageError
from prloom.extensions.bridges import LoadedBridge
from prloom.model import record
from prloom.model.event import Event
from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.folder import Folder

log = logging.getLogger(__name__)

LIMIT = timedelta(minutes=5)
"""How long one poll may take."""
REMEMBERED = timedelta(minutes=5)
"""How long a permission that was looked up is believed."""
TROUBLE = Backoff(initial=timedelta(seconds=5), maximum=timedelta(minutes=10))
"""How long a bridge that failed is left alone."""


@dataclass
class PollState:
    """What is known of a bridge's polls; times are aware."""

    last_poll_at: datetime | None = None
    last_ok_at: datetime | None = None
    error: str | None = None
    failures: int = 0
    rest_until: datetime | None = None


class Poller:
    """Polls one bridge for all plans at once."""

    def __init__(self, bridge: LoadedBridge, state: Folder) -> None:
        self.bridge = bridge
        self.polls = PollState()
        self._cursor = Document(state, paths.bridge_cursor(bridge.name))
        self._permissions: dict[str, tuple[datetime, str]] = {}

    def due(self, now: datetime) -> bool:
        """Whether it is time to ask again."""
        last = self.polls.last_poll_at
        if self.polls.rest_until is not None:
            return now >= self.polls.rest_until
        return last is None or now >= last + self.bridge.poll_interval

    async def poll(self, desks: Mapping[str, Desk], repository: Desk | None, context: BridgeContext) -> set[str]:
        """Ask once; return the ids of the plans that got news ("" stands for the repository as a whole).

        Without a `repository` some plan cannot be read, and an event that is for no other may be for that one: it is
        left for the poll after the mending, and the cursor stays.

        Whatever goes wrong is this bridge's error: nothing is taken as read, and it is asked again after a while.
        """
        now = context.now
        self.polls.last_poll_at = now
        try:
            woken = await self._poll(desks, repository, context)
        except Exception as error:  # noqa: BLE001 - a bridge is a stranger's code, and the others go on
            text = str(error) if isinstance(error, StorageError) else f"{type(error).__name__}: {error}"
            self.polls.failures += 1
            self.polls.error = text
            self.polls.rest_until = now + backoff.delay(TROUBLE, self.polls.failures, self.bridge.name)
            log.warning("bridge %s: %s; asked again at %s", self.bridge.name, text, self.polls.rest_until)
            return set()
        self.polls = PollState(last_poll_at=now, last_ok_at=now)
        return woken

    async def _poll(self, desks: Mapping[str, Desk], repository: Desk | None, context: BridgeContext) -> set[str]:
        cursor = self._load()
        async with asyncio.timeout(LIMIT.total_seconds()):
            polled = await self.bridge.bridge.events(context, cursor)
        if not isinstance(polled, Polled):
            raise TypeError(f"events() returned {type(polled).__name__}, not Polled")
        events = await self._trusted(polled.events, desks, context)
        woken, complete = _append(events, desks, repository)
        if complete and polled.state != cursor:
            self._cursor.save({"state": polled.state})
        return woken

    def _load(self) -> Json:
        loaded = self._cursor.load()
        return None if loaded.value is None else loaded.value.get("state")

    async def _trusted(
        self, events: Sequence[Event], desks: Mapping[str, Desk], context: BridgeContext
    ) -> tuple[Event, ...]:
        """Return the events with what their authors may do, as far as it could be looked up."""
        result = []
        for event in events:
            policy = next(iter(desks.values())).rules.trust if desks else trust.Policy()
            if event.author is not None and isinstance(trust.judge(event, policy), Unknown):
                permission, _ = await self.permission(event.author.login, context)
                author = replace(event.author, trust=permission)
                result.append(replace(event, author=author))
            else:
                result.append(event)
        return tuple(result)

    async def permission(self, login: str, context: BridgeContext) -> tuple[str | None, str | None]:
        """Return what an author may do, believed for a while; or None and why it is not known."""
        now = context.now
        held = self._permissions.get(login)
        if held is not None and now < held[0] + REMEMBERED:
            return held[1], None
        bridge = self.bridge.bridge
        if not isinstance(bridge, Permissions):
            return None, f"the bridge {self.bridge.name} cannot tell"
        try:
            async with asyncio.timeout(LIMIT.total_seconds()):
                permission = await bridge.permission(context, login)
        except Exception as error:  # noqa: BLE001 - whatever went wrong: not known is not trusted
            return None, f"{type(error).__name__}: {error}"
        self._permissions = {name: at for name, at in self._permissions.items() if now < at[0] + REMEMBERED}
        self._permissions[login] = (now, permission)
        return permission, None

    def report(self) -> dict[str, Json]:
        """Return what `prloom status` shows of the bridge."""
        return {
            "name": self.bridge.name,
            "lastPollAt": _iso(self.polls.last_poll_at),
            "lastOkAt": _iso(self.polls.last_ok_at),
            "error": self.polls.error,
            "requests": {"total": 0, "charged": 0},
        }


def _append(events: Iterable[Event], desks: Mapping[str, Desk], repository: Desk | None) -> tuple[set[str], bool]:
    """Append each event to the bus of its plan, in order; return who got news, and whether all could be written.

    A plan that cannot take its events keeps no other from its own; the cursor stays, so that they come again.
    """
    routed: dict[str, list[Event]] = {}
    plans = [desk.plan for desk in desks.values()]
    for event in events:
        routed.setdefault(intake.route(event, plans) or "", []).append(event)
    woken, complete = set(), repository is not None
    for plan_id, batch in routed.items():
        desk = desks.get(plan_id, repository)
        if desk is None:
            continue
        try:
            if intakes.append(desk, batch):
                woken.add(plan_id)
        except StorageError as error:
            desk.trouble(str(error))
            complete = False
    return woken, complete


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else record.iso(moment)
