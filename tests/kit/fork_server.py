"""Fork the processes of tests from one that has imported prloom, which starts with the first of them.

multiprocessing starts that one with the path of a plain interpreter, without this folder, and leaves out silently what
it cannot import there: only installed modules can be named.
"""

from __future__ import annotations

import multiprocessing
import sys
from multiprocessing.connection import Connection
from typing import Final

IMPORTED: Final = (
    "prloom.engine.runs.pool",
    "prloom.exchange.sqlite.store",
    "prloom.config.loading",
    "prloom.engine.machine.machine",
    "prloom.engine.machine.workers",
)
"""What the forked processes need; an import in each of them would cost more than all else that it does."""

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(list(IMPORTED))


def tell_imported(to: Connection) -> None:
    """Send what this process has imported."""
    to.send(sorted(sys.modules))
    to.close()
