"""Hear what a plugin logs, and find in an error where in the plugin's own code it came from."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from prloom.extensions import faults
from prloom.extensions.rpc import RpcError


class _Ear(logging.Handler):
    """Keeps what is said; what comes from a process names the plugin again, which is left out."""

    def __init__(self, key: str) -> None:
        super().__init__(logging.DEBUG)
        self._prefix = f"plugin {key}: "
        self.heard: list[str] = []

    def emit(self, entry: logging.LogRecord) -> None:
        self.heard.append(f"{entry.levelname.lower()}: {entry.getMessage().removeprefix(self._prefix)}")


@contextmanager
def to(key: str) -> Iterator[list[str]]:
    """Hear what the plugin of this key logs meanwhile, each record as `level: message`."""
    log = logging.getLogger(f"prloom.plugin.{key}")
    ear, level = _Ear(key), log.level
    log.addHandler(ear)
    log.setLevel(logging.DEBUG)
    try:
        yield ear.heard
    finally:
        log.setLevel(level)
        log.removeHandler(ear)


def frames(error: BaseException) -> tuple[str, ...]:
    """Return the last steps through the plugin's own code that led to an error, in whichever process they were."""
    step: BaseException | None = error
    while step is not None:
        if isinstance(step, RpcError) and step.data:
            return tuple(str(line) for line in step.data)
        if found := faults.frames(step):
            return found
        step = step.__cause__
    return ()
