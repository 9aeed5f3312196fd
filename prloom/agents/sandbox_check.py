"""Find out whether bubblewrap works on this machine; it needs user namespaces, which a system may refuse."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from prloom import programs
from prloom.agents import sandbox
from prloom.agents.sandbox import Sandbox
from prloom.core.text.naming import printable

_LIMIT = 10.0  # seconds
_TO_INSTALL = "install it: on Debian, `apt-get install bubblewrap`"


def problem(environ: Mapping[str, str]) -> str | None:
    """Return why runs cannot have a sandbox here, and what to do about it; None where they can."""
    found = programs.locate(sandbox.PROGRAM, environ)
    if found is None:
        return f"bubblewrap (`{sandbox.PROGRAM}`) is not on PATH; {_TO_INSTALL}"
    reason = _problem(found)
    if reason is None:
        return None
    return f"bubblewrap does not work here: {reason}; allow unprivileged user namespaces, or run prloom where they are"


@cache
def _problem(bwrap: str) -> str | None:
    """Return why bubblewrap does not start a program; asked once in the life of this process."""
    command = sandbox.argv(Sandbox(), bwrap, ("/bin/true",), cwd=Path("/"))
    try:
        ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return printable(str(error), 200)
    if ended.returncode == 0:
        return None
    lines = ended.stderr.strip().splitlines() or [f"exit {ended.returncode}"]
    return printable(lines[-1], 200)
