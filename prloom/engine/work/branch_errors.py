"""The errors of a plan's branch, for which the work does more than wait."""

from __future__ import annotations

from prloom.errors import WorkspaceError


class BranchBlockedError(WorkspaceError):
    """A branch that a person has to put right before prloom goes on; the text says what to do."""


class PushRefusedError(WorkspaceError):
    """The remote does not take a push, and will not as long as nobody changes its rules or our rights."""
