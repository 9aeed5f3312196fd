"""The start of the `prloom` command, also as `python -m prloom`: Ctrl-C is answered from the first import on."""

import gc
import os
import signal
import sys

_OBJECTS = 50_000
"""New objects after which Python looks for garbage. By its own 700, that is a twentieth of a short command's time."""


def main() -> None:
    """Run the command line of this process and exit."""
    sys.unraisablehook = _unraisable
    gc.set_threshold(_OBJECTS)
    try:
        from prloom.cli.main import main as run  # noqa: PLC0415 - what takes longest, and may be interrupted
    except KeyboardInterrupt:
        _end()
    run()


def _unraisable(failure: "sys.UnraisableHookArgs") -> None:
    """End where Python would lose an interruption: it cannot raise one in the callbacks that each import has."""
    if failure.exc_type is KeyboardInterrupt:
        _end()
    sys.__unraisablehook__(failure)


def _end() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(2, b"prloom: stopped by Ctrl-C; nothing more was done\n")
    os._exit(130)


if __name__ == "__main__":
    main()
