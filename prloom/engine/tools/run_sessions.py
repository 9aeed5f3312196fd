"""Know the runs that go on, by the tokens of their MCP servers, and who may use a token."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from prloom import processes
from prloom.agents import environment, mcp_server, run_ancestry, run_folder
from prloom.agents.mcp_server import Access
from prloom.agents.run_folder import ProcessWatch
from prloom.engine.host_socket import server
from prloom.engine.host_socket.peer_process import PeerProcess
from prloom.engine.host_socket.server import ClientSession
from prloom.extensions.jsonrpc import RpcError
from prloom.model.record import Json


@dataclass(eq=False)
class RunSession:
    """A run that goes on. `calls` are the tasks of its tools' calls, which end with it; `over` is set then.

    `unhide` ends the hiding of its token in the activity.
    """

    run_id: str
    plan_id: str
    stage: str
    agent: str
    folder: Path
    digest: bytes
    unhide: Callable[[], None]
    over: bool = False
    calls: set[asyncio.Task[object]] = field(default_factory=set)


OpenClient = Callable[[RunSession], ClientSession]
"""Returns what a connection of a run may ask."""

Hide = Callable[[str, str], Callable[[], None]]
"""Takes a secret, which the first text names, out of the activity until the function that it returns is called."""

Belongs = Callable[[RunSession, PeerProcess], bool]
"""Whether a process belongs to a run."""


class RunSessions:
    """The runs that go on and have a server; the authority of the dispatcher's socket for their tokens.

    Tokens are made when a run is prepared, and are kept in its folder only: a dispatcher that finds a run of an earlier
    one reads its token there. `belongs` decides whether a process may use a run's token.
    """

    def __init__(self, socket: Path, open_client: OpenClient, hide: Hide, belongs: Belongs | None = None) -> None:
        self._socket = socket
        self._open_client = open_client
        self._hide = hide
        self._belongs = belongs or is_of_run
        self._by_run: dict[str, RunSession] = {}

    @property
    def plans(self) -> tuple[str, ...]:
        """The plans of the runs that go on, one for each run."""
        return tuple(each.plan_id for each in self._by_run.values())

    def access(self) -> Access:
        """Return the access of a new run."""
        return Access(socket=str(self._socket), token=secrets.token_urlsafe(32))

    def begin(self, folder: Path, *, plan_id: str, stage: str, agent: str) -> RunSession | None:
        """Note that a run goes on; None where it has no server."""
        found = mcp_server.access(run_folder.read(folder, mcp_server.CONFIG))
        if found is None:
            return None
        unhide = self._hide(f"the token of run {folder.name}", found.token)
        made = RunSession(folder.name, plan_id, stage, agent, folder, _digest(found.token), unhide)
        self._by_run[folder.name] = made
        return made

    def end(self, session: RunSession) -> None:
        """Note that a run is over: its calls end, and its token is not valid any more."""
        session.over = True
        self._by_run.pop(session.run_id, None)
        for task in tuple(session.calls):
            task.cancel()
        session.unhide()

    def running(self, run_id: str) -> RunSession | None:
        """Return a run that goes on."""
        return self._by_run.get(run_id)

    async def admit(self, params: Json, peer: PeerProcess) -> ClientSession | None:
        """Return the session of a client that names a run and has its token; see `server.Authority`."""
        run_id, token = params.get("run"), params.get("token")
        if not isinstance(run_id, str) or not isinstance(token, str):
            return None
        session = self._by_run.get(run_id)
        if session is None:
            raise RpcError(f"run {run_id[:100]} is over, or is no run of this dispatcher", server.DENIED)
        if not hmac.compare_digest(session.digest, _digest(token)):
            raise RpcError(f"the token is not that of run {run_id}", server.DENIED)
        if not await asyncio.to_thread(self._belongs, session, peer):
            raise RpcError(f"process {peer.pid} does not belong to run {run_id}", server.DENIED)
        return self._open_client(session)


def is_of_run(session: RunSession, peer: PeerProcess) -> bool:
    """Whether a process was started by the program of a run, and of no other.

    It must descend from the process that supervises the run, and the outermost process below that must be the run's
    program: a run that has come upon another's token, and names that run in its environment, is found out. Where the
    system does not tell who has connected, the token alone counts.
    """
    if peer.pid is None:
        return True
    watch = run_folder.load(session.folder, run_folder.SUPERVISOR, ProcessWatch)
    if watch is None or processes.identity(watch.supervisor.pid) != watch.supervisor:
        return False
    line = run_ancestry.line(peer.pid)
    pids = [each.pid for each in line]
    if watch.supervisor.pid not in pids[1:]:
        return False
    below = line[: pids.index(watch.supervisor.pid)]
    return run_ancestry.variable(below[-1], environment.RUN_VARIABLE) == session.run_id


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
