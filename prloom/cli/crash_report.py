"""Tell about a failure that nobody foresaw: that it is prloom's, where it happened, and where the traceback is."""

from __future__ import annotations

import os
from pathlib import Path

import prloom
from prloom.cli.output import log_output, terminal
from prloom.errors import leaves

VARIABLE = "PRLOOM_TRACEBACK"

PACKAGE = Path(prloom.__file__).parent


def report(error: BaseException, *, on_screen: bool, as_json: bool) -> int:
    """Say on stderr that this is a bug, keep its traceback or show it, and return the exit code."""
    import traceback  # noqa: PLC0415 - only a bug needs it

    text = "".join(traceback.format_exception(error))
    if on_screen or os.environ.get(VARIABLE, "0") not in {"", "0"}:
        log_output.print_block(text, as_json=as_json)
        remedy = "please report it with the traceback above"
    else:
        remedy = f"please report it with the traceback in {_keep(text)} ({VARIABLE}=1 shows it here)"
    cause = next(leaves(error), error)
    what = terminal.clean(f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__)
    origin = _origin(cause)
    log_output.print_failure(
        f"this is a bug in prloom, not a mistake of yours: {what} ({origin}); {remedy}", as_json=as_json
    )
    return 1


def _origin(error: BaseException) -> str:
    """Return where the error came from: the innermost line that is prloom's."""
    import traceback  # noqa: PLC0415

    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(f"{PACKAGE}{os.sep}")] or frames
    if not ours:
        return "unknown place"
    file = ours[-1].filename.removeprefix(f"{PACKAGE.parent}{os.sep}")
    return f"{file}:{ours[-1].lineno}"


def _keep(text: str) -> str:
    """Write the traceback to a file of its own that only this user can read; return its path."""
    import tempfile  # noqa: PLC0415

    try:
        handle, path = tempfile.mkstemp(prefix="prloom-bug-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        return f"no file, because none could be written ({error.strerror})"
    return path
