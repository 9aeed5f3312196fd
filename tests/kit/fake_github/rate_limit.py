"""What remains of the limits, as a client can ask for it."""

from __future__ import annotations

from .call import Call
from .exchange import Json, Reply


def read(call: Call) -> Reply:
    """Tell what remains; asking costs nothing."""
    limits = call.world.limits
    login = call.viewer.login if call.viewer else ""
    found: Json = {name: limits.overview(login, name, call.now) for name in ("core", "graphql")}
    return Reply(200, {"resources": {**found, "search": found["core"]}, "rate": found["core"]})
