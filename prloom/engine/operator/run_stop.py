"""End a run of an agent, and pause its plan, so that prloom does not begin the same run again."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Final, NamedTuple

from prloom.agents import run_folder
from prloom.engine.operator import dispatcher_wait, submission
from prloom.engine.operator.dispatcher_wait import Pause
from prloom.engine.operator.submission import Submission
from prloom.engine.runs import listing
from prloom.engine.views import snapshot
from prloom.errors import PrloomError
from prloom.exchange import connect
from prloom.exchange.errors import ExchangeError
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths

PATIENCE: Final = timedelta(seconds=10)
"""How long a running dispatcher may take to pause the plan before the run is ended all the same."""


class StoppedRun(NamedTuple):
    """A run that was to be stopped. `pause` is the request that pauses its plan; None where the run was over."""

    run: str
    plan: str
    pause: Submission | None


def stop(where: RepositoryPaths, run: str, *, exchange_url: str, by: str, pause: Pause = time.sleep) -> StoppedRun:
    """Pause the plan of a run, and then have the run cancelled; `by` says by what.

    A dispatcher that hears of the end of the run before the pause would begin the same run again.

    `exchange_url` is that of the configuration. Raises PrloomError where there is no such run, or it cannot be stopped.
    """
    folder, plan_id = listing.find(where, run)
    if run_folder.read_result(folder) is not None:
        return StoppedRun(folder.name, plan_id, None)
    submitted = submission.submit(where, "pause", [plan_id])
    dispatcher_wait.until(lambda: _is_paused(where, plan_id), PATIENCE, pause)
    try:
        with connect(exchange_url or where.local / paths.EXCHANGE) as exchange:
            exchange.cancel(folder.name, f"stopped with {by}")
    except ExchangeError as error:
        raise PrloomError(f"run {folder.name} cannot be stopped: {error}") from error
    return StoppedRun(folder.name, plan_id, submitted)


def _is_paused(where: RepositoryPaths, plan_id: str) -> bool:
    """Return whether a plan is paused; one that is gone has nothing to pause."""
    bus = snapshot.open_bus(where, plan_id)
    if bus is None:
        return True
    with bus:
        return snapshot.current_state(bus).paused
