"""Capture what a plugin logs, and find in an error where in the plugin's own code it came from."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from prloom.extensions import loading
from prloom.extensions.jsonrpc import RpcError

_LOGS = "prloom.plugin."


class _CaptureHandler(logging.Handler):
    """Keeps each record, and passes on those that would have been logged without it."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__(logging.DEBUG)
        self._log = log
        self._usual = log.getEffectiveLevel()
        # What comes from a process names the plugin again.
        self._prefix = f"plugin {log.name.removeprefix(_LOGS)}: "
        self.lines: list[str] = []

    def emit(self, entry: logging.LogRecord) -> None:
        self.lines.append(f"{entry.levelname.lower()}: {entry.getMessage().removeprefix(self._prefix)}")
        if entry.levelno >= self._usual and self._log.parent is not None:
            self._log.parent.callHandlers(entry)


@contextmanager
def capture(key: str) -> Iterator[list[str]]:
    """Capture what the plugin of this key logs meanwhile, each record as `level: message`."""
    log = logging.getLogger(f"{_LOGS}{key}")
    handler, level, propagate = _CaptureHandler(log), log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield handler.lines
    finally:
        log.propagate = propagate
        log.setLevel(level)
        log.removeHandler(handler)


def frames(error: BaseException) -> tuple[str, ...]:
    """Return the last steps through the plugin's own code that led to an error, in whichever process they were."""
    step: BaseException | None = error
    while step is not None:
        if isinstance(step, RpcError) and step.data:
            return tuple(str(line) for line in step.data)
        if found := loading.plugin_frames(step):
            return found
        step = step.__cause__
    return ()
