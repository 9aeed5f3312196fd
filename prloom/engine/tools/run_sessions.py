"""Know the runs that go on and have an MCP server, with the tokens of their servers."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from prloom.agents import mcp_server, run_folder, run_status, tool_wait
from prloom.agents.mcp_server import Access
from prloom.agents.run_status import RunInProgress
from prloom.core.activity.activity_run import RUN_ENDED
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths


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
    _waiting: int | None = None

    def has_token(self, token: str) -> bool:
        """Whether a token is that of this run."""
        return hmac.compare_digest(self.digest, _digest(token))

    @contextmanager
    def calling(self, task: asyncio.Task[object]) -> Iterator[None]:
        """Know the task of a call, for which the run waits, until the block ends."""
        if not self.calls:
            self._waiting = tool_wait.begin(self.folder)
        self.calls.add(task)
        try:
            yield
        finally:
            self.calls.discard(task)
            if not self.calls and self._waiting is not None:
                tool_wait.end(self._waiting)
                self._waiting = None


Hide = Callable[[str, str], Callable[[], None]]
"""Takes a secret, which the first text names, out of the activity until the function that it returns is called."""


class RunSessions:
    """The runs that go on and have a server.

    Tokens are made when a run is prepared, and are kept in its folder only: a dispatcher that finds a run of an earlier
    one reads its token there.
    """

    def __init__(self, socket: Path, hide: Hide) -> None:
        self._socket = socket
        self._hide = hide
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
            task.cancel(RUN_ENDED)
        session.unhide()

    def goes_on(self, where: RepositoryPaths, plan_id: str, run_id: str) -> bool:
        """Whether a run of a plan goes on, also one of an earlier dispatcher that was not found yet."""
        if run_id in self._by_run:
            return True
        folder = where.worktree(plan_id).joinpath(*paths.LOCAL, paths.RUNS, run_id)
        return isinstance(run_status.inspect(folder), RunInProgress)

    def running(self, run_id: str) -> RunSession | None:
        """Return a run that goes on."""
        return self._by_run.get(run_id)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
