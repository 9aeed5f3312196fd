"""Other users of the machine do not see what prloom writes, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_command import PLAN, Repository


@pytest.fixture(params=[0, 0o022])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Repository]:
    before = os.umask(request.param)
    yield Repository(tmp_path / "repo", tmp_path)
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Return what others may look into; a branch's own files are behind a folder that they cannot enter."""
    found = (each for each in (folder, *folder.rglob("*")) if stat.S_IMODE(each.lstat().st_mode) & 0o077)
    return [str(each.relative_to(folder)) for each in found if each.name != ".git"]


def test_all_that_prloom_makes_and_finds_is_its_owners_alone(repository: Repository):
    repository.configure()
    repository.run("adopt", "--branch", PLAN)
    repository.run("emit", PLAN, "--body", "hello", "--type", "note")
    repository.run("start", "--once")
    repository.run("exchange", "publish", "work", "x")
    local = repository.root / "prloom/.local"
    assert open_to_others(local) == []
    folders = [local, local / "worktrees", local / "worktrees" / PLAN, local / "bus"]
    files = [local / "dispatcher.lock", local / "exchange.db", repository.local / "bus/events.jsonl"]
    for each in (*folders, *files):  # as an earlier version, or its umask, made them
        each.chmod(0o777 if each.is_dir() else 0o666)

    repository.run("emit", PLAN, "--body", "again", "--type", "note")
    repository.run("start", "--once")
    repository.run("exchange", "stats")

    assert open_to_others(local) == []
