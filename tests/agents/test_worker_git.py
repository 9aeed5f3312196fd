"""A worker's git, as the real git sees it: everything but what needs a credential."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import executable
import pytest

from prloom.agents import environment

Git = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An operator whose git has a credential for each server, an agent of keys, and programs that notice their use."""
    home = tmp_path / "home"
    home.mkdir()
    noticed = f"touch {tmp_path / 'USED'}; echo username=me; echo password=secret"
    (home / ".gitconfig").write_text(
        f"[user]\n name = Ann\n email = ann@example.com\n"
        f'[credential]\n helper = "!{noticed}"\n'
        f'[credential "https://example.com"]\n helper = "!{noticed}"\n'
        f"[core]\n sshCommand = touch {tmp_path / 'USED'}\n askPass = {home / 'askpass'}\n"
        "[commit]\n gpgSign = true\n"
        '[url "ssh://git@example.com/"]\n pushInsteadOf = https://example.com/\n'
    )
    executable.write(home / "askpass", f"#!/bin/sh\ntouch {tmp_path / 'USED'}\necho secret\n")
    return home


@pytest.fixture
def git(tmp_path: Path, home: Path) -> Git:
    """Run git in a repository as a worker would."""
    operator = {"PATH": os.environ["PATH"], "HOME": str(home), "SSH_AUTH_SOCK": "/run/ssh", "LC_ALL": "C"}
    env = environment.allowed(operator, ("SSH_AUTH_SOCK",))
    tree = tmp_path / "tree"
    tree.mkdir()

    def run(*args: str, given: str = "", worker: bool = True) -> subprocess.CompletedProcess[str]:
        chosen = environment.worker(env) if worker else env
        return subprocess.run(["git", *args], cwd=tree, env=chosen, input=given, capture_output=True, text=True)  # noqa: PLW1510 - looked at

    setup = (
        ("init", "--quiet", "--initial-branch=main"),
        ("-c", "commit.gpgSign=false", "commit", "--quiet", "--allow-empty", "-m", "first"),
    )
    for words in setup:
        assert run(*words, worker=False).returncode == 0
    return run


def test_what_needs_no_credential_works(git: Git, tmp_path: Path) -> None:
    (tmp_path / "tree" / "a.txt").write_text("a")

    for words in (["status"], ["add", "-A"], ["diff", "--cached"], ["log"], ["commit", "-m", "second"], ["stash"]):
        ended = git(*words)
        assert ended.returncode == 0, ended.stderr
    assert git("log", "-1", "--format=%an").stdout == "Ann\n"


@pytest.mark.parametrize("worker", [True, False])
def test_nothing_gives_git_a_password(git: Git, tmp_path: Path, worker: bool) -> None:  # noqa: FBT001 - parametrised
    ended = git("credential", "fill", given="protocol=https\nhost=example.com\n\n", worker=worker)

    assert ("secret" in ended.stdout) == (not worker)
    assert (tmp_path / "USED").exists() == (not worker)


@pytest.mark.parametrize("worker", [True, False])
def test_nothing_is_fetched_by_ssh(git: Git, tmp_path: Path, worker: bool) -> None:  # noqa: FBT001 - parametrised
    assert git("fetch", "ssh://git@example.com/ann/private.git", worker=worker).returncode != 0
    assert (tmp_path / "USED").exists() == (not worker)


def test_a_worker_reaches_no_agent_of_keys() -> None:
    env = environment.worker({"SSH_AUTH_SOCK": "/run/ssh", "SSH_ASKPASS": "x", "HOME": "/home/me"})

    assert not {"SSH_AUTH_SOCK", "SSH_ASKPASS"} & set(env)
    assert env["HOME"] == "/home/me"
