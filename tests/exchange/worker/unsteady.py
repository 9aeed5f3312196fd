"""A worker on a store that fails now and then: `python unsteady.py DATABASE FAILURE… -- COMMAND…`.

A failure is `claim:busy` (the second claim is refused), `settle:busy` (the first settling is), or `settle:unknown`
(it is done, and its answer lost).
"""

from __future__ import annotations

import sys
from typing import Any

from prloom.cli.exchange import run
from prloom.exchange.claim import ClaimRequest, ClaimTaken, Settled, Settlement
from prloom.exchange.errors import OutcomeUnknownError, StoreBusyError
from prloom.exchange.exchange import Exchange
from prloom.exchange.sqlite.store import SqliteStore
from prloom.exchange.worker.command_job import CommandJobs
from prloom.exchange.worker.config import WorkerConfig
from prloom.exchange.worker.pool import WorkerPool


class Unsteady(SqliteStore):
    """A store that fails once in each way."""

    def __init__(self, path: str, failures: list[str]) -> None:
        super().__init__(path)
        self.failures = failures
        self.claims = 0

    def _now(self, failure: str) -> bool:
        due = failure in self.failures
        if due:
            self.failures.remove(failure)
        return due

    def claim(self, request: ClaimRequest) -> ClaimTaken | None:
        self.claims += 1
        if self.claims > 1 and self._now("claim:busy"):
            raise StoreBusyError("jobs.db: somebody else writes; try again")
        return super().claim(request)

    def settle(self, claim_id: str, settlement: Settlement) -> Settled:
        if self._now("settle:busy"):
            raise StoreBusyError("jobs.db: somebody else writes; try again")
        settled = super().settle(claim_id, settlement)
        if self._now("settle:unknown"):
            raise OutcomeUnknownError("jobs.db: lost in commit; do the same again")
        return settled


def main(path: str, *args: str) -> Any:
    """Work until stopped."""
    failures, command = list(args[: args.index("--")]), args[args.index("--") + 1 :]
    config = WorkerConfig(topics=("jobs",), command=command)
    WorkerPool(
        config, CommandJobs(config), lambda: Exchange(Unsteady(path, failures)), name=path, report=run.show
    ).work()


if __name__ == "__main__":
    main(*sys.argv[1:])
