from __future__ import annotations

import pytest

from prloom.extensions.jsonrpc import messages
from prloom.extensions.jsonrpc.messages import ErrorResponse, Message, Notification, ProtocolError, Request, Response

MESSAGES = [
    Request(1, "hook", {"a": [1, None, "é\u2028\n"]}),
    Request("one", "hook"),
    Notification("log", {"level": 20}),
    Response(1, None),
    Response("one", {"plan": "x"}),
    ErrorResponse(1, -32000, "no", ["frame"]),
    ErrorResponse(None, messages.PARSE_ERROR, "not JSON"),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_comes_back_as_it_was_written_on_one_line(message: Message) -> None:
    line = messages.encode(message)

    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    assert messages.decode(line) == message


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (b"{", messages.PARSE_ERROR, "a line is not JSON: Input data was truncated"),
        (b"\xff\n", messages.PARSE_ERROR, "a line is not JSON: "),
        (b"[" * 100_000, messages.PARSE_ERROR, "a line is not JSON: "),
        (b"[]", messages.INVALID_REQUEST, "a line is not a JSON-RPC 2.0 message"),
        (b'{"id": 1, "method": "a"}', messages.INVALID_REQUEST, "a line is not a JSON-RPC 2.0 message"),
        (
            b'{"jsonrpc": "2.0", "id": 1}',
            messages.INVALID_REQUEST,
            "a message has neither a method nor a result nor an error",
        ),
        (b'{"jsonrpc": "2.0", "method": 1}', messages.INVALID_REQUEST, "the method of a message is not text"),
        (
            b'{"jsonrpc": "2.0", "method": "a", "id": true}',
            messages.INVALID_REQUEST,
            "the id of a message is neither a number nor text",
        ),
        (b'{"jsonrpc": "2.0", "id": null, "result": 1}', messages.INVALID_REQUEST, "the id of a message is neither"),
        (b'{"jsonrpc": "2.0", "id": 1, "error": "no"}', messages.INVALID_REQUEST, "the error of a message has no code"),
    ],
)
def test_what_is_no_message_is_a_protocol_error_with_the_codes_of_json_rpc(line: bytes, code: int, said: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        messages.decode(line)

    assert str(caught.value).startswith(said)
    assert caught.value.code == code


@pytest.mark.parametrize("params", [object(), float, "\ud800", {1: {2: object()}}])
def test_what_json_cannot_say_is_not_written(params: object) -> None:
    with pytest.raises(ProtocolError, match="a message cannot be written as JSON: "):
        messages.encode(Notification("log", params))


def test_a_message_that_is_too_long_is_not_written() -> None:
    with pytest.raises(ProtocolError, match=r"a message of \d+ bytes is longer than 33554432"):
        messages.encode(Notification("log", "x" * messages.LIMIT))
