"""Spend the one request of each poll that is for what nothing points to: checks and conflicts have no list for all.

Where GitHub Actions is at work, every other one is for its runs. The rest goes to single pull requests, to the lively
ones often and to those that have long been quiet seldom.
"""

from __future__ import annotations

from prloom.api import BridgeContext

from .access import TokenAccess
from .check_runs import CheckPoller
from .mergeability import Mergeability
from .sansio import poll_schedule
from .sansio.cursor import GithubCursor
from .workflow_runs import WorkflowRuns

_RUNS_OFTEN, _RUNS_SELDOM = 2, 4
"""Each how many polls the runs of Actions are read: where there are any, and where none was ever seen."""


class PollTurns:
    """The turn of this poll."""

    def __init__(  # noqa: PLR0917 - it has all the others do something
        self,
        ctx: BridgeContext,
        known: GithubCursor,
        eyes: TokenAccess,
        runs: WorkflowRuns,
        checking: CheckPoller,
        merging: Mergeability,
    ) -> None:
        self._ctx = ctx
        self._known = known
        self._eyes = eyes
        self._runs = runs
        self._checking = checking
        self._merging = merging

    async def take(self, _: int) -> None:
        """Make the one request."""
        self._known.turn += 1
        if self._is_for_runs():
            await self._runs.read()
            return
        kinds = [kind for kind in poll_schedule.KINDS if self._eyes.see(kind)]
        chosen = poll_schedule.choose(self._known, kinds, self._ctx.now)
        if chosen is not None and chosen.kind == "merge":
            await self._merging.look(chosen.number)
        elif chosen is not None:
            await self._checking.look_at(chosen.number, chosen.kind)

    def _is_for_runs(self) -> bool:
        often = "actions" in self._known.used or not self._eyes.see("checks")
        return self._eyes.see("actions") and self._known.turn % (_RUNS_OFTEN if often else _RUNS_SELDOM) == 1
