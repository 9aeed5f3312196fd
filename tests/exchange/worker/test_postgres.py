"""The real worker host on a PostgreSQL server, which goes away and comes back."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta

import postgres_server
import pytest
from postgres_server import Server

from prloom.exchange import connect

LONG = timedelta(seconds=60)


@pytest.fixture
def server() -> Iterator[Server]:
    with postgres_server.stoppable() as server:
        yield server


@pytest.fixture
def start(server: Server) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started = []

    def start(*args: str, command: list[str]) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "prloom", "exchange", "run", "jobs", "--database", server.url, *args]
        started.append(subprocess.Popen([*argv, "--", *command], stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        with process:
            process.kill()


def test_workers_go_on_when_their_server_was_started_again(server: Server, start: Callable[..., subprocess.Popen[str]]):
    worker = start("--concurrency", "2", command=["tr", "a-z", "A-Z"])
    bodies = []

    for body in ("before", "after"):
        with connect(server.url) as exchange:
            reply = exchange.request("jobs", body, patience=LONG)
            bodies.append(reply and reply.body)
        server.stop(signal.SIGQUIT)
        server.start()
    worker.send_signal(signal.SIGTERM)

    assert bodies == ["BEFORE", "AFTER"]
    assert worker.wait(60) == 130
