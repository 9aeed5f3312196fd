"""A fake GitHub: stateful, checked against GitHub's own description, and as awkward as the real one."""

from __future__ import annotations

from .clock import Clock
from .contract import ContractBroken
from .faults import BAD_GATEWAY, GARBAGE, RESET, TIMEOUT, TRUNCATED, answer, flood, redirect
from .hub import Hub
from .limits import NONE, STRICT, Rules
from .server import Served, serve
from .things import CheckRun, FileDiff, Issue, IssueComment, Pull, Review, ReviewComment

__all__ = [
    "BAD_GATEWAY",
    "GARBAGE",
    "NONE",
    "RESET",
    "STRICT",
    "TIMEOUT",
    "TRUNCATED",
    "CheckRun",
    "Clock",
    "ContractBroken",
    "FileDiff",
    "Hub",
    "Issue",
    "IssueComment",
    "Pull",
    "Review",
    "ReviewComment",
    "Rules",
    "Served",
    "answer",
    "flood",
    "redirect",
    "serve",
]
