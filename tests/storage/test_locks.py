from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prloom.errors import StorageError
from prloom.storage import locks
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


def _hold(path: str, ready: Connection) -> None:
    with SafeDir.make(path) as folder, locks.locked(folder):
        ready.send("held")
        ready.recv()


def test_a_second_holder_waits_for_a_bounded_time_and_is_told_who_holds_it(folder: SafeDir) -> None:
    with (
        locks.locked(folder),
        pytest.raises(
            StorageError, match=f"bus has been locked by .*{os.getpid()} for more than 0.05 s; check what it does"
        ),
        locks.locked(folder, timeout=0.05),
    ):
        pytest.fail("held twice")


def test_a_lock_can_be_taken_again_after_it_was_given_back(folder: SafeDir) -> None:
    for _ in range(2):
        with pytest.raises(KeyError), locks.locked(folder, timeout=0):
            raise KeyError
    assert folder.names() == ()


def test_readers_share_and_writers_do_not(folder: SafeDir) -> None:
    with (
        locks.locked(folder, exclusive=False),
        locks.locked(folder, exclusive=False, timeout=0),
        pytest.raises(StorageError, match="has been locked by"),
        locks.locked(folder, timeout=0),
    ):
        pytest.fail("a writer among readers")


def test_a_waiter_gets_the_lock_as_soon_as_its_holder_is_killed(folder: SafeDir) -> None:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    holder = spawn.Process(target=_hold, args=(folder.path, theirs))
    holder.start()
    assert ours.recv() == "held"
    with (
        pytest.raises(StorageError, match=f"has been locked by process {holder.pid} "),
        locks.locked(folder, timeout=0),
    ):
        pytest.fail("held twice")

    os.kill(holder.pid or 0, signal.SIGKILL)
    with locks.locked(folder, timeout=60):
        holder.join(60)

    assert holder.exitcode == -signal.SIGKILL


def test_threads_exclude_one_another_through_the_same_folder(folder: SafeDir) -> None:
    inside: list[str] = []

    def work(name: str) -> None:
        for _ in range(20):
            with locks.locked(folder, timeout=60):
                inside.append(name)
                time.sleep(0)
                inside.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(inside) == 120
    assert inside[::2] == inside[1::2]


def test_a_program_started_meanwhile_does_not_inherit_the_lock(folder: SafeDir) -> None:
    with locks.locked(folder):
        inheritable = [int(fd.name) for fd in Path("/dev/fd").iterdir() if _inheritable(int(fd.name))]

    assert not [fd for fd in inheritable if fd > 2 and _is(fd, folder.path)]


def _inheritable(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:
        return False


def _is(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), Path(path).stat())
    except OSError:
        return False
