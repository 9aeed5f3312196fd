"""What a run's message says of the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from prloom.engine.runs.run_commits import RunCommits


def with_origin(root: Path, address: str | None) -> RunCommits:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    if address is not None:
        subprocess.run(["git", "-C", str(root), "remote", "add", "origin", address], check=True)
    return RunCommits(root, shared=False)


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        ("https://x-access-token:ghp_secret@github.com/ann/tool", "https://github.com/ann/tool"),
        ("https://ghp_secret@github.com/ann/tool", "https://github.com/ann/tool"),
        ("HTTPS://ann:p@ss@host.example/tool@2", "HTTPS://host.example/tool@2"),
        ("git@github.com:ann/tool.git", "git@github.com:ann/tool.git"),
        ("ssh://git@github.com/ann/tool", "ssh://git@github.com/ann/tool"),
    ],
)
def test_the_address_of_the_repository_holds_no_credentials(tmp_path: Path, origin: str, named: str) -> None:
    assert with_origin(tmp_path, origin).address == named


@pytest.mark.parametrize("origin", ["../hub.git", "checkout/../hub.git"])
def test_a_relative_address_is_given_so_that_it_means_the_same_on_every_machine(tmp_path: Path, origin: str) -> None:
    root = tmp_path / "checkout"
    if origin.startswith("checkout"):
        root = tmp_path

    assert with_origin(root, origin).address == str(tmp_path / "hub.git")


def test_without_a_remote_the_address_is_the_path_of_the_checkout(tmp_path: Path) -> None:
    assert with_origin(tmp_path, None).address == str(tmp_path)
