from __future__ import annotations

import errno
import os
from inspect import getmembers, isfunction
from typing import TYPE_CHECKING

import pytest
from faulty_disks import Crash, CrashingDisk, FailingDisk, NotingDisk, WatchedDisk

from prloom.storage.disk import Disk
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from pathlib import Path


def test_no_change_of_the_real_disk_goes_unwatched() -> None:
    changes = {name for name, _ in getmembers(Disk, isfunction)}

    assert {name for name in changes if name not in vars(WatchedDisk)} == set()


def test_a_crashed_process_changes_nothing_ever_after(folder: SafeDir) -> None:
    folder.disk = CrashingDisk(before=2)

    for _ in range(2):
        with pytest.raises(Crash, match="before"):
            folder.replace("file", b"x")
    with pytest.raises(Crash, match="before unlink"):
        folder.remove("file")

    assert [name for name in folder.names() if not name.endswith(".tmp")] == []


def test_a_torn_write_leaves_half_of_its_bytes(folder: SafeDir) -> None:
    folder.disk = CrashingDisk(before=2, torn=True)

    with pytest.raises(Crash):
        folder.replace("file", b"0123456789")

    (leftover,) = folder.names()
    assert folder.read_bytes(leftover) == b"01234"


def test_only_the_named_operation_fails_and_only_once(folder: SafeDir) -> None:
    folder.disk = FailingDisk("touch", errno.EROFS, nth=2)
    folder.replace("file", b"")

    folder.disk.touch("file", folder.fd)
    with pytest.raises(OSError, match="Read-only file system"):
        folder.disk.touch("file", folder.fd)
    folder.disk.touch("file", folder.fd)


def test_changes_are_noted_in_their_order(tmp_path: Path) -> None:
    disk = NotingDisk()
    with SafeDir.make(tmp_path, "a", disk=disk) as folder:
        fd = folder.open_to_append("log")
        disk.write(fd, b"x")
        disk.truncate(fd, 0)
        disk.fdatasync(fd)
        os.close(fd)
        folder.link("log", "second")
        folder.remove("second")
        disk.touch("log", folder.fd, 1.0)

    expected = ["mkdir", "fsync", "create", "fsync", "write", "truncate", "fdatasync", "link", "unlink", "touch"]
    assert disk.done == expected
