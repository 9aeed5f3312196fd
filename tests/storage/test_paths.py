"""What prloom writes is its owner's alone, whatever the umask says and whoever made it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir


@pytest.fixture(params=[0, 0o022])
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("path", "folder", "files"),
    [
        ("/r/prloom/.local", True, True),
        ("/r/prloom/.local/bus/state", True, True),
        ("/r/prloom/.local/worktrees", True, False),
        ("/r/prloom/.local/worktrees/p", True, False),
        ("/r/prloom/.local/worktrees/p/src", False, False),
        ("/r/prloom/.local/worktrees/p/prloom", False, False),
        ("/r/prloom/.local/worktrees/p/prloom/.local", True, True),
        ("/r/prloom/.local/worktrees/p/prloom/.local/runs/1", True, True),
        ("/trees/p/prloom/.local/bus", True, True),
        ("/r", False, False),
        ("/r/prloom", False, False),
        ("/r/.local/bus", False, False),
        ("/r/prloom/.localised", False, False),
    ],
)
def test_prlooms_own_is_told_from_a_branchs(path: str, folder: bool, files: bool):  # noqa: FBT001
    assert (paths.is_private_folder(path), paths.has_private_files(path)) == (folder, files)


@pytest.mark.usefixtures("_umask")
def test_what_is_made_is_its_owners_alone(tmp_path: Path):
    with SafeDir.make(tmp_path, "prloom", ".local", "bus") as bus:
        bus.replace("whole.json", b"{}")
        os.close(bus.open_to_append("events.jsonl"))

    made = tmp_path / "prloom/.local/bus"
    assert [mode(each) for each in (made.parent, made)] == [0o700, 0o700]
    assert {mode(each) for each in made.iterdir()} == {0o600}


@pytest.mark.usefixtures("_umask")
def test_what_an_earlier_version_left_open_to_others_is_closed_when_it_is_opened(tmp_path: Path):
    bus = tmp_path / "prloom/.local/bus"
    bus.mkdir(parents=True)
    (bus / "events.jsonl").touch()

    with SafeDir.make(tmp_path, "prloom", ".local", "bus") as folder:
        os.close(folder.open_to_append("events.jsonl"))

    assert [mode(each) for each in (bus.parent, bus, bus / "events.jsonl")] == [0o700, 0o700, 0o600]


def test_a_plans_worktree_is_closed_when_it_is_opened_and_the_branchs_files_are_left_alone(tmp_path: Path):
    worktree = tmp_path / "prloom/.local/worktrees/p"
    (worktree / "src").mkdir(parents=True)
    (worktree / "src/app.py").touch()
    for each in (worktree, worktree / "src", worktree / "src/app.py"):
        each.chmod(0o777)

    with SafeDir.make(worktree, "prloom", ".local"), SafeDir.make(worktree, "src") as source:
        source.read_bytes("app.py")

    assert mode(worktree) == 0o700
    assert [mode(each) for each in (worktree / "src", worktree / "src/app.py")] == [0o777, 0o777]


@pytest.mark.parametrize("name", ["plan.md", "review.md"])
def test_what_people_edit_keeps_its_mode(tmp_path: Path, name: str):
    local = tmp_path / "prloom/.local"
    local.mkdir(parents=True)
    (local / name).touch()
    (local / name).chmod(0o640)

    with SafeDir.make(tmp_path, "prloom", ".local") as folder:
        folder.read_bytes(name)

    assert mode(local / name) == 0o640
