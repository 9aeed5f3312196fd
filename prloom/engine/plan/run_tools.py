"""Describe what gives the runs of a dispatcher their tools."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from prloom.agents.agent import RunResult
from prloom.agents.mcp_server import Access
from prloom.config.models import Config


class RunTools(Protocol):
    """Gives the runs of a dispatcher their tools, and shows plugins when a run begins and ends."""

    def access(self) -> Access:
        """Return the access of a new run to the dispatcher."""

    def call_limit(self, config: Config) -> timedelta:
        """Return how long a call of a tool may take, with all that it waits for."""

    def session(
        self, folder: Path, agent: str, plan_id: str, *, found: bool
    ) -> AbstractAsyncContextManager[ResultReceiver]:
        """Note that a run goes on until the block ends, which says what the run came to."""


class ResultReceiver(Protocol):
    """Takes what a run came to."""

    def ended(self, result: RunResult) -> None:
        """Note the result of the run."""
