"""`prloom worker`: what is said where it cannot work."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import Prloom, Refusal

if TYPE_CHECKING:
    from stage import Stage

AGENT = '[agents.command]\nargv = ["/bin/true"]\n'
URL = '[exchange]\nurl = "postgresql:///none?host=/no/such/folder"\n'


@pytest.fixture
def origin(stage: Stage, tmp_path: Path) -> None:
    """The checkout is a repository with a remote."""
    for argv in (["init", "--quiet"], ["remote", "add", "origin", str(tmp_path / "hub.git")]):
        subprocess.run(["git", *argv], cwd=stage.root, check=True)


def configure(stage: Stage, text: str) -> None:
    (stage.root / "prloom.toml").write_text(text)


@pytest.mark.usefixtures("origin")
def test_without_an_exchange_that_others_can_reach(stage: Stage, refused: Refusal) -> None:
    configure(stage, AGENT)

    assert refused("worker") == (
        "prloom: no exchange is configured that other machines can reach; set [exchange] url in prloom.toml to that of "
        'a PostgreSQL server, such as "postgresql://host/database"\n'
    )


@pytest.mark.usefixtures("origin")
def test_an_sqlite_file_is_no_exchange_for_other_machines(stage: Stage, prloom: Prloom) -> None:
    configure(stage, f'{AGENT}[exchange]\nurl = "sqlite:///srv/runs.db"\n')

    assert 'exchange.url is "sqlite:///srv/runs.db", which is not the address of a PostgreSQL' in prloom("worker").err


def test_without_a_remote(stage: Stage, refused: Refusal) -> None:
    configure(stage, AGENT + URL)
    subprocess.run(["git", "init", "--quiet"], cwd=stage.root, check=True)

    assert "has no remote `origin` to fetch commits from; add it with `git remote add origin URL`" in refused("worker")


@pytest.mark.usefixtures("origin")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--stages", "cooking"), "there is no stage cooking; name some of default, triage, worker"),
        (("--agents", "clod"), "there is no agent clod; name some of claude"),
        (("--agents", "command,amp"), "the agent amp is not on this machine; install it, or leave it out of --agents"),
    ],
)
def test_a_name_that_is_wrong(
    stage: Stage, refused: Refusal, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    configure(stage, AGENT + URL)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    assert said in refused("worker", *options)


@pytest.mark.usefixtures("origin")
def test_without_any_agent(stage: Stage, prloom: Prloom, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(stage, URL)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    assert "no agent is on this machine; install one, such as claude or codex" in prloom("worker").err


@pytest.mark.usefixtures("origin")
def test_a_server_that_cannot_be_reached(stage: Stage, refused: Refusal) -> None:
    configure(stage, AGENT + URL)

    told = refused("worker", "--agents", "command")

    assert "prloom: the exchange cannot be used: " in told
    assert "Traceback" not in told
