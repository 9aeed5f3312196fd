"""Write and read the messages between the dispatcher and a plugin's process: JSON-RPC 2.0, one message a line.

Source: https://www.jsonrpc.org/specification. A message is one line of JSON in UTF-8 that ends in a newline; there are
no batches. Either side may ask; both number their requests on their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

import msgspec

from prloom.model.record import Json

LIMIT = 32 * 1024 * 1024
"""Bytes that a line may have: a call carries two stores of a plugin, the plan, and a batch of events."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
PLUGIN_FAILED = -32000
"""The plugin raised, or what it did is not valid; the message says which, for people."""
SERVICE_FAILED = -32001
"""What a hook asked the dispatcher for could not be done; the message says why."""

Id = int | str


@dataclass(frozen=True)
class Request:
    """A call that is to be answered."""

    id: Id
    method: str
    params: Json = None


@dataclass(frozen=True)
class Notification:
    """A call that is not answered."""

    method: str
    params: Json = None


@dataclass(frozen=True)
class Response:
    """The result of a request."""

    id: Id
    result: Json = None


@dataclass(frozen=True)
class ErrorResponse:
    """The error of a request; without an id, of a message that could not be read."""

    id: Id | None
    code: int
    message: str
    data: Json = None


@dataclass(frozen=True)
class StrayAnswer:
    """An answer with an id that no request has, such as a list; it is no reason to end a connection."""


RpcMessage = Request | Notification | Response | ErrorResponse
"""What is sent."""

RpcReceived = RpcMessage | StrayAnswer
"""What is read."""


class ProtocolError(Exception):
    """A message that is none, or is too long; `code` is the error's in JSON-RPC."""

    def __init__(self, text: str, code: int = INVALID_REQUEST) -> None:
        super().__init__(text)
        self.code = code


class RpcError(Exception):
    """The other side answered a request with an error."""

    def __init__(self, message: str, code: int = INTERNAL_ERROR, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class ConnectionLostError(Exception):
    """The other side is gone, and with it the answer; the text says how it went."""


def encode(message: RpcMessage) -> bytes:
    """Return the message as a line; raises ProtocolError for what JSON cannot say, and for what is too long."""
    try:
        line = msgspec.json.encode({"jsonrpc": "2.0", **_members(message)}) + b"\n"
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise ProtocolError(f"a message cannot be written as JSON: {error}", INVALID_PARAMS) from error
    if len(line) > LIMIT:
        raise ProtocolError(f"a message of {len(line)} bytes is longer than {LIMIT}", INVALID_PARAMS)
    return line


def decode(line: bytes) -> RpcReceived:
    """Return the message that a line is; raises ProtocolError."""
    try:
        value = msgspec.json.decode(line)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise ProtocolError(f"a line is not JSON: {error}", PARSE_ERROR) from error
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise ProtocolError("a line is not a JSON-RPC 2.0 message")
    if "method" in value:
        return _call(value)
    if "error" in value:
        return _failure(value)
    if "result" in value:
        return _result(value)
    raise ProtocolError("a message has neither a method nor a result nor an error")


def _members(message: RpcMessage) -> dict[str, Json]:
    match message:
        case Request():
            return {"id": message.id, "method": message.method, "params": message.params}
        case Notification():
            return {"method": message.method, "params": message.params}
        case Response():
            return {"id": message.id, "result": message.result}
        case ErrorResponse():
            error = {"code": message.code, "message": message.message, "data": message.data}
            return {"id": message.id, "error": error}


def _call(value: Mapping[str, Json]) -> Request | Notification:
    method = value["method"]
    if not isinstance(method, str):
        raise ProtocolError("the method of a message is not text")
    params = value.get("params")
    if "id" in value:
        return Request(_id(value), method, params)
    return Notification(method, params)


def _failure(value: Mapping[str, Json]) -> ErrorResponse | StrayAnswer:
    error, of = value["error"], value.get("id")
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        raise ProtocolError("the error of a message has no code")
    if of is not None and not _is_id(of):
        return StrayAnswer()
    return ErrorResponse(of, error["code"], str(error.get("message", "")), error.get("data"))


def _result(value: Mapping[str, Json]) -> Response | StrayAnswer:
    of = value.get("id")
    if not _is_id(of):
        return StrayAnswer()
    return Response(of, value["result"])


def _id(value: Mapping[str, Json]) -> Id:
    of = value.get("id")
    if not _is_id(of):
        raise ProtocolError("the id of a message is neither a number nor text")
    return of


def _is_id(value: Json) -> TypeGuard[Id]:
    return isinstance(value, int | str) and not isinstance(value, bool)
