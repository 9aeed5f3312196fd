"""Look for what needs a person, and send what is new, each thing once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from plugins.notify import messages, waiting
from plugins.notify.messages import QuietHours
from plugins.notify.waiting import Reported

Send = Callable[[str, str], bool]
"""Sends a title and a text to one place, and returns whether it got there."""

STATUS_LIMIT = 120
"""Seconds that `prloom status` may take, on a machine that is busy."""

_FIRST_WAIT = 60.0
_LONGEST_WAIT = 3600.0


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
    """What was reported, and what waits to be sent; `read` returns the document of `prloom status --json`."""

    repository: str
    rules: Rules
    read: Callable[[], Mapping[str, Any]]
    targets: Sequence[Send]
    kept: Path
    clock: Callable[[], float] = time.time
    _collecting_since: float | None = field(default=None, init=False)
    _failures: int = field(default=0, init=False)
    _reached: set[int] = field(default_factory=set, init=False)

    def check(self) -> float:
        """Send what is new, if it is time to; return after how many seconds to look again."""
        now = self.clock()
        needs = waiting.read(self.read(), self.rules.kinds)
        before = self.reported()
        reported = waiting.updated(needs, before, now)
        if reported != before:
            self._keep(reported)
        new = waiting.fresh(needs, reported, now)
        if not new:
            self._collecting_since, self._failures = None, 0
            self._reached.clear()
            return self.rules.interval
        wait = self._wait(now)
        if wait > 0:
            return min(wait, self.rules.interval)
        if not self._send(messages.title(new, self.repository), messages.body(new)):
            self._failures += 1
            return min(_FIRST_WAIT * 2.0 ** (self._failures - 1), _LONGEST_WAIT)
        self._collecting_since, self._failures = None, 0
        self._keep(reported | {name: Reported(began=need.began) for need in new for name in need.names})
        return self.rules.interval

    def reported(self) -> dict[str, Reported]:
        """Return what was reported; nothing where the file is missing or damaged: then it is reported again."""
        try:
            kept = json.loads(self.kept.read_text())
            began = kept.get("began", {})  # an earlier version kept none
            return {str(name): Reported(gone, began.get(name)) for name, gone in kept["reported"].items()}
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return {}

    def _wait(self, now: float) -> float:
        """Return for how many seconds nothing is to be sent yet: it is quiet, or more may come that belongs to it."""
        if self._collecting_since is None:
            self._collecting_since = now
        rest = None
        if self.rules.quiet is not None:
            rest = self.rules.quiet.remaining(datetime.fromtimestamp(now, self.rules.zone))
        if rest is not None:
            return rest.total_seconds()
        return self._collecting_since + self.rules.gather - now

    def _send(self, title: str, body: str) -> bool:
        """Send a message to each place that did not get one; return whether all of them have one."""
        for number, send in enumerate(self.targets):
            if number not in self._reached and send(title, body):
                self._reached.add(number)
        if len(self._reached) < len(self.targets):
            return False
        self._reached.clear()
        return True

    def _keep(self, reported: Mapping[str, Reported]) -> None:
        """Write down what was reported, whole or not at all."""
        for folder in (self.kept.parent.parent, self.kept.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self.kept.with_name(f".{self.kept.name}.new")
        new.unlink(missing_ok=True)  # as an earlier version may have left it: open to others
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            began = {name: each.began for name, each in reported.items() if each.began is not None}
            json.dump({"reported": {name: each.gone for name, each in reported.items()}, "began": began}, file)
        new.replace(self.kept)


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


def kept_in(root: str) -> Path:
    """Return the file in which is kept what was reported."""
    plugin = os.environ.get("PRLOOM_PLUGIN", "notify").replace("/", "__")
    return Path(root, "prloom", ".local", "plugins", plugin, "reported.json")
