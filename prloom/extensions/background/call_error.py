"""Define how a call to a daemon fails: nine kinds, each with the text that a person or an agent reads."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from prloom.errors import ExtensionError
from prloom.model.record import Json

CallFailure = Literal[
    "not_started",
    "not_running",
    "socket_missing",
    "permission_denied",
    "refused",
    "timed_out",
    "rpc_error",
    "malformed",
    "other",
]
"""How a call fails; a connection that was closed before the answer is `other`, with `closed` set."""
ErrorType = Literal["plugin_error", "system_error", "timeout_error"]


class CallError(ExtensionError):
    """A call to a daemon that brought no result; `kind` says how it failed, and callers go by nothing else.

    `code` and `data` are those of the daemon's own error (kind `rpc_error`).
    """

    def __init__(self, kind: CallFailure, text: str, *, code: int | None = None, data: Json = None) -> None:
        super().__init__(text)
        self.kind: CallFailure = kind
        self.code = code
        self.data = data
        self.closed = False

    @property
    def error_type(self) -> ErrorType:
        """The kind as agents get it: whether the plugin, the machine or the time limit is the cause."""
        if self.kind == "timed_out":
            return "timeout_error"
        if self.kind == "permission_denied":
            return "system_error"
        return "plugin_error"


def not_started(plugin: str) -> CallError:
    """Return the error of a daemon that could not be started at all, or was not yet."""
    return CallError("not_started", f"Background process '{plugin}' has not been started; run `prloom plugins status`")


def not_running(plugin: str, state: str) -> CallError:
    """Return the error of a daemon that was started and does not run now."""
    return CallError(
        "not_running",
        f"Background process '{plugin}' is not running (state: {state}); run `prloom plugins status`",
    )


def socket_missing(plugin: str, path: str) -> CallError:
    """Return the error of a daemon whose socket is gone."""
    return CallError(
        "socket_missing",
        f"The socket of background process '{plugin}' is gone: {path} does not exist; "
        f"run `prloom plugins restart {plugin}`",
    )


def permission_denied(plugin: str, path: str) -> CallError:
    """Return the error of a socket that prloom may not open."""
    return CallError(
        "permission_denied", f"Permission denied for the socket of '{plugin}'; check the permissions of {path}"
    )


def refused(plugin: str) -> CallError:
    """Return the error of a socket at which nothing listens."""
    return CallError("refused", f"Background process '{plugin}' refuses connections: nothing listens at its socket")


def timed_out(plugin: str, method: str, limit: timedelta) -> CallError:
    """Return the error of a call without an answer."""
    milliseconds = round(limit.total_seconds() * 1000)
    return CallError(
        "timed_out", f"Background process '{plugin}' timed out: no answer to {method} in {milliseconds} ms"
    )


def rpc_error(plugin: str, code: int, message: str, data: Json = None) -> CallError:
    """Return the error that the daemon answered with."""
    return CallError("rpc_error", f"Plugin '{plugin}' RPC error ({code}): {message}", code=code, data=data)


def malformed(plugin: str, problem: str) -> CallError:
    """Return the error of an answer that is none."""
    return CallError("malformed", f"Background process '{plugin}' gave a malformed answer: {problem}")


def other(plugin: str, problem: str) -> CallError:
    """Return the error of anything else, such as a connection that was closed."""
    return CallError("other", f"Background process '{plugin}' error: {problem}")


def closed(plugin: str) -> CallError:
    """Return the error of a call whose connection ended before the answer."""
    failure = other(plugin, "connection closed before the answer")
    failure.closed = True
    return failure
