"""Keep within the system's limit of open files, which is for all plans together."""

from __future__ import annotations

import resource
from contextlib import suppress

MANY = 16_384
"""Open files that a dispatcher asks the system for, as far as it may: a plan has a handful of folders open."""
_RESERVE = 64
"""Descriptors that are left for the work on the plans that are open: journals, hooks, agents, connections."""


def allow_many() -> None:
    """Raise this process's own limit, as far as it may without asking anybody."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        wanted = MANY
    else:
        wanted = min(hard, MANY)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def scarce(fd: int) -> bool:
    """Whether a descriptor that was just given out says that few are left: the system gives out the lowest number."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft != resource.RLIM_INFINITY and fd >= soft - min(_RESERVE, soft // 2)
