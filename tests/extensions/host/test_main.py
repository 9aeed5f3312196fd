"""The process of a plugin as any other program may drive it: JSON-RPC lines on its standard input and output."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from values import hook_call

from prloom.extensions.discovery import DiscoveredPlugin

Plugin = Callable[..., DiscoveredPlugin]
Wire = Callable[[dict[str, Any] | bytes], dict[str, Any]]


IN_ITS_OWN = "in a session of its own"


@pytest.fixture
def process(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "prloom.extensions.host.main"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=getattr(request, "param", IN_ITS_OWN) == IN_ITS_OWN,
    ) as process:
        yield process
        process.kill()


@pytest.fixture
def ask(process: subprocess.Popen[bytes]) -> Wire:
    def exchange(message: dict[str, Any] | bytes) -> dict[str, Any]:
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        return dict(json.loads(process.stdout.readline()))

    return exchange


def test_what_is_not_understood_is_answered_with_the_codes_of_json_rpc(ask: Wire) -> None:
    call = {"number": 1, "call": msgspec.to_builtins(hook_call())}

    answers = [
        ask(b"{"),
        ask(b'{"jsonrpc": "1.0"}'),
        ask({"id": 1, "method": "dance"}),
        ask({"id": 2, "method": "hook", "params": {"number": "x"}}),
        ask({"id": 3, "method": "hook", "params": call}),
    ]

    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [
        (None, -32700),
        (None, -32600),
        (1, -32601),
        (2, -32602),
        (3, -32600),
    ]
    assert answers[4]["error"]["message"] == "the plugin is not loaded"


@pytest.mark.parametrize("process", [IN_ITS_OWN, "in the session of its parent"], indirect=True)
def test_the_process_ends_when_nobody_speaks_to_it_any_more_even_while_a_hook_hangs(
    plugin: Plugin, ask: Wire, process: subprocess.Popen[bytes]
) -> None:
    found = plugin("""
        import threading

        def register(ctx):
            @ctx.hook("beforeTriage")
            def look(plan, triage):
                triage.log.warning("here")
                threading.Event().wait()
    """)
    ask({"id": 1, "method": "initialize", "params": {"found": msgspec.to_builtins(found), "logLevel": 30}})
    said = ask({"id": 2, "method": "hook", "params": {"number": 1, "call": msgspec.to_builtins(hook_call())}})
    assert (said["method"], said["params"]) == ("log", {"level": 30, "message": "here"})
    assert process.stdin is not None

    process.stdin.close()

    assert process.wait(60) in {0, -signal.SIGKILL}
