"""What a run's folder says about it."""

from __future__ import annotations

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prloom import processes
from prloom.agents import fate, runs
from prloom.agents.fate import CutShort, Finished, Lost, Running
from prloom.agents.runs import Exit, Process, Watch

NOW = datetime(2026, 11, 21, tzinfo=UTC)
END = Exit(code=0, ended_by="exit", started_at=NOW, ended_at=NOW, duration_ms=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    runs.create(path)
    return path


def test_a_folder_without_a_lock_was_cut_short_before_it_began(folder: Path) -> None:
    assert fate.inspect(folder) == CutShort()


def test_a_run_whose_folder_is_missing_is_lost(tmp_path: Path) -> None:
    assert fate.inspect(tmp_path / "nowhere") == Lost("is missing")


def test_a_run_is_lost_whose_folder_was_replaced(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "file").write_text("")

    replaced = Lost("was replaced by something that is not a folder")
    assert fate.inspect(tmp_path / "link") == replaced
    assert fate.inspect(tmp_path / "file") == replaced


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_run_is_lost_whose_folder_cannot_be_read(folder: Path) -> None:
    folder.chmod(0)

    assert fate.inspect(folder) == Lost("cannot be opened (Permission denied)")


def test_a_free_lock_and_an_end_mean_finished(folder: Path) -> None:
    runs.write_new(folder, runs.LOCK, b"")
    runs.write_new(folder, runs.EXIT, runs.encode(END))

    assert fate.inspect(folder) == Finished(END)


def test_a_free_lock_without_an_end_means_cut_short_even_if_the_process_id_lives_on(folder: Path) -> None:
    me = processes.identity(1)
    assert me is not None
    runs.write_new(folder, runs.LOCK, b"")
    runs.write_new(folder, runs.SUPERVISOR, runs.encode(Watch(run="run", supervisor=me, agent=me)))

    assert fate.inspect(folder) == CutShort()


def test_a_held_lock_means_running_whatever_an_agent_has_written(folder: Path) -> None:
    runs.write_new(folder, runs.EXIT, runs.encode(END))
    supervisor = Process(pid=1, started="1")
    runs.write_new(folder, runs.SUPERVISOR, runs.encode(Watch(run="run", supervisor=supervisor, agent=supervisor)))
    with (folder / runs.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert fate.inspect(folder) == Running(supervisor)


def test_a_run_in_its_first_moment_is_running(folder: Path) -> None:
    with (folder / runs.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert fate.inspect(folder) == Running(None)


def test_a_lock_that_is_a_link_is_none(folder: Path, tmp_path: Path) -> None:
    with (tmp_path / "elsewhere").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / runs.LOCK).symlink_to(tmp_path / "elsewhere")

        assert fate.inspect(folder) == CutShort()
