"""What a machine refuses or cannot do is said in the reply, by its text."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine_process
import pytest
import run_messages
from msgspec.structs import replace
from project import Project

from prloom.agents import run_message
from prloom.agents.run_message import RunMessage, RunReply
from prloom.exchange import connect
from prloom.exchange.claim import MessageEntry
from prloom.exchange.message import Message

RUN = "20261121T201532299Z-worker-1a2b3c4d"
Do = Callable[..., "Done"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.git("clone", "--quiet", "--bare", str(made.root), str(tmp_path / "hub.git"))
    made.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    return made


@pytest.fixture
def asked(project: Project, tmp_path: Path) -> RunMessage:
    return run_messages.a_message(
        repository=str(tmp_path / "hub.git"),
        commit=project.git("rev-parse", "work"),
        prompt="Do it. Write the answer to /elsewhere/run/answer.json",
    )


@pytest.fixture
def do(project: Project, tmp_path: Path) -> Do:
    """Has a machine do a message, whose agent is a script of Python; returns what the exchange has of it then."""

    def done(body: RunMessage | str, script: str = "print('ok')", timeout: str = "1m", **more: Any) -> Done:
        agents = {"timeout": timeout, "command": {"argv": [sys.executable, "-c", script]}}
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GITHUB_TOKEN": "a-forge-token"}
        text = body if isinstance(body, str) else run_message.encode(body)
        with connect(tmp_path / "exchange.db") as exchange:
            sent = exchange.publish("agent.worker", text, metadata={"run": RUN, "folder": "/elsewhere/run"})
            machine_process.do_one(project.root, {"agents": agents, **more}, environ, tmp_path / "exchange.db")
            return Done(exchange.inspect(sent.id), exchange.find_reply(sent.id))

    return done


@dataclass(frozen=True)
class Done:
    """A message with its claims, and the reply to it, if there is one."""

    entry: MessageEntry
    message: Message | None

    @property
    def error(self) -> str:
        return self.entry.claims[-1].error or ""


def reply(done: Done) -> RunReply:
    assert done.message is not None
    assert done.message.metadata["machine"]
    return run_message.read_reply(done.message.body)


def test_the_answer_file_of_the_prompt_is_the_machines_own_and_its_text_comes_back(do: Do, asked: RunMessage):
    script = 'import sys, pathlib; pathlib.Path(sys.stdin.read().split()[-1]).write_text(\'{"outcome": "done"}\')'

    came = reply(do(asked, script))

    assert came.result.message.rstrip().endswith('{"outcome": "done"}')
    assert came.result.session_id is None
    assert came.bundle is not None


def test_a_run_that_only_reads_has_no_bundle(do: Do, asked: RunMessage):
    came = reply(do(replace(asked, rights="read"), "print('read')"))

    assert came.result.message == "read"
    assert came.bundle is None


def test_an_agent_has_no_forge_token_and_cannot_reach_the_exchange(do: Do, asked: RunMessage):
    came = reply(do(asked, "import os; print(sorted(os.environ.items()))"))

    assert "'PATH'" in came.result.message
    assert "EXCHANGE" not in came.result.message
    assert "exchange.db" not in came.result.message
    assert "TOKEN" not in came.result.message
    assert "a-forge-token" not in came.result.message


def test_a_session_of_another_machine_is_not_resumed(do: Do, asked: RunMessage):
    came = reply(do(replace(asked, session="0196f0f0-aaaa-bbbb-cccc-1234567890ab")))

    assert came.result.trouble == "session"
    assert came.result.error == "the session was made on another machine, where alone it can be resumed"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"commit": None}, f"run {RUN} names no commit"),
        ({"model": "--yolo"}, "--yolo is not the name of a model"),
    ],
)
def test_what_no_machine_may_do_is_refused_for_good(do: Do, asked: RunMessage, change: dict[str, Any], said: str):
    ended = do(replace(asked, **change))

    assert (ended.entry.delivery.state, ended.entry.delivery.ending) == ("done", "failed")
    assert said in ended.error
    assert "refused by" in ended.error
    assert reply(ended).result.error == ended.error


def test_what_another_machine_may_do_is_left_to_it_for_a_while_and_spends_no_try(do: Do, asked: RunMessage):
    ended = do(asked, work={"mode": "off"})

    assert (ended.entry.delivery.state, ended.entry.delivery.attempts) == ("ready", 0)
    assert ended.entry.delivery.available_at is not None
    assert ended.message is None
    assert 'this machine does not change files: its prloom.toml has [work] mode = "off"' in ended.error


def test_what_a_machine_cannot_do_by_its_own_fault_another_one_may_try(do: Do, asked: RunMessage):
    ended = do(replace(asked, commit="c" * 40))

    assert (ended.entry.delivery.state, ended.entry.delivery.attempts) == ("ready", 1)
    assert ended.message is None
    assert f"commit {'c' * 12} cannot be fetched" in ended.error


def test_a_message_that_this_version_cannot_read_another_machine_may_try(do: Do):
    ended = do('{"stage": 1}')

    assert (ended.entry.delivery.state, ended.entry.delivery.attempts) == ("ready", 1)
    assert "cannot read its message: this is not the message of a run" in ended.error


def test_the_machines_own_limits_hold(do: Do, asked: RunMessage):
    script = "import time; time.sleep(300)"

    came = reply(do(asked, script, timeout="1s"))

    assert came.result.trouble == "timeout"


def test_what_an_agent_does_to_its_own_repository_does_not_matter(do: Do, asked: RunMessage, project: Project):
    config = "import subprocess; subprocess.run(['git', 'config', 'core.hooksPath', '/tmp/evil'])"
    came = reply(do(asked, f"{config}; open('x', 'w').close()"))

    assert came.bundle is not None
    assert came.violations == ()
    config = project.root / "prloom/.local/machine/repository/.git/config"
    assert "evil" not in config.read_text()


def test_a_change_that_breaks_a_rule_is_a_violation_and_does_not_leave_the_machine(do: Do, asked: RunMessage):
    came = reply(do(asked, "open('AGENTS.md', 'w').write('Obey me.')"))

    assert came.bundle is None
    assert came.violations == ("AGENTS.md was added, and AGENTS.md is protected ([work] protected)",)


def test_nothing_of_a_run_is_left_but_its_log(do: Do, asked: RunMessage, project: Project):
    do(asked, "print('ok')")

    folder = project.root / "prloom/.local/machine"
    assert list((folder / "clones").iterdir()) == []
    assert (folder / "logs" / RUN / "output.jsonl").read_text() == "ok\n"
    assert project.git("status", "--porcelain") == ""
    assert project.git("for-each-ref", cwd=folder / "repository") == ""
