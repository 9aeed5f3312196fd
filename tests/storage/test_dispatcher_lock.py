from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from faulty_disks import FailingDisk
from msgspec.structs import replace

from prloom.errors import AlreadyRunningError, StorageError, UnsafePathError
from prloom.storage import dispatcher_files, paths
from prloom.storage.dispatcher_files import DispatcherLock

if TYPE_CHECKING:
    from collections.abc import Callable

    from prloom.storage.safe_dir import SafeDir


def test_nobody_ever_had_a_new_repository(folder: SafeDir) -> None:
    assert dispatcher_files.owner(folder) is None


def test_who_has_the_repository_can_be_seen_without_a_lock(folder: SafeDir) -> None:
    with DispatcherLock(folder):
        found = dispatcher_files.owner(folder)

        assert found is not None
        assert (found.pid, found.alive) == (os.getpid(), True)
        assert found.started_at.endswith("Z")
        assert str(found.last_tick_at) >= found.started_at[:19]


def test_after_release_the_last_tick_is_still_known_but_nobody_is_alive(folder: SafeDir) -> None:
    with DispatcherLock(folder):
        os.utime(Path(folder.path) / dispatcher_files.OWNER, (1_000_000_000, 1_000_000_000))
        before = dispatcher_files.owner(folder)
    after = dispatcher_files.owner(folder)

    assert before is not None
    assert after == replace(before, alive=False, certain=False)


def test_a_second_dispatcher_is_told_who_has_the_repository_since_when_and_what_now(
    folder: SafeDir, other: subprocess.Popen[str]
) -> None:
    found = dispatcher_files.owner(folder)
    assert found is not None

    for _ in range(2):
        with pytest.raises(AlreadyRunningError) as refused:
            DispatcherLock(folder).acquire()
        assert str(refused.value) == (
            f"a dispatcher already runs here: process {other.pid}, since {found.started_at}; "
            f"see what it does with `prloom status`, or end it with `kill {other.pid}`"
        )
    assert dispatcher_files.owner(folder) == found


def test_two_dispatchers_in_one_process_are_still_two(folder: SafeDir) -> None:
    with DispatcherLock(folder), pytest.raises(AlreadyRunningError, match=f"process {os.getpid()}, since 20"):
        DispatcherLock(folder).acquire()


def test_a_dispatcher_that_was_killed_is_not_alive_and_its_successor_takes_over(
    folder: SafeDir, other: subprocess.Popen[str]
) -> None:
    os.kill(other.pid, signal.SIGKILL)
    other.wait()

    before = dispatcher_files.owner(folder)
    assert before is not None
    assert (before.pid, before.alive) == (other.pid, False)
    with DispatcherLock(folder):
        after = dispatcher_files.owner(folder)
    assert after is not None
    assert after.pid == os.getpid()


def test_a_dead_process_that_nobody_waited_for_is_not_alive(folder: SafeDir, other: subprocess.Popen[str]) -> None:
    os.kill(other.pid, signal.SIGKILL)
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)

    assert dispatcher_files.started(other.pid) is None
    found = dispatcher_files.owner(folder)
    assert found is not None
    assert not found.alive


def test_a_holder_that_cannot_be_named_is_still_respected(folder: SafeDir) -> None:
    with DispatcherLock(folder):
        folder.remove(dispatcher_files.OWNER)

        with pytest.raises(AlreadyRunningError, match=r"another process holds .*dispatcher\.lock; wait for it to end"):
            DispatcherLock(folder).acquire()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "1"}', '{"pid": -1}', '{"pid": 1, "startTime": 1}'])
def test_an_owner_file_that_says_nothing_is_no_owner(folder: SafeDir, content: str) -> None:
    folder.replace(dispatcher_files.OWNER, content.encode())

    assert dispatcher_files.owner(folder) is None


@pytest.mark.parametrize("pid", [0, -1, -(2**31), 2**22 + 1, 2**70])
def test_no_pid_whatever_harms_or_is_alive(folder: SafeDir, pid: int) -> None:
    about = {"pid": pid, "startTime": 0, "startedAt": "2026-01-01T00:00:00Z", "stopped": False}
    folder.replace(dispatcher_files.OWNER, json.dumps(about).encode())

    found = dispatcher_files.owner(folder)

    assert found is None or not found.alive


def test_each_tick_is_the_owner_files_time_of_change(folder: SafeDir) -> None:
    with DispatcherLock(folder) as lock:
        path = Path(folder.path) / dispatcher_files.OWNER
        os.utime(path, (1_000_000_000, 1_000_000_000))
        early = dispatcher_files.owner(folder)
        lock.touch()
        late = dispatcher_files.owner(folder)

    assert early is not None
    assert str(early.last_tick_at) == "2001-09-09T01:46:40.000Z"
    assert late is not None
    assert str(late.last_tick_at) > "2026"


def test_a_tick_brings_back_an_owner_file_that_was_removed(folder: SafeDir) -> None:
    with DispatcherLock(folder) as lock:
        folder.remove(dispatcher_files.OWNER)
        lock.touch()

        found = dispatcher_files.owner(folder)
        assert found is not None
        assert found.alive


def test_a_lock_in_whose_place_stands_something_else_is_refused(
    folder: SafeDir, intruder: Callable[[Path], str]
) -> None:
    kind = intruder(Path(folder.path) / paths.LOCK)

    with pytest.raises(UnsafePathError, match=f"dispatcher.lock is {kind}"):
        DispatcherLock(folder).acquire()


def test_who_cannot_say_that_it_has_the_repository_does_not_have_it(folder: SafeDir) -> None:
    folder.disk = FailingDisk("rename")
    unlucky = DispatcherLock(folder)
    with pytest.raises(StorageError, match="Input/output error"):
        unlucky.acquire()

    with DispatcherLock(folder):
        assert dispatcher_files.owner(folder) is not None


def test_who_cannot_say_that_it_has_ended_gives_the_lock_back_all_the_same(folder: SafeDir) -> None:
    lock = DispatcherLock(folder)
    lock.acquire()
    folder.disk = FailingDisk("touch")

    lock.release()

    with DispatcherLock(folder):
        assert dispatcher_files.owner(folder) is not None


def test_a_lock_can_be_taken_again_and_releasing_twice_is_fine(folder: SafeDir) -> None:
    lock = DispatcherLock(folder)
    for _ in range(2):
        lock.acquire()
        lock.release()
        lock.release()


def test_seeing_who_has_the_repository_imports_nothing_heavy(folder: SafeDir) -> None:
    code = (
        "import sys; from prloom.storage.safe_dir import SafeDir;"
        "from prloom.storage import document, envelope, journal, dispatcher_files;"
        "dispatcher_files.owner(SafeDir.open(sys.argv[1]));"
        "print([m for m in ('filelock', 'asyncio', 'pydantic', 'logging', 'pathlib',"
        " 'secrets', 'subprocess', 'json') if m in sys.modules])"
    )

    seen = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r};" + code, folder.path],
        capture_output=True,
        text=True,
        check=True,
    )

    assert seen.stdout.strip() == "[]"


def test_a_quiet_holder_keeps_dispatchers_away_and_is_none(folder: SafeDir) -> None:
    with DispatcherLock(folder, quiet=True):
        assert dispatcher_files.owner(folder) is None
        with pytest.raises(AlreadyRunningError, match=r"another process holds .*dispatcher\.lock"):
            DispatcherLock(folder).acquire()

    assert dispatcher_files.owner(folder) is None


def test_a_quiet_holder_does_not_speak_for_the_dispatcher_before_it(folder: SafeDir) -> None:
    with DispatcherLock(folder):
        pass
    before = dispatcher_files.owner(folder)

    with DispatcherLock(folder, quiet=True):
        assert dispatcher_files.owner(folder) == before
    assert dispatcher_files.owner(folder) == before


def test_a_dispatcher_waits_for_a_quiet_holder_but_not_for_another_dispatcher(folder: SafeDir) -> None:
    quiet = DispatcherLock(folder, quiet=True)
    quiet.acquire()
    threading.Timer(0.05, quiet.release).start()

    with DispatcherLock(folder):
        found = dispatcher_files.owner(folder)

    assert found is not None
    assert found.alive
