"""What a second worker machine brings: the time that two need for a number of runs, against one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

import exchange_postgres
from harness import Figure, Row, Sizes, alternate, blank, span

from prloom.agents import run_message
from prloom.agents.run_message import RunMessage
from prloom.agents.run_spec import RunLimits
from prloom.exchange.exchange import Exchange
from prloom.exchange.message import Draft
from prloom.exchange.postgres.store import PostgresStore

RUNS = 8
SECONDS = 2.0
"""How long each agent sleeps: a real one takes minutes."""

_PATIENCE = 120.0
_NAMES = count()
_ENVIRON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{what}": "ada@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def machines(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Do runs of an agent that sleeps and changes a file, on two machines, and on one."""
    if not exchange_postgres.possible():
        return
    runs, seconds, rounds = RUNS, SECONDS, min(sizes.rounds, 3)
    if sizes.rounds == 1:
        runs, seconds = 2, 1.0
    with ExitStack() as stack:
        server = stack.enter_context(exchange_postgres.running_server())
        commit = _remote(folder)
        one, two = f"{server}&schema=one", f"{server}&schema=two"
        for name, url in (("a", one), ("b", two), ("c", two)):
            stack.enter_context(_machine(folder, name, url, seconds))
        with Exchange(PostgresStore(one)) as alone, Exchange(PostgresStore(two)) as both:
            figure = blank(
                "machines",
                f"{runs} runs whose agents sleep {seconds:g} s, on two machines",
                "on one machine, as a rate",
                1.7,
                sense="at least",
            )
            paired = alternate(
                lambda: _do(alone, folder, commit, runs), lambda: _do(both, folder, commit, runs), rounds
            )
            yield replace(
                figure,
                value=paired.ratio,
                subject_took=span(paired.yardstick),
                yardstick_took=span(paired.subject),
            )


def _do(exchange: Exchange, folder: Path, commit: str, runs: int) -> float:
    """Return the seconds until so many runs are done."""
    drafts = [_draft(folder, commit) for _ in range(runs)]
    begun = time.perf_counter()
    exchange.publish_all(drafts)
    for draft in drafts:
        reply = exchange.wait_for_reply(draft.id)
        assert reply is not None  # noqa: S101 - it is waited for
        assert run_message.read_reply(reply.body).bundle, reply.body  # noqa: S101 - a machine that does not work
    return time.perf_counter() - begun


def _draft(folder: Path, commit: str) -> Draft:
    run = f"20260101T000000000Z-worker-{next(_NAMES):08x}"
    message = RunMessage(
        repository=str(folder / "hub.git"),
        plan="plan",
        commit=commit,
        stage="worker",
        agent="command",
        model=None,
        prompt="Sleep.",
        limits=RunLimits(),
        rights="work",
        todo="t-1",
        session=None,
    )
    topic, body = run_message.topic("worker"), run_message.encode(message)
    return Draft(id=run, key=run, topic=topic, body=body, producer="bench", metadata={run_message.RUN: run})


def _remote(folder: Path) -> str:
    """Make the bare repository that all machines fetch from, and return its commit."""
    _git("init", "--quiet", "--initial-branch=main", str(folder / "first"), cwd=folder)
    _git("commit", "--quiet", "--allow-empty", "--message=begin", cwd=folder / "first")
    _git("clone", "--quiet", "--bare", "first", "hub.git", cwd=folder)
    return _git("rev-parse", "main", cwd=folder / "hub.git")


@contextmanager
def _machine(folder: Path, name: str, url: str, seconds: float) -> Iterator[None]:
    """Have a machine with a checkout of its own work for as long as the block lasts."""
    root = folder / name
    _git("clone", "--quiet", "hub.git", name, cwd=folder)
    argv = json.dumps(["/bin/sh", "-c", f"sleep {seconds:g}; date >> changed; echo done"])
    (root / "prloom.toml").write_text(f"[agents.command]\nargv = {argv}\n[exchange]\nurl = {json.dumps(url)}\n")
    command: Sequence[str] = [sys.executable, "-m", "prloom", "-C", str(root), "worker", "--agents", "command"]
    process = subprocess.Popen(command, env={**_ENVIRON, "HOME": str(root)}, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None  # noqa: S101 - requested above
    try:
        process.stderr.readline()  # it says that it works
        yield
    finally:
        process.terminate()
        process.communicate(timeout=_PATIENCE)


def _git(*argv: str, cwd: Path) -> str:
    done = subprocess.run(["git", *argv], cwd=cwd, env=_ENVIRON, check=True, capture_output=True, text=True)
    return done.stdout.strip()


ROWS = (Row("machines", machines),)
