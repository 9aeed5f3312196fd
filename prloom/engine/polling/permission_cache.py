"""Look up through a bridge what an author may do, and believe the answer for a while."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from datetime import datetime, timedelta
from typing import NamedTuple

from prloom import errors
from prloom.api.bridge import BridgeContext, Permissions
from prloom.extensions.bridges import LoadedBridge

log = logging.getLogger(__name__)

LIMIT = timedelta(seconds=30)
"""How long one look-up may take."""
BELIEVED = timedelta(minutes=5)
"""How long a permission that was looked up is believed."""
ASKED_AGAIN = timedelta(seconds=20)
"""After which time somebody is asked about again whose permission could not be told."""


class CachedPermission(NamedTuple):
    """What an author may do, or why nobody can tell; believed until then."""

    until: datetime
    permission: str | None
    why: str | None = None


class PermissionCache:
    """The permissions that one bridge can tell. However many ask about one author, the source is asked once."""

    def __init__(self, bridge: LoadedBridge) -> None:
        self._bridge = bridge
        self._known: dict[str, CachedPermission] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def turn_back(self, by: timedelta) -> None:
        """Believe what is known for no longer than before, now that the clock was turned back."""
        self._known = {login: permit._replace(until=permit.until - by) for login, permit in self._known.items()}

    async def look_up(self, login: str, context: BridgeContext) -> tuple[str | None, str | None]:
        """Return what an author may do; or None and why it is not known."""
        lock = self._asking[login]
        async with lock:
            now = context.now
            found = self._known.get(login)
            if found is None or now >= found.until:
                found = await self._ask(login, context)
                self._known = {name: each for name, each in self._known.items() if now < each.until} | {login: found}
        if not lock.locked():
            self._asking.pop(login, None)
        return found.permission, found.why

    async def _ask(self, login: str, context: BridgeContext) -> CachedPermission:
        bridge, now = self._bridge.bridge, context.now
        if not isinstance(bridge, Permissions):
            return CachedPermission(now + ASKED_AGAIN, None, f"the bridge {self._bridge.name} cannot look it up")
        try:
            async with asyncio.timeout(LIMIT.total_seconds()):
                permission = await bridge.permission(context, login)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever went wrong: not known is not trusted
            why = errors.describe(error)
            return CachedPermission(now + ASKED_AGAIN, None, why)
        if not isinstance(permission, str):
            why = f"the bridge {self._bridge.name} answered with {type(permission).__name__}, which is not a permission"
            return CachedPermission(now + ASKED_AGAIN, None, why)
        return CachedPermission(now + BELIEVED, permission)
