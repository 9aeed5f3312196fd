"""Notice in a running program's output that the model's server keeps to a limit, and when that has to end the run."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Protocol

from prloom.agents.agent import LimitReport

_LONGEST_LINE: Final = 1 << 18
_NEVER: Final = float("inf")


class ReadLine(Protocol):
    """Reads one line of a program's output, as `Agent.refusal` does."""

    def __call__(self, line: str, *, stderr: bool, at: datetime) -> LimitReport | None:
        """Return the limit that the line tells of."""


class LimitDetector:
    """What a run was refused: `standing` is the limit that it has met and not got over, `due` when that ends the run.

    A used-up allowance ends it at once. After a rate limit, or where the allowance is there again soon, the program has
    `patience` seconds to go on: any line on stdout that tells of no limit shows that it does. `due` is on the clock of
    the `now` that `hear` was given.
    """

    def __init__(self, read: ReadLine, *, patience: float) -> None:
        self.standing: LimitReport | None = None
        self.due = _NEVER
        self._read = read
        self._patience = patience
        self._begun = {False: b"", True: b""}

    def hear(self, chunk: bytes, *, stderr: bool, now: float, at: datetime) -> None:
        """Take in a piece of output that came `now`, `at` a time; what follows the last line end is kept for later."""
        *lines, rest = (self._begun[stderr] + chunk).split(b"\n")
        self._begun[stderr] = rest[:_LONGEST_LINE]  # the rest of a longer line is cut: no refusal is that long
        for line in lines:
            self._hear_line(line.decode("utf-8", "replace"), stderr=stderr, now=now, at=at)

    def _hear_line(self, line: str, *, stderr: bool, now: float, at: datetime) -> None:
        found = self._read(line, stderr=stderr, at=at)
        if found is None:
            if not stderr and line.strip():
                self.standing, self.due = None, _NEVER
            return
        self.standing = found
        soon = found.retry_at is not None and found.retry_at <= at + timedelta(seconds=self._patience)
        if found.trouble == "usage_limit" and not soon:
            self.due = now
        elif self.due == _NEVER:
            self.due = now + self._patience
