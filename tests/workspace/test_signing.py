"""Commits are signed as the operator's own are, and one that cannot be says why."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from prloom.workspace import commits, replay, signing, worktree
from prloom.workspace.signing import SignatureError, SignMode

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

    from prloom.workspace.repository import Repository

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


@pytest.fixture
def key(project: Project, tmp_path: Path) -> Path:
    """A key of the operator's, with which git signs by ssh."""
    file = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
    project.git("config", "gpg.format", "ssh")
    project.git("config", "user.signingKey", str(file))
    return file


@pytest.mark.parametrize(
    ("mode", "configured", "signs"),
    [
        ("auto", None, "no"),
        ("auto", "true", "yes"),
        ("auto", "false", "no"),
        ("always", None, "yes"),
        ("never", "true", "no"),
    ],
)
def test_it_follows_git_unless_the_operator_says_otherwise(
    project: Project, repo: Repository, mode: SignMode, configured: str | None, signs: str
) -> None:
    if configured is not None:
        project.git("config", "commit.gpgSign", configured)

    assert signing.wanted(repo, mode) == (signs == "yes")


def is_signed(project: Project, commit: str) -> bool:
    return "gpgsig -----BEGIN SSH SIGNATURE-----" in project.git("cat-file", "commit", commit)


def test_a_commit_and_what_is_made_of_it_again_are_signed(
    project: Project, repo: Repository, place: Path, key: Path
) -> None:
    base = worktree.create(repo, place, "feature")
    tree = project.git("rev-parse", "main^{tree}")

    made = commits.commit(repo, place, tree=tree, parent=base, message="Do it\n", branch="feature", sign=True)
    again = replay.replay(repo, tuple(commits.between(repo, base, made)), project.sha("main"), sign=True)

    assert is_signed(project, made)
    assert isinstance(again, replay.ReplayedCommits)
    assert again.tip == project.sha("main") or is_signed(project, again.tip)


def test_a_commit_that_cannot_be_signed_says_so_in_the_words_of_ssh(
    project: Project, repo: Repository, place: Path, key: Path
) -> None:
    base = worktree.create(repo, place, "feature")
    key.unlink()

    with pytest.raises(SignatureError, match=r"^the commit cannot be signed: (No private key found|.*Couldn't load)"):
        commits.commit(repo, place, tree=f"{base}^{{tree}}", parent=base, message="x\n", branch="feature", sign=True)

    assert project.sha("feature") == base
