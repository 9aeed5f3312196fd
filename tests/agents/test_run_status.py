"""What a run's folder says about it."""

from __future__ import annotations

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prloom import processes
from prloom.agents import run_folder, run_status
from prloom.agents.run_folder import Process, ProcessExit, ProcessWatch
from prloom.agents.run_status import RunFinished, RunInProgress, RunInterrupted, RunLost

NOW = datetime(2026, 11, 21, tzinfo=UTC)
END = ProcessExit(code=0, ended_by="exit", started_at=NOW, ended_at=NOW, duration_ms=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    run_folder.create(path, {})
    return path


def test_a_folder_without_a_lock_was_cut_short_before_it_began(folder: Path) -> None:
    assert run_status.inspect(folder) == RunInterrupted()


def test_a_run_whose_folder_is_missing_is_lost(tmp_path: Path) -> None:
    assert run_status.inspect(tmp_path / "nowhere") == RunLost("is missing")


def test_a_run_is_lost_whose_folder_was_replaced(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "file").write_text("")

    replaced = RunLost("was replaced by something that is not a folder")
    assert run_status.inspect(tmp_path / "link") == replaced
    assert run_status.inspect(tmp_path / "file") == replaced


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_run_is_lost_whose_folder_cannot_be_read(folder: Path) -> None:
    folder.chmod(0)

    assert run_status.inspect(folder) == RunLost("cannot be opened (Permission denied)")


def test_a_free_lock_and_an_end_mean_finished(folder: Path) -> None:
    run_folder.write_new(folder, run_folder.LOCK, b"")
    run_folder.write_new(folder, run_folder.EXIT, run_folder.encode(END))

    assert run_status.inspect(folder) == RunFinished(END)


def test_a_free_lock_without_an_end_means_cut_short_even_if_the_process_id_lives_on(folder: Path) -> None:
    me = processes.identity(1)
    assert me is not None
    run_folder.write_new(folder, run_folder.LOCK, b"")
    run_folder.write_new(
        folder, run_folder.SUPERVISOR, run_folder.encode(ProcessWatch(run="run", supervisor=me, agent=me))
    )

    assert run_status.inspect(folder) == RunInterrupted()


def test_a_held_lock_means_running_whatever_an_agent_has_written(folder: Path) -> None:
    run_folder.write_new(folder, run_folder.EXIT, run_folder.encode(END))
    supervisor = Process(pid=1, started="1")
    run_folder.write_new(
        folder,
        run_folder.SUPERVISOR,
        run_folder.encode(ProcessWatch(run="run", supervisor=supervisor, agent=supervisor)),
    )
    with (folder / run_folder.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert run_status.inspect(folder) == RunInProgress(supervisor)


def test_a_run_in_its_first_moment_is_running(folder: Path) -> None:
    with (folder / run_folder.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert run_status.inspect(folder) == RunInProgress(None)


def test_a_lock_that_is_a_link_is_none(folder: Path, tmp_path: Path) -> None:
    with (tmp_path / "elsewhere").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / run_folder.LOCK).symlink_to(tmp_path / "elsewhere")

        assert run_status.inspect(folder) == RunInterrupted()
