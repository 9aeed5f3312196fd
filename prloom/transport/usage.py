"""How many requests a client has sent, and how many of those its server counts against a limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class RequestUsage:
    """Requests since the start: all, those that count against the server's limit, and what is left of that."""

    total: int = 0
    charged: int = 0
    remaining: int | None = None
