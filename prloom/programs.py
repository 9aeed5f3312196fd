"""Find a program on PATH, and never in the folder in which prloom or what it starts happens to run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from shutil import which


def absolute_path(environ: Mapping[str, str]) -> str:
    """Return the PATH of an environment without its relative entries.

    A relative entry would be looked up in the current folder: in a worktree, a branch may have put a program there.
    """
    entries = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(each for each in entries if each.startswith("/"))


def locate(program: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of an executable in an absolute folder of PATH, or the path given; None where there is none."""
    folders = absolute_path(environ)
    if folders or "/" in program:
        return which(program, path=folders)
    return None
