"""End a run of an agent, and pause its plan, so that prloom does not begin the same run again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from prloom.agents import run_folder
from prloom.engine.operator import submission
from prloom.engine.operator.submission import Submission
from prloom.engine.runs import listing
from prloom.engine.views import snapshot
from prloom.errors import PrloomError
from prloom.exchange import connect
from prloom.exchange.errors import ExchangeError
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths

PATIENCE: Final = 10.0
"""Seconds that a running dispatcher has to pause the plan before the run is ended all the same."""

_LOOK: Final = 0.05  # seconds between two looks

Pause = Callable[[float], None]


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
    _wait_until_paused(where, plan_id, pause)
    try:
        with connect(exchange_url or where.local / paths.EXCHANGE) as exchange:
            exchange.cancel(folder.name, f"stopped with {by}")
    except ExchangeError as error:
        raise PrloomError(f"run {folder.name} cannot be stopped: {error}") from error
    return StoppedRun(folder.name, plan_id, submitted)


def _wait_until_paused(where: RepositoryPaths, plan_id: str, pause: Pause) -> None:
    for _ in range(round(PATIENCE / _LOOK)):
        bus = snapshot.open_bus(where, plan_id)
        if bus is None:
            return
        with bus:
            if snapshot.current_state(bus).paused:
                return
        pause(_LOOK)
