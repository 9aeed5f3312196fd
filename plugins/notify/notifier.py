"""Look for what needs a person, and send what is new, each thing once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import InitVar, dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from plugins.notify import messages, reported_file, waiting
from plugins.notify.messages import QuietHours
from plugins.notify.recipient import Recipient, Target
from plugins.notify.reported_file import ReportedByRecipient
from plugins.notify.waiting import Need, Reported

STATUS_LIMIT = 120
"""Seconds that `prloom status` may take, on a machine that is busy."""

SEND_LIMIT = 20.0
"""Seconds for which the next look waits for places that take long to answer."""


@dataclass(frozen=True)
class Rules:
    """When something is sent: seconds between two looks and for collecting, quiet hours, and which kinds."""

    interval: float = 60.0
    gather: float = 15.0
    quiet: QuietHours | None = None
    zone: tzinfo | None = None
    kinds: Collection[str] = ()


@dataclass
class Notifier:
    """What was reported, and what waits to be sent; `read` returns the document of `prloom status --json`.

    Sending to all places at the same time may take `send_limit` seconds; what takes longer goes on by itself.
    """

    repository: str
    rules: Rules
    read: Callable[[], Mapping[str, Any]]
    targets: InitVar[Sequence[Target]]
    kept: Path
    clock: Callable[[], float] = time.time
    send_limit: float = SEND_LIMIT
    recipients: Sequence[Recipient] = field(init=False)

    def __post_init__(self, targets: Sequence[Target]) -> None:
        """Begin with a place for each target."""
        self.recipients = [Recipient(each) for each in targets]

    @property
    def problem(self) -> str | None:
        """What is wrong with the places, if anything is."""
        return "; ".join(each.problem for each in self.recipients if each.problem is not None) or None

    def check(self) -> float:
        """Send what is new to each place, if it is time to; return after how many seconds to look again."""
        needs = waiting.read(self.read(), self.rules.kinds)
        now = self.clock()
        before = reported_file.read(self.kept, [each.target.key for each in self.recipients])
        by_recipient = {key: waiting.updated(needs, reported, now) for key, reported in before.items()}
        for recipient in self.recipients:
            by_recipient[recipient.target.key] |= _reported(recipient.arrived(now))
        if by_recipient != before:
            reported_file.write(self.kept, by_recipient)
        due, waits = {}, [self.rules.interval]
        for recipient in self.recipients:
            new = waiting.fresh(needs, by_recipient[recipient.target.key], now)
            wait = self._wait(recipient, new, now)
            if wait > 0:
                waits.append(wait)
            elif new and recipient.is_free:
                due[recipient.begin(messages.title(new, self.repository), messages.body(new), new)] = recipient
        return min(waits + self._sent(due, by_recipient))

    def _sent(self, due: Mapping[Future[bool], Recipient], by_recipient: ReportedByRecipient) -> list[float]:
        """Wait for what is sent, and keep at once what has arrived; return how long it is until each next try."""
        waits = []
        try:
            for ended in as_completed(due, timeout=self.send_limit):
                recipient, now = due[ended], self.clock()
                arrived = recipient.arrived(now)
                if arrived:
                    by_recipient[recipient.target.key] |= _reported(arrived)
                    reported_file.write(self.kept, by_recipient)
                elif recipient.retry_at > now:
                    waits.append(recipient.retry_at - now)
        except TimeoutError:
            for recipient in (each for ending, each in due.items() if not ending.done()):
                recipient.late(self.clock())
        return waits

    def _wait(self, recipient: Recipient, new: Sequence[Need], now: float) -> float:
        """Return for how many seconds nothing is to be sent to a place yet.

        It may be quiet, more may come that belongs to it, or an earlier message has not arrived.
        """
        if not new:
            recipient.collecting_since = None
            return 0
        if recipient.collecting_since is None:
            recipient.collecting_since = now
        rest = None
        if self.rules.quiet is not None:
            rest = self.rules.quiet.remaining(datetime.fromtimestamp(now, self.rules.zone))
        if rest is not None:
            return rest.total_seconds()
        return max(recipient.collecting_since + self.rules.gather, recipient.retry_at) - now


def _reported(sent: Sequence[Need]) -> dict[str, Reported]:
    return {name: Reported(began=need.began) for need in sent for name in need.names}


def status(root: str) -> Mapping[str, Any]:
    """Return what `prloom status --json` says of a repository; raises RuntimeError where it fails."""
    command = (sys.executable, "-P", "-m", "prloom", "-C", root, "status", "--json")
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=STATUS_LIMIT, check=False, stdin=subprocess.DEVNULL
    )
    if ended.returncode != 0:
        raise RuntimeError(f"prloom status failed: {ended.stderr.strip()[-500:]}")
    found: Mapping[str, Any] = json.loads(ended.stdout)
    return found
