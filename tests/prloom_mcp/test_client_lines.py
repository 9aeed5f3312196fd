"""What a client of an MCP server may send by mistake or on purpose, and what it is answered."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from mcp import types

from prloom.mcp.client_lines import ClientLines


def call(number: object, **arguments: object) -> bytes:
    params = {"name": "echo", "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode() + b"\n"


async def read(sent: bytes) -> tuple[list[Any], list[tuple[object, int, str]]]:
    """Return the messages that are passed on, and the answers to what is not: id, code, and text."""
    answers: list[tuple[object, int, str]] = []
    lines = ClientLines(io.BytesIO(sent))

    async def reply(error: types.JSONRPCError) -> None:
        answers.append((error.id, error.error.code, error.error.message))

    lines.reply = reply
    return [json.loads(line) async for line in lines], answers


async def test_messages_are_passed_on_as_they_are_also_the_last_one_without_its_end():
    sent = call(1, word="é") + b'{"jsonrpc": "2.0", "method": "notifications/cancelled"}\n' + call("2")[:-1]

    messages, answers = await read(sent)

    assert [each.get("id") for each in messages] == [1, None, "2"]
    assert messages[0]["params"]["arguments"] == {"word": "é"}
    assert answers == []


@pytest.mark.parametrize(
    ("line", "of", "code", "text"),
    [
        (b"hello\n", None, -32700, "this is not a JSON-RPC 2.0 message, or it is nested too deeply"),
        (b"\n", None, -32700, "this is not a JSON-RPC 2.0 message"),
        (b"\0\xff\xfe\n", None, -32700, "the message is not UTF-8"),
        (b"[1, 2]\n", None, -32700, "this is not a JSON-RPC 2.0 message"),
        (b'{"id": 7, "method": "tools/call"}\n', 7, -32700, "this is not a JSON-RPC 2.0 message"),
        (call(7, word="half")[:-6] + b'\xc3"}}}\n', 7, -32700, "the message is not UTF-8: invalid continuation byte"),
        (call(7, word="x" * (11 << 20)), 7, -32600, "the message has more than 10485760 bytes"),
        (b"x" * (50 << 20) + b"\n", None, -32600, "the message has more than 10485760 bytes"),
        (
            call(7)[:-3] + b', "x": ' + b"[" * 500 + b"]" * 500 + b"}}\n",
            7,
            -32700,
            "this is not a JSON-RPC 2.0 message",
        ),
        (b"[" * 100_000 + b"\n", None, -32700, "this is not a JSON-RPC 2.0 message"),
    ],
)
async def test_what_is_no_message_is_answered_and_what_follows_is_passed_on(
    line: bytes, of: object, code: int, text: str
):
    messages, answers = await read(line + call(8))

    assert [each["id"] for each in messages] == [8]
    assert [(answer[0], answer[1]) for answer in answers] == [(of, code)]
    assert answers[0][2].startswith(text)


async def test_a_call_with_an_id_that_was_used_before_is_not_carried_out():
    messages, answers = await read(call(1, word="a") + call(1, word="b") + call("1") + call(2))

    assert [(each["id"], each["params"]["arguments"]) for each in messages] == [(1, {"word": "a"}), ("1", {}), (2, {})]
    text = "the id 1 was used before, and each call needs its own; this one was not carried out"
    assert answers == [(1, -32600, text)]
