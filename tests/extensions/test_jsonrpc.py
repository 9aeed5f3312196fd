from __future__ import annotations

import pytest

from prloom.extensions import jsonrpc
from prloom.extensions.jsonrpc import (
    ErrorResponse,
    Notification,
    ProtocolError,
    Request,
    Response,
    RpcMessage,
    StrayAnswer,
)

MESSAGES = [
    Request(1, "hook", {"a": [1, None, "é\u2028\n"]}),
    Request("one", "hook"),
    Notification("log", {"level": 20}),
    Response(1, None),
    Response("one", {"plan": "x"}),
    ErrorResponse(1, -32000, "no", ["frame"]),
    ErrorResponse(None, jsonrpc.PARSE_ERROR, "not JSON"),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_comes_back_as_it_was_written_on_one_line(message: RpcMessage) -> None:
    line = jsonrpc.encode(message)

    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    assert jsonrpc.decode(line) == message


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (b"{", jsonrpc.PARSE_ERROR, "a line is not JSON: Input data was truncated"),
        (b"\xff\n", jsonrpc.PARSE_ERROR, "a line is not JSON: "),
        (b"[" * 100_000, jsonrpc.PARSE_ERROR, "a line is not JSON: "),
        (b"[]", jsonrpc.INVALID_REQUEST, "a line is not a JSON-RPC 2.0 message"),
        (b'{"id": 1, "method": "a"}', jsonrpc.INVALID_REQUEST, "a line is not a JSON-RPC 2.0 message"),
        (
            b'{"jsonrpc": "2.0", "id": 1}',
            jsonrpc.INVALID_REQUEST,
            "a message has neither a method nor a result nor an error",
        ),
        (b'{"jsonrpc": "2.0", "method": 1}', jsonrpc.INVALID_REQUEST, "the method of a message is not text"),
        (
            b'{"jsonrpc": "2.0", "method": "a", "id": true}',
            jsonrpc.INVALID_REQUEST,
            "the id of a message is neither a number nor text",
        ),
        (b'{"jsonrpc": "2.0", "id": 1, "error": "no"}', jsonrpc.INVALID_REQUEST, "the error of a message has no code"),
    ],
)
def test_what_is_no_message_is_a_protocol_error_with_the_codes_of_json_rpc(line: bytes, code: int, said: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        jsonrpc.decode(line)

    assert str(caught.value).startswith(said)
    assert caught.value.code == code


@pytest.mark.parametrize("line", ['"id": null, ', '"id": [1], ', '"id": true, ', '"id": {}, ', '"id": 1.0, ', ""])
def test_a_result_whose_id_no_request_has_is_an_answer_to_none(line: str) -> None:
    assert jsonrpc.decode(f'{{"jsonrpc": "2.0", {line}"result": 1}}'.encode()) == StrayAnswer()


@pytest.mark.parametrize("number", ["[1]", "true", "{}", "1.0"])
def test_an_error_whose_id_no_request_has_is_an_answer_to_none(number: str) -> None:
    line = f'{{"jsonrpc": "2.0", "id": {number}, "error": {{"code": -1, "message": "no"}}}}'

    assert jsonrpc.decode(line.encode()) == StrayAnswer()


@pytest.mark.parametrize("params", [object(), float, "\ud800", {1: {2: object()}}])
def test_what_json_cannot_say_is_not_written(params: object) -> None:
    with pytest.raises(ProtocolError, match="a message cannot be written as JSON: "):
        jsonrpc.encode(Notification("log", params))


def test_a_message_that_is_too_long_is_not_written() -> None:
    with pytest.raises(ProtocolError, match=r"a message of \d+ bytes is longer than 33554432"):
        jsonrpc.encode(Notification("log", "x" * jsonrpc.LIMIT))
