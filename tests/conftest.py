from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

OURS = ("prloom", "prloom_plugins")


def pytest_configure() -> None:
    """Let Ctrl-C end the programs that tests start, also where a shell has begun the tests in the background.

    And let no property fail because the machine is busy.
    """
    settings.register_profile("prloom", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("prloom")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _log_of_its_own() -> Iterator[None]:
    """Begin and end with the log as it is: a command that ran in this process has said for good what is logged."""
    root = logging.getLogger()
    for name in OURS:
        logging.getLogger(name).setLevel(logging.NOTSET)
    handlers = [each for each in root.handlers if each.name != "prloom-stderr"]
    root.handlers[:] = handlers
    yield
    root.handlers[:] = handlers
    for name in OURS:
        logging.getLogger(name).setLevel(logging.NOTSET)
