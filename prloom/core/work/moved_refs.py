"""Say which refs of the remote moved while a worker ran: a push by the worker or by somebody else."""

from __future__ import annotations

from collections.abc import Mapping

from prloom.core.text.naming import printable

_SHORT = 10
_NAMED = 5


def remark(before: Mapping[str, str], after: Mapping[str, str], own: Mapping[str, str]) -> str | None:
    """Return a sentence about the refs that differ, or None where none does.

    All three give the commit of each ref. A ref that is where prloom itself has pushed it (`own`) is not named.
    """
    moved = sorted(
        ref
        for ref in before.keys() | after.keys()
        if before.get(ref) != after.get(ref) and own.get(ref, "") != after.get(ref)
    )
    if not moved:
        return None
    named = ", ".join(f"{printable(ref)} {_how(before.get(ref), after.get(ref))}" for ref in moved[:_NAMED])
    if len(moved) > _NAMED:
        named = f"{named} and {len(moved) - _NAMED} more"
    return f"refs of origin moved during the run, by the worker or by somebody else: {named}"


def _how(old: str | None, new: str | None) -> str:
    if new is None:
        return "was deleted"
    if old is None:
        return f"was created at {new[:_SHORT]}"
    return f"was moved from {old[:_SHORT]} to {new[:_SHORT]}"
