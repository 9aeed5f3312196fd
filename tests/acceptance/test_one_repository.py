"""One repository has one dispatcher and one set of files, from whichever of its worktrees."""

from __future__ import annotations

import json
import os
from pathlib import Path

import command_line
import layouts
import pytest

from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir


def prloom(place: Path, *args: str, code: int | None = 0) -> str:
    """Run a command in a folder, and return what it says; a code of None stands for any."""
    ran = command_line.run("-C", str(place), *args)
    said = ran.out + ran.err
    assert code in {ran.code, None}, said
    return said


@pytest.fixture(params=layouts.ALL.values(), ids=layouts.ALL)
def checkout(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PRLOOM_PLUGINS__ISOLATION", "inline")
    monkeypatch.setenv("PRLOOM_HOME", str(tmp_path / "home"))
    made: Path = request.param(tmp_path)
    prloom(made, "init")
    return made


@pytest.fixture
def linked(checkout: Path, tmp_path: Path) -> Path:
    """A worktree that a person made beside the checkout."""
    layouts.git(checkout, "worktree", "add", "--quiet", "-b", "mine", str(tmp_path / "linked"))
    return tmp_path / "linked"


def test_another_worktree_sees_the_same_plans_and_files(checkout: Path, linked: Path) -> None:
    prloom(linked, "adopt", "--branch", "work")

    assert prloom(linked, "init").startswith(f"{checkout}/prloom.toml already exists")
    here, there = (json.loads(prloom(place, "status", "--json")) for place in (checkout, linked))
    for each in (here, there):
        del each["dashboard"]["at"]  # when it was looked at
    assert here == there
    assert [plan["worktree"] for plan in here["plans"]] == [f"{checkout}/prloom/.local/worktrees/work"]
    assert not (linked / "prloom").exists()
    assert prloom(linked, "doctor", code=None) == prloom(checkout, "doctor", code=None)


def test_a_second_dispatcher_in_another_worktree_says_who_is_at_work(checkout: Path, linked: Path) -> None:
    with SafeDir.make(checkout, "prloom", ".local") as local:
        lock = DispatcherLock(local)
        lock.acquire()
        said = prloom(linked, "start", "--once", code=1)
        lock.release()

    assert f"process {os.getpid()}" in said
    assert said.count("\n") == 1
