"""Do the agent runs of a dispatcher, in worker processes: `python -m prloom.engine.runs.pool WORKERS [here]`.

The exchange is that of PRLOOM_EXCHANGE. The dispatcher holds the other end of this program's stdin. When that is
closed, the dispatcher has stopped or was killed: the workers finish the runs that they have, claim no more, and end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from prloom.agents import run_message
from prloom.agents.run_job import LocalRuns
from prloom.core.text.naming import printable
from prloom.engine.runs.pool_process import ONLY_HERE
from prloom.exchange import connect, store_url
from prloom.exchange.worker.config import ClaimConfig
from prloom.exchange.worker.pool import WorkerPool
from prloom.exchange.worker.worker import WorkerError, WorkerEvent
from prloom.model import record
from prloom.model.kinds import CHECK, STAGES

LEASE: Final = timedelta(seconds=60)

HERE: Final = (run_message.topic(CHECK), *(run_message.topic_here(stage) for stage in STAGES))
"""The topics of what only this machine can do: checks, and runs in a worktree that no commit describes."""

TOPICS: Final = (*(run_message.topic(stage) for stage in STAGES), *HERE)
"""The topics of all runs."""


def work(
    exchange: str, workers: int, environ: Mapping[str, str], *, leash: int, topics: tuple[str, ...] = TOPICS
) -> None:
    """Do runs with so many workers until the pipe `leash` is closed at its other end, or until asked to stop twice."""
    config = ClaimConfig(topics=topics, group="prloom", lease=LEASE)
    jobs = LocalRuns(environ)
    pool = WorkerPool(config, jobs, partial(connect, exchange), name=exchange, report=_report)
    pool.work_with(workers, leash=leash)


def _report(event: WorkerEvent) -> None:
    sys.stderr.write(f"{line(event, datetime.now(UTC))}\n")
    sys.stderr.flush()


def line(event: WorkerEvent, now: datetime) -> str:
    """Return an event as a line of `pool.log`."""
    at = record.iso(now)
    if isinstance(event, WorkerError):
        return f"{at} error: {printable(event.error)}; tried again in {event.pause:g} s"
    details = ""
    if event.outcome != "began":
        details = f" after {event.seconds:.1f} s"
    if event.pause is not None:
        details += f"; tried again in {event.pause:g} s"
    if event.reply is not None:
        details += f"; reply on {event.reply}"
    if event.why:
        details += f": {printable(event.why)}"
    return f"{at} {event.topic} {event.message_id} attempt {event.attempt}: {event.outcome.replace('_', ' ')}{details}"


def main(argv: list[str]) -> int:
    """Work for the dispatcher that has started this program."""
    leash = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    environ = dict(os.environ)
    topics = TOPICS
    if ONLY_HERE in argv[2:]:
        topics = HERE
    work(environ.pop(store_url.VARIABLE), int(argv[1]), environ, leash=leash, topics=topics)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
