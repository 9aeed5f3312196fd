"""A worker's git, as the real git sees it: everything but what needs a credential, and no push."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import executable
import pytest

from prloom.agents import environment
from prloom.agents.agent import Remote

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
def origin(tmp_path: Path) -> Path:
    """A bare repository that anyone on this machine could push to."""
    path = tmp_path / "origin.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
    return path


@pytest.fixture
def git(tmp_path: Path, home: Path, origin: Path) -> Git:
    """Run git in a repository as a worker would."""
    operator = {"PATH": os.environ["PATH"], "HOME": str(home), "SSH_AUTH_SOCK": "/run/ssh", "LC_ALL": "C"}
    env = environment.allowed(operator, ("SSH_AUTH_SOCK",))
    private = "https://example.com/ann/private.git"
    remotes = (Remote(urls=(str(origin),)), Remote(urls=(private,)), Remote(urls=("x",), push_urls=(f"{origin}/",)))
    tree = tmp_path / "tree"
    tree.mkdir()

    def run(*args: str, given: str = "", worker: bool = True) -> subprocess.CompletedProcess[str]:
        chosen = environment.worker(env, remotes, tree) if worker else env
        return subprocess.run(["git", *args], cwd=tree, env=chosen, input=given, capture_output=True, text=True)  # noqa: PLW1510 - looked at

    setup = (
        ("init", "--quiet", "--initial-branch=main"),
        ("remote", "add", "origin", str(origin)),
        ("remote", "add", "private", private),
        ("remote", "add", "other", "x"),
        ("remote", "set-url", "--push", "other", f"{origin}/"),
        ("-c", "commit.gpgSign=false", "commit", "--quiet", "--allow-empty", "-m", "first"),
        ("config", "http.https://example.com/.extraHeader", "AUTHORIZATION: basic secret"),
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


@pytest.mark.parametrize("remote", ["origin", "other", "the address of origin"])
def test_a_push_leads_nowhere(git: Git, origin: Path, remote: str) -> None:
    ended = git("push", str(origin) if remote not in {"origin", "other"} else remote, "main")

    assert ended.returncode != 0
    assert "prloom-does-not-let-workers-push" in ended.stderr
    assert not list((origin / "refs" / "heads").iterdir())


@pytest.mark.parametrize("remote", ["origin", "other"])
def test_the_operators_push_would_arrive(git: Git, origin: Path, remote: str) -> None:
    assert git("push", remote, "main", worker=False).returncode == 0
    assert list((origin / "refs" / "heads").iterdir())


def test_the_operators_rules_for_addresses_do_not_lead_around_it(git: Git, tmp_path: Path) -> None:
    ended = git("push", "private", "main")

    assert "prloom-does-not-let-workers-push" in ended.stderr
    assert not (tmp_path / "USED").exists()


def test_a_repository_that_a_test_creates_can_be_pushed_to(git: Git, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "scratch.git")], check=True)

    assert git("push", str(tmp_path / "scratch.git"), "main").returncode == 0


@pytest.mark.parametrize("worker", [True, False])
def test_nothing_gives_git_a_password(git: Git, tmp_path: Path, worker: bool) -> None:  # noqa: FBT001 - parametrised
    ended = git("credential", "fill", given="protocol=https\nhost=example.com\n\n", worker=worker)

    assert ("secret" in ended.stdout) == (not worker)
    assert (tmp_path / "USED").exists() == (not worker)


@pytest.mark.parametrize("worker", [True, False])
def test_nothing_is_fetched_by_ssh(git: Git, tmp_path: Path, worker: bool) -> None:  # noqa: FBT001 - parametrised
    assert git("fetch", "ssh://git@example.com/ann/private.git", worker=worker).returncode != 0
    assert (tmp_path / "USED").exists() == (not worker)


def test_the_headers_of_the_repository_are_not_sent(git: Git) -> None:
    of_remote = ("config", "--get-urlmatch", "http.extraHeader", "https://example.com/ann/private.git")

    assert git(*of_remote, worker=False).stdout == "AUTHORIZATION: basic secret\n"
    assert git(*of_remote).stdout == "\n"


def test_a_worker_reaches_no_agent_of_keys() -> None:
    env = environment.worker({"SSH_AUTH_SOCK": "/run/ssh", "SSH_ASKPASS": "x", "HOME": "/home/me"}, (), Path("/repo"))

    assert not {"SSH_AUTH_SOCK", "SSH_ASKPASS"} & set(env)
    assert env["HOME"] == "/home/me"
