"""Find the token of a bridge: in the environment, or from the program that keeps it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import timedelta

LIMIT = timedelta(seconds=10)


def find(variables: tuple[str, ...], command: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    """Return the first token there is: of the variables in their order, else what the command prints; None for none."""
    for name in variables:
        if token := environ.get(name, "").strip():
            return token
    return _printed(command, environ) if command else None


def _printed(command: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    try:
        ended = subprocess.run(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT.total_seconds(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.strip() or None if ended.returncode == 0 else None
