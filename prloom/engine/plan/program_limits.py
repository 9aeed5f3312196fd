"""Keep the usage limits that agent programs have met, also over a restart: the log of runs tells of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from prloom.agents.agent import RunResult
from prloom.core.waits import usage_limit
from prloom.core.waits.usage_limit import UsageLimit
from prloom.storage import run_log

REMEMBERED = timedelta(days=7)
"""How far back the log is read at first: the longest limits of the known programs are weekly."""


class ProgramLimits:
    """The usage limits of agent programs in one repository. A limit is a program's: all of its runs wait for it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._limits: dict[str, UsageLimit] | None = None

    def of(self, program: str, now: datetime) -> UsageLimit | None:
        """Return the limit that the latest run of a program has met, if it is not over."""
        found = self._met(now).get(program)
        if found is None or not usage_limit.applies(found, (), now):
            return None
        return found

    def note(self, program: str, run_id: str, result: RunResult, now: datetime) -> None:
        """Note the limit that a run has met; a run that went well shows that there is none any more."""
        limits = self._met(now)
        if result.status == "limited":
            limits[program] = usage_limit.met(
                usage_limit.reason_of(program, result.error, run_id), result.retry_at, now
            )
        elif result.status == "ok":
            limits.pop(program, None)

    def _met(self, now: datetime) -> dict[str, UsageLimit]:
        if self._limits is None:
            self._limits = usage_limit.of_latest(run_log.since(self._root, now - REMEMBERED))
        return self._limits
