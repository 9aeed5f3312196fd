"""Decide which processes may use a run's token at the dispatcher's socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from prloom import processes
from prloom.agents import run_ancestry, run_folder
from prloom.agents.run_folder import ProcessWatch
from prloom.engine.host_socket import server
from prloom.engine.host_socket.peer_process import PeerProcess
from prloom.engine.host_socket.server import ClientSession
from prloom.engine.tools.run_sessions import RunSession, RunSessions
from prloom.extensions.jsonrpc import RpcError
from prloom.model.record import Json

OpenClient = Callable[[RunSession], ClientSession]
"""Returns what a connection of a run may ask."""

Belongs = Callable[[RunSession, PeerProcess], bool]
"""Whether a process belongs to a run."""


@dataclass(frozen=True)
class RunAuthority:
    """Admits the MCP servers of the runs that go on; `belongs` is `is_of_run` unless another is given."""

    sessions: RunSessions
    open_client: OpenClient
    belongs: Belongs | None = None

    async def admit(self, params: Json, peer: PeerProcess) -> ClientSession | None:
        """Return the session of a client that names a run and has its token; see `server.Authority`."""
        run_id, token = params.get("run"), params.get("token")
        if not isinstance(run_id, str) or not isinstance(token, str):
            return None
        session = self.sessions.running(run_id)
        if session is None:
            raise RpcError(f"run {run_id[:100]} has ended, or is not a run of this dispatcher", server.DENIED)
        if not session.has_token(token):
            raise RpcError(f"the token is not that of run {run_id}", server.DENIED)
        if not await asyncio.to_thread(self.belongs or is_of_run, session, peer):
            raise RpcError(f"process {peer.pid} does not belong to run {run_id}", server.DENIED)
        return self.open_client(session)


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
    return processes.variable(below[-1], run_ancestry.RUN_VARIABLE) == session.run_id
