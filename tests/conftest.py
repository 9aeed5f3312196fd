from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest

OURS = ("prloom", "prloom_plugins")


def pytest_configure() -> None:
    """Let Ctrl-C end the programs that tests start, also where a shell has begun the tests in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """Leave the log as it was: a command that ran in this process has said for good what is logged, and where."""
    root = logging.getLogger()
    handlers, levels = list(root.handlers), {name: logging.getLogger(name).level for name in OURS}
    yield
    root.handlers[:] = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
