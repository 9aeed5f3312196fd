"""A lock file that somebody removes while a dispatcher holds it lets no second one in."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prloom.errors import AlreadyRunningError
from prloom.storage import dispatcher_files, paths
from prloom.storage.dispatcher_files import DispatcherLock

if TYPE_CHECKING:
    from prloom.storage.safe_dir import SafeDir


def name_owner(folder: SafeDir, **about: Any) -> None:
    """Write the owner file of a dispatcher that began at the time of another process, or as given."""
    told = {"startTime": dispatcher_files.started(about["pid"]), "startedAt": "2026-01-01T00:00:00Z", "stopped": False}
    folder.replace(dispatcher_files.OWNER, json.dumps({**told, **about}).encode())


@pytest.mark.parametrize("quiet", [False, True])
def test_a_newcomer_is_refused_by_the_name_of_the_live_owner(
    folder: SafeDir, other: subprocess.Popen[str], *, quiet: bool
) -> None:
    folder.remove(paths.LOCK)
    before = dispatcher_files.owner(folder)

    for _ in range(2):
        with pytest.raises(AlreadyRunningError, match=f"a dispatcher already runs here: process {other.pid}, since 20"):
            DispatcherLock(folder, quiet=quiet).acquire()

    assert before is not None
    assert before.alive
    assert dispatcher_files.owner(folder) == before


def test_an_owner_that_has_stopped_or_was_killed_or_whose_pid_was_given_out_again_refuses_nobody(
    folder: SafeDir, other: subprocess.Popen[str]
) -> None:
    folder.remove(paths.LOCK)
    start = dispatcher_files.started(other.pid)
    assert start

    for about in ({"stopped": True}, {"startTime": start - 1}):
        name_owner(folder, pid=other.pid, **about)
        with DispatcherLock(folder):
            pass
    name_owner(folder, pid=other.pid)
    other.kill()
    other.wait()
    with DispatcherLock(folder):
        pass


def test_a_live_pid_without_a_start_time_may_be_another_process_and_refuses_nobody(
    folder: SafeDir, other: subprocess.Popen[str]
) -> None:
    folder.remove(paths.LOCK)
    name_owner(folder, pid=other.pid, startTime=0)

    with DispatcherLock(folder):
        found = dispatcher_files.owner(folder)

    assert found is not None
    assert found.pid == os.getpid()


def test_the_owner_makes_and_locks_the_file_again_at_its_next_tick(folder: SafeDir) -> None:
    with DispatcherLock(folder) as lock:
        folder.remove(paths.LOCK)
        lock.touch()
        folder.remove(dispatcher_files.OWNER)  # nothing but the lock itself speaks for the owner now

        with pytest.raises(AlreadyRunningError, match=r"another process holds .*dispatcher\.lock"):
            DispatcherLock(folder).acquire()
        lock.touch()
        lock.release()

        with DispatcherLock(folder):
            pass


def test_the_owner_locks_a_file_that_took_the_place_of_its_own(folder: SafeDir) -> None:
    with DispatcherLock(folder) as lock:
        folder.replace(paths.LOCK, b"")
        lock.touch()
        folder.remove(dispatcher_files.OWNER)

        with pytest.raises(AlreadyRunningError, match=r"another process holds .*dispatcher\.lock"):
            DispatcherLock(folder).acquire()


def test_an_owner_whose_lock_another_dispatcher_has_now_says_so_and_leaves_the_others_files_alone(
    folder: SafeDir, request: pytest.FixtureRequest
) -> None:
    lock = DispatcherLock(folder)
    lock.acquire()
    folder.remove(paths.LOCK)
    folder.remove(dispatcher_files.OWNER)  # as on a machine that does not show when a process began
    other: subprocess.Popen[str] = request.getfixturevalue("other")
    theirs = dispatcher_files.owner(folder)

    for _ in range(2):
        with pytest.raises(
            AlreadyRunningError,
            match=rf"dispatcher\.lock was removed .* another dispatcher, process {other.pid}, .*; this one ends",
        ):
            lock.touch()
    lock.release()

    assert dispatcher_files.owner(folder) == theirs
    with pytest.raises(AlreadyRunningError, match=f"process {other.pid}"):
        DispatcherLock(folder).acquire()


def test_a_tick_writes_the_owner_again_where_another_file_took_its_place(folder: SafeDir) -> None:
    with DispatcherLock(folder) as lock:
        name_owner(folder, pid=os.getpid(), stopped=True)
        lock.touch()

        found = dispatcher_files.owner(folder)
        assert found is not None
        assert found.alive


def test_a_tick_that_finds_its_files_opens_and_writes_nothing(folder: SafeDir) -> None:
    with DispatcherLock(folder) as lock:
        before = [Path(folder.path, name).stat().st_ino for name in (paths.LOCK, dispatcher_files.OWNER)]
        lock.touch()

        after = [Path(folder.path, name).stat().st_ino for name in (paths.LOCK, dispatcher_files.OWNER)]
        assert after == before
