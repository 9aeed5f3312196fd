"""Build the errors that requests of plugins are answered with."""

from __future__ import annotations

from typing import Final

from prloom.engine.host_socket import server
from prloom.engine.plugin_requests.request_log import LIMITED
from prloom.extensions import jsonrpc
from prloom.extensions.jsonrpc import RpcError

UNKNOWN_PLAN: Final = -32004
"""The code of an error that says that there is no such plan."""

SOON_MS: Final = 500
"""When to try again what the dispatcher was not ready for."""


def invalid(method: str, problem: str) -> RpcError:
    """Return the error for params that cannot be accepted."""
    return RpcError(f"{method}: {problem}", jsonrpc.INVALID_PARAMS)


def denied(problem: str) -> RpcError:
    """Return the error for what the operator does not permit."""
    return RpcError(problem, server.DENIED)


def limited(problem: str, retry_after_ms: int) -> RpcError:
    """Return the error for a request that comes too soon."""
    return RpcError(f"{problem}; try again in {retry_after_ms} ms", LIMITED, {"retry_after_ms": retry_after_ms})


def not_ready(problem: str) -> RpcError:
    """Return the error for a request that the dispatcher is not ready for."""
    return RpcError(problem, server.NOT_READY, {"retry_after_ms": SOON_MS})


def unknown_plan(plan_id: str) -> RpcError:
    """Return the error for a plan that is not open."""
    return RpcError(f"there is no plan {plan_id[:100]!r}", UNKNOWN_PLAN)
