"""End a run of an agent, and pause its plan, so that prloom does not begin the same run again."""

from __future__ import annotations

from typing import NamedTuple

from prloom.agents import run_folder
from prloom.engine.operator import submission
from prloom.engine.operator.submission import Submission
from prloom.engine.runs import listing
from prloom.errors import PrloomError
from prloom.exchange import connect
from prloom.exchange.errors import ExchangeError
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths


class StoppedRun(NamedTuple):
    """A run that was to be stopped. `pause` is the request that pauses its plan; None where the run was over."""

    run: str
    plan: str
    pause: Submission | None


def stop(where: RepositoryPaths, run: str, *, exchange_url: str, by: str) -> StoppedRun:
    """Pause the plan of a run, and have the run cancelled; `by` says by what.

    `exchange_url` is that of the configuration. Raises PrloomError where there is no such run, or it cannot be stopped.
    """
    folder, plan_id = listing.find(where, run)
    if run_folder.read_result(folder) is not None:
        return StoppedRun(folder.name, plan_id, None)
    pause = submission.submit(where, "pause", [plan_id])
    try:
        with connect(exchange_url or where.local / paths.EXCHANGE) as exchange:
            exchange.cancel(folder.name, f"stopped with {by}")
    except ExchangeError as error:
        raise PrloomError(f"run {folder.name} cannot be stopped: {error}") from error
    return StoppedRun(folder.name, plan_id, pause)
