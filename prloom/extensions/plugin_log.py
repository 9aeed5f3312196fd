"""Turn what a plugin's process prints and logs into records of the dispatcher's log, bounded and made printable."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

from prloom.api import context
from prloom.core.text import naming

LONGEST_LINE = 2000
"""Characters of a line that are kept."""
MOST_LINES = 200
"""Lines a second that are logged; further ones are counted, and reported in one line."""


class PluginLog:
    """The log of one plugin, under the logger `prloom.plugin.<key>`."""

    def __init__(self, key: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._key = key
        self._log = context.plugin_logger(key)
        self._clock = clock
        self._second = clock()
        self._lines = 0
        self._dropped = 0

    @property
    def level(self) -> int:
        """The least level that is of interest."""
        return self._log.getEffectiveLevel()

    def printed(self, line: str) -> None:
        """Log a line that the plugin printed."""
        self._say(logging.INFO, line)

    def recorded(self, level: object, text: object) -> None:
        """Log a record that the plugin logged; both come from its process, so they may be anything."""
        if isinstance(level, int):
            known = level
        else:
            known = logging.INFO
        for line in str(text).splitlines()[:MOST_LINES]:
            self._say(min(max(known, logging.DEBUG), logging.CRITICAL), line)

    def settle(self) -> None:
        """Say how many lines were left out."""
        if self._dropped:
            self._log.warning("plugin %s: %d more lines were left out: too many at once", self._key, self._dropped)
        self._dropped = 0

    def _say(self, level: int, line: str) -> None:
        now = self._clock()
        if now - self._second >= 1:
            self.settle()
            self._second, self._lines = now, 0
        self._lines += 1
        if self._lines > MOST_LINES:
            self._dropped += 1
        else:
            self._log.log(level, "plugin %s: %s", self._key, naming.printable(line, LONGEST_LINE))


class LineCutter:
    """Cut a stream of bytes into lines of text; of a line without an end, only so much is kept."""

    def __init__(self) -> None:
        self._rest = b""
        self._cut = False  # the rest of the current line is to be left out

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the lines that end in this chunk."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if not self._cut:
                yield _text(line)
            self._cut = False
        if self._cut:
            self._rest = b""
        else:
            self._rest = rest
        if len(self._rest) > LONGEST_LINE:
            yield _text(self._rest)
            self._rest, self._cut = b"", True

    def last(self) -> Iterator[str]:
        """Yield what is after the last newline, if anything is."""
        if self._rest:
            yield _text(self._rest)
        self._rest = b""


def _text(line: bytes) -> str:
    return line[: 4 * LONGEST_LINE].decode("utf-8", "replace").rstrip("\r")
