"""A fake GitHub: stateful, checked against GitHub's own description, and as awkward as the real one.

    hub = Hub(clock)                                        # the repository ada/engine; nothing here waits
    hub.person("ann", "write")
    pr = hub.pull("Make it run", by="ann")
    hub.comment(pr, "ann", "why?")
    hub.after_next(BAD_GATEWAY, on="POST */comments")       # done, but the client hears 502

    client = httpx.AsyncClient(transport=hub.transport(), base_url=hub.api_url)     # no socket
    async with serve(hub) as at: ...                        # or two ports of the loopback, for other processes

    hub.asked, hub.charged, hub.complaints                  # what was asked, what it cost, what was ill-mannered
    hub.verify()                                            # raises if anything was not as GitHub describes it

Where GitHub behaves in two ways, fields of `hub.world` choose (`World` tells them); limits are `Rules`.
"""

from __future__ import annotations

from fake_clock import Clock

from .contract import ContractBroken
from .faults import BAD_GATEWAY, GARBAGE, RESET, TIMEOUT, TRUNCATED, answer, blocked, flood, needs_sso, redirect
from .hub import Hub
from .limits import NONE, STRICT, Rules
from .server import serve
from .things import FileDiff, Issue, Pull, Review

__all__ = [
    "BAD_GATEWAY",
    "GARBAGE",
    "NONE",
    "RESET",
    "STRICT",
    "TIMEOUT",
    "TRUNCATED",
    "Clock",
    "ContractBroken",
    "FileDiff",
    "Hub",
    "Issue",
    "Pull",
    "Review",
    "Rules",
    "answer",
    "blocked",
    "flood",
    "needs_sso",
    "redirect",
    "serve",
]
