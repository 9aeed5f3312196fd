"""Requests of a plugin's daemon through the real command: messages, actions, and a dispatcher that is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_server import ForkedProcess
from real_command import Repository
from waiting import until

DAEMON = """
import json, os, socket, threading

def host(number, method, params, stream):
    stream.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\\n")
    stream.flush()
    return json.loads(stream.readline())

def ask_as_operator():
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(os.environ["PRLOOM_HOST_SOCKET"])
        with line.makefile("rw") as stream:
            return host(0, "hello", {"operator": True}, stream)

def ask(requests):
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(os.environ["PRLOOM_HOST_SOCKET"])
        with line.makefile("rw") as stream:
            answers = [host(0, "hello", {"token": os.environ["PRLOOM_HOST_TOKEN"]}, stream)]
            answers += [host(n, method, params, stream) for n, (method, params) in enumerate(requests, 1)]
    return answers

def answer(method, params):
    if method == "ask":
        return ask(params["requests"])
    if method == "ask_as_operator":
        return ask_as_operator()
    if method == "run_action":
        return {"message": f"{params['name']} for {params['by']}: {json.dumps(params['params'])}"}
    return {}

def serve(connection):
    with connection, connection.makefile("rw") as stream:
        for line in stream:
            request = json.loads(line)
            if "id" in request:
                result = answer(request["method"], request.get("params"))
                stream.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\\n")
                stream.flush()

with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(os.environ["PRLOOM_SOCKET_PATH"])
    listening.listen()
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()
"""
MANIFEST = """
name: helper
background: {command: python3, args: [daemon.py], startup_timeout: 60000, shutdown_grace_period: 1000}
"""
CONFIG = """
[plugins]
enabled = ["helper"]
[plugins.permissions.helper]
add_messages = true
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repo", tmp_path)
    folder = made.root / "prloom/plugins/helper"
    folder.mkdir(parents=True)
    (folder / "daemon.py").write_text(DAEMON)
    (folder / "plugin.yaml").write_text(MANIFEST)
    made.configure(CONFIG)
    made.run("adopt", "--branch", "work")
    return made


@pytest.fixture
def start(repository: Repository) -> Iterator[Callable[[], ForkedProcess]]:
    """Return a function that starts the dispatcher; the last one is ended after the test."""
    started: list[ForkedProcess] = []
    pids: list[int] = []

    def begin() -> ForkedProcess:
        with (repository.root / "start.log").open("ab") as log:
            started.append(repository.begin("start", said=log))
        until(lambda: _is_new(status(repository), pids))
        return started[-1]

    yield begin
    for each in started:
        if each.poll() is None:
            each.send_signal(signal.SIGTERM)
            each.wait()


def _is_new(daemon: Any, pids: list[int]) -> bool:
    """Whether a daemon runs that is none of these; a killed dispatcher has left what it reported of its own."""
    if daemon["state"] != "running" or daemon["pid"] in pids:
        return False
    pids.append(daemon["pid"])
    return True


def status(repository: Repository) -> Any:
    return repository.json("plugins", "status")["plugins"][0]


def ask(repository: Repository, *requests: tuple[str, dict[str, Any]]) -> list[Any]:
    """Have the daemon send requests to prloom, after its hello, and return the answers to them."""
    with socket.socket(socket.AF_UNIX) as line, line.makefile("rw") as stream:
        line.connect(f"{status(repository)['runtimeDir']}/daemon.sock")
        stream.write(json.dumps({"id": 1, "method": "ask", "params": {"requests": requests}}) + "\n")
        stream.flush()
        answers = json.loads(stream.readline())["result"]
    assert answers[0]["result"]["plugin"] == "helper"
    return [each.get("result", each.get("error")) for each in answers[1:]]


def ask_as_operator(repository: Repository) -> Any:
    """Have the daemon say hello as the operator's commands do, and return the error."""
    with socket.socket(socket.AF_UNIX) as line, line.makefile("rw") as stream:
        line.connect(f"{status(repository)['runtimeDir']}/daemon.sock")
        stream.write(json.dumps({"id": 1, "method": "ask_as_operator", "params": {}}) + "\n")
        stream.flush()
        return json.loads(stream.readline())["result"]["error"]


def a_message(number: int, role: str = "user", content: str = "Look at this") -> tuple[str, dict[str, Any]]:
    return "add_message", {"message_id": f"m-{number}", "plan_id": "work", "role": role, "content": content}


def test_a_message_of_a_daemon_is_an_event_with_a_life_and_added_once_also_across_a_kill_of_the_dispatcher(
    repository: Repository, start: Callable[[], ForkedProcess]
):
    running = start()
    said, post = ask(repository, a_message(1, content="/prloom pause"), a_message(2, "assistant"))
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    start()
    again, post_again = ask(repository, a_message(1, content="other"), a_message(2))

    assert (said["duplicate"], again) == (False, {**said, "duplicate": True})
    assert (post["duplicate"], post_again) == (False, {**post, "duplicate": True})
    until(lambda: repository.json("events", "work")["events"][0]["state"] == "triaged")
    (event,) = repository.json("events", "work")["events"]
    assert (event["type"], event["author"], event["id"]) == ("plugin_message", "plugin.helper", said["event_id"])
    until(lambda: (repository.local / "review.md").read_text().count("Look at this") == 1)
    until(lambda: status(repository)["requests"].get("add_message", {}).get("ok") == 2)


def test_an_action_that_a_daemon_registers_is_run_by_the_operator_and_by_a_comment_and_ends_with_the_daemon(
    repository: Repository, start: Callable[[], ForkedProcess]
):
    start()
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    ask(repository, ("register_action", {"name": "deploy", "description": "Deploy it", "params_schema": schema}))
    done = repository.run("action", "helper", "deploy", "--params", '{"text": "now"}', "--plan", "work")
    wrong = repository.run("action", "helper", "deploy", "--params", '{"text": 3}', code=1)
    repository.run("emit", "work", "--id", "c-1", "--author", "ada", "--trust", "write", "--body", "/deploy to staging")
    until(lambda: repository.json("events", "work")["events"][0]["state"] == "handled")
    repository.run("plugins", "restart", "helper")
    gone = repository.run("action", "helper", "deploy", code=1)

    assert done.stdout == 'deploy for operator: {"text": "now"}\n'
    assert "the params of deploy are not valid: text: 3 is not of type 'string'" in wrong.stderr
    until(lambda: 'deploy for ada: {"text": "to staging"}' in (repository.local / "review.md").read_text())
    assert repository.agent_runs == 0
    assert "plugin helper has registered no action deploy; those that it has: none" in gone.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads the token from /proc")
def test_a_daemon_may_not_use_the_token_of_another_or_speak_as_the_operator(
    repository: Repository, start: Callable[[], ForkedProcess]
):
    """This process has started the dispatcher, and not the daemon; so the daemon's token is of no use to it."""
    start()
    environ = dict(
        entry.split("=", 1)
        for entry in Path(f"/proc/{status(repository)['pid']}/environ").read_text().split("\0")
        if "=" in entry
    )
    with socket.socket(socket.AF_UNIX) as line, line.makefile("rw") as stream:
        line.connect(environ["PRLOOM_HOST_SOCKET"])
        hello = {"token": environ["PRLOOM_HOST_TOKEN"]}
        stream.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": hello}) + "\n")
        stream.flush()
        answer = json.loads(stream.readline())
    by_daemon = ask_as_operator(repository)

    assert answer["error"]["message"] == f"process {os.getpid()} does not belong to the daemon of plugin helper"
    assert by_daemon["code"] == -32001
    assert by_daemon["message"].startswith("the daemon of plugin helper has started this command")
