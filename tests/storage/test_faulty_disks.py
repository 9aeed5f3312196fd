from __future__ import annotations

from inspect import getmembers, isfunction

import pytest
from faulty_disks import Crash, CrashingDisk, WatchedDisk

from prloom.storage.disk import Disk
from prloom.storage.safe_dir import SafeDir


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
