"""Start a daemon's program below a process that ends all of it when the dispatcher ends.

`python -m prloom.extensions.background.launcher FD PROGRAM ARGUMENT…`: the descriptor gets a line with the daemon's
process id before the program is started.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from prloom.extensions import reaper

FAILED = 127
"""The exit status where the program could not be started, as a shell has it."""


def main(argv: list[str]) -> NoReturn:
    """Become the daemon's program, in a session of its own."""
    reaper.split()
    report = int(argv[1])
    os.write(report, f"{os.getpid()}\n".encode())
    os.close(report)
    try:
        os.execv(argv[2], argv[2:])  # noqa: S606 - the operator enabled this program; no shell is involved
    except OSError as error:
        sys.stderr.write(f"{argv[2]} cannot be started: {error.strerror}\n")
        sys.stderr.flush()
    os._exit(FAILED)


if __name__ == "__main__":
    main(sys.argv)
