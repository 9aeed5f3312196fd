"""Say on a pull request what its readers can do: they have no shell on the operator's machine."""

from __future__ import annotations

import re

WAY_ON = "To go on, write `/prloom resume` in a comment, or tick the box for it in the description."

_CLAUSE = re.compile(r"; |, or |(?<=[.!?]) ")
_SHELL = re.compile(r"`(?:prloom|git) ")


def without_commands(reason: str) -> str:
    """Return a reason without the parts of its sentences that name a command of the operator's shell."""
    if not _SHELL.search(reason):
        return reason
    kept, position = "", 0
    for end in (*_CLAUSE.finditer(reason), None):
        stop = len(reason) if end is None else end.start()
        if not _SHELL.search(reason[position:stop]):
            joint = _joint(reason, position)
            kept += f"{joint if kept else ''}{reason[position:stop]}"
        position = stop if end is None else end.end()
    return kept or "the operator of prloom has to see to it"


def _joint(reason: str, position: int) -> str:
    """Return what stands before a clause: a new sentence, or the same one."""
    if reason[position - 2 : position - 1] in {".", "!", "?"}:
        return " "
    return "; "
