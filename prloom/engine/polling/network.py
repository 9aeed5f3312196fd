"""The HTTP clients of the bridges that speak HTTP: one for each, made when it is first used."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from prloom.api.http import Answer, Http, HttpError, HttpNeeds, UsesHttp
from prloom.core.text import secret_scan
from prloom.engine.bus.event_store import Clock
from prloom.errors import PrloomError, StorageError
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir
from prloom.transport import token
from prloom.transport.limits import RequestUsage
from prloom.transport.limits_store import LimitsStore
from prloom.transport.token import NoTokenError, Token

if TYPE_CHECKING:
    from prloom.transport.client import Client

log = logging.getLogger(__name__)

Connect = Callable[..., "Client"]
"""How a client is made: as `Client` is, for what a bridge needs and with its token."""
FOUND_AGAIN_AFTER = timedelta(seconds=5)
"""After which a token is looked for again that is missing or was not accepted: that may start a program."""
RESENT_AFTER = timedelta(minutes=1)
"""After which a token is shown to the server again that it did not accept."""


def new_client(needs: HttpNeeds, token: str | None, *, clock: Clock, store: LimitsStore) -> Client:
    """Make a client, as `Client` is made."""
    from prloom.transport.client import Client  # noqa: PLC0415 - a third of the start-up, for who asks over a network

    return Client(needs, token, clock=clock, store=store)


class Network:
    """The clients of all bridges, by their names. None of them reads a token before it is needed.

    `state` is the folder in which is kept what is known of each server's limits; without it, it ends with us.
    """

    def __init__(
        self,
        bridges: LoadedBridges,
        environ: Mapping[str, str],
        clock: Clock,
        state: SafeDir | None,
        *,
        connect: Connect = new_client,
    ) -> None:
        self._secrets = secret_scan.environment_secrets(environ)
        self._clients = {
            each.name: _LazyClient(each, environ, clock, _SavedLimits(state, each.name), connect)
            for each in bridges.loaded
            if _speaks_http(each)
        }

    def client(self, bridge: str) -> Http | None:
        """Return a bridge's client, or None where the bridge needs none."""
        return self._clients.get(bridge)

    def requests(self, bridge: str) -> Mapping[str, Json]:
        """Return what `prloom status` shows of a bridge's requests."""
        client = self._clients.get(bridge)
        if client is None:
            count = RequestUsage()
        else:
            count = client.usage
        if count.remaining is None:
            left = {}
        else:
            left = {"remaining": count.remaining}
        return {"total": count.total, "charged": count.charged, **left}

    async def secrets(self, bridge: str) -> dict[str, str]:
        """Return the values that nothing which leaves by a bridge may hold, each by what it is.

        They are those of the environment, and the tokens of the bridges, of which this one's is looked for if need be.
        """
        if bridge in self._clients:
            with suppress(PrloomError):  # the bridge reports a token that cannot be used
                await self._clients[bridge].find_token()
        tokens = {f"the token of {name}": client.token for name, client in self._clients.items()}
        known = self._secrets
        return known | {what: token for what, token in tokens.items() if token and token not in known.values()}

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.close()


class _LazyClient:
    """A client that is made for its first request: a bridge that sends none starts no program for a token.

    A token that its server does not accept any more (they expire) is looked for again. The same one is not shown again
    before a while: GitHub locks out a client that insists.
    """

    def __init__(
        self, bridge: LoadedBridge, environ: Mapping[str, str], clock: Clock, limits: _SavedLimits, connect: Connect
    ) -> None:
        self._name = bridge.name
        self._bridge = bridge.bridge
        self._environ = environ
        self._clock = clock
        self._limits = limits
        self._connect = connect
        self._made: Client | None = None
        self._token: Token | None = None
        self._missing: str | None = None
        self._found_at: datetime | None = None
        self._refused_at: datetime | None = None
        self._finding = asyncio.Lock()

    @property
    def usage(self) -> RequestUsage:
        if self._made is None:
            return RequestUsage()
        return self._made.usage

    async def request(
        self,
        method: str,
        url: str,
        *,
        body: Json | None = None,
        etag: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request; see `prloom.api.http.Http`."""
        client = await self._client()
        shown = self._token
        try:
            return await client.request(method, url, body=body, etag=etag, headers=headers)
        except HttpError as error:
            if error.trouble != "unauthorized" or shown is None:
                raise
            if not await self._renewed(client, shown):
                raise error.reworded(f"{error} with the token of {self._source}") from error
        return await client.request(method, url, body=body, etag=etag, headers=headers)

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()

    @property
    def token(self) -> str | None:
        if self._token is None:
            return None
        return self._token.text

    async def find_token(self) -> None:
        await self._client()

    async def _client(self) -> Client:
        async with self._finding:
            if self._made is None:
                self._token = await self._found()
                self._made = self._connect(self._needs, self.token, clock=self._clock, store=self._limits)
            elif self._refused_at is not None and not await self._refresh_token(self._made):
                if self._clock() - self._refused_at < RESENT_AFTER:
                    text = f"the token of {self._source} was not accepted at {self._refused_at:%H:%M:%S} UTC (401)"
                    raise HttpError(f"nothing was sent: {text}", trouble="unauthorized", status=401)
                self._refused_at = None
            return self._made

    async def _renewed(self, client: Client, shown: Token) -> bool:
        """Whether there is another token now than the one that was shown and not accepted."""
        async with self._finding:
            if self._token != shown:
                return True  # another request found it meanwhile
            self._refused_at, self._found_at = self._clock(), None
            if await self._refresh_token(client):
                return True
            log.debug(
                "bridge %s: the token of %s is not accepted (401)", self._name, self._source
            )  # the caller reports it
            return False

    async def _refresh_token(self, client: Client) -> bool:
        """Look for a token again; return whether it is another one."""
        found = await self._found()
        if found is None or found == self._token:
            return False
        client.renew(found.text)
        self._token, self._refused_at = found, None
        log.info("bridge %s: continues with another token, of %s", self._name, self._source)
        return True

    async def _found(self) -> Token | None:
        """Return the bridge's token; None where it needs none. Raises NoTokenError where there is none."""
        needs, now = self._needs, self._clock()
        if not needs.token_variables and not needs.token_command:
            return None
        if self._found_at is not None and now - self._found_at < FOUND_AGAIN_AFTER:
            if self._missing is not None:
                raise NoTokenError(self._missing)
            return self._token
        self._found_at, self._missing = now, None
        try:
            return await asyncio.to_thread(token.find, needs.token_variables, needs.token_command, self._environ)
        except NoTokenError as error:
            self._missing = str(error)
            raise

    @property
    def _needs(self) -> HttpNeeds:
        assert isinstance(self._bridge, UsesHttp)  # noqa: S101 - looked at when this was made
        return self._bridge.http

    @property
    def _source(self) -> str:
        if self._token is None:
            return "nobody"
        return self._token.source


class _SavedLimits:
    """What is known of a server's limits, in its file; what cannot be read or written there is forgotten at the end."""

    def __init__(self, state: SafeDir | None, bridge: str) -> None:
        if state is None:
            self._file = None
        else:
            self._file = Document(state, paths.bridge_limits(bridge))

    def load(self) -> Json | None:
        """Return what was saved last; None for nothing."""
        try:
            return None if self._file is None else self._file.load().value
        except StorageError as error:
            log.warning("the saved rate limits of the servers could not be read: %s", error)
            return None

    def save(self, value: Mapping[str, Json]) -> None:
        """Write the file, whole."""
        if self._file is None:
            return
        try:
            self._file.save(value)
        except StorageError as error:
            log.warning("the rate limits of the servers could not be saved: %s", error)


def _speaks_http(bridge: LoadedBridge) -> bool:
    return isinstance(bridge.bridge, UsesHttp)
