from __future__ import annotations

import errno
import os
import stat
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from faulty_disks import DribblingDisk, FailingDisk, FullDisk, NotingDisk

from prloom.errors import StorageError, UnsafePathError
from prloom.storage import repair
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from collections.abc import Callable

    from prloom.storage.disk import Disk

BAD_NAMES = ("", ".", "..", "/etc/passwd", "a/b", "../up", "nul\0byte")


def on(disk: Disk, tmp_path: Path) -> SafeDir:
    return SafeDir.make(tmp_path, "bus", disk=disk)


def test_a_missing_folder_is_none_to_a_reader_and_made_for_a_writer(tmp_path: Path) -> None:
    assert SafeDir.open(tmp_path, "prloom", ".local", "bus") is None

    with SafeDir.make(tmp_path, "prloom", ".local", "bus") as made:
        assert made.path == str(tmp_path / "prloom/.local/bus")

    with SafeDir.open(tmp_path, "prloom") or pytest.fail("not made") as found, found.make_sub("x", "y") as deeper:
        assert deeper.path == str(tmp_path / "prloom/x/y")
        assert found.sub("z") is None


def test_a_missing_root_is_none_to_a_reader_and_an_error_to_a_writer(tmp_path: Path) -> None:
    assert SafeDir.open(tmp_path / "nowhere", "bus") is None
    with pytest.raises(StorageError, match=r"there is no folder .*nowhere; create it, or name another one"):
        SafeDir.make(tmp_path / "nowhere", "bus")


def test_what_prloom_makes_is_for_its_owner_alone(tmp_path: Path) -> None:
    with SafeDir.make(tmp_path, "a", "b") as folder:
        folder.replace("whole", b"x")
        os.close(folder.open_to_append("log"))

    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/whole", "a/b/log")]
    assert modes == [0o700, 0o700, 0o600, 0o600]


def test_the_root_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "shortcut").symlink_to("real")

    with SafeDir.make(tmp_path / "shortcut", "bus") as folder:
        assert folder.path == str(tmp_path / "real" / "bus")


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_beneath_the_root_no_folder_is_reached_through_a_link(tmp_path: Path, depth: int) -> None:
    parts = ("prloom", ".local", "bus")
    (tmp_path / "elsewhere" / "bus").mkdir(parents=True)
    here = (tmp_path / "root").joinpath(*parts[:depth])
    here.mkdir(parents=True)
    (here / parts[depth]).symlink_to(tmp_path / "elsewhere")

    for reach in (SafeDir.open, SafeDir.make):
        with pytest.raises(UnsafePathError, match=f"{here / parts[depth]} is a symbolic link, .*move it away"):
            reach(tmp_path / "root", *parts)
    assert list((tmp_path / "elsewhere" / "bus").iterdir()) == []


def test_a_file_in_a_folders_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "prloom").write_text("")

    with pytest.raises(UnsafePathError, match="prloom is a file, and prloom does not use it"):
        SafeDir.make(tmp_path, "prloom", ".local")


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_is_a_single_plain_component(folder: SafeDir, name: str) -> None:
    uses: list[Callable[[], object]] = [
        lambda: folder.read_bytes(name),
        lambda: folder.replace(name, b""),
        lambda: folder.open_to_append(name),
        lambda: folder.write_new(name, ()),
        lambda: folder.stat(name),
        lambda: folder.sub(name),
        lambda: folder.make_sub(name),
        lambda: folder.remove(name),
        lambda: folder.rename("a", name),
        lambda: folder.rename(name, "a"),
        lambda: folder.link("a", name),
        lambda: repair.quarantine(folder, name, "corrupt"),
    ]
    for use in uses:
        with pytest.raises(UnsafePathError, match="must be a single plain name"):
            use()


def test_only_a_regular_file_is_read_or_written(folder: SafeDir, intruder: Callable[[Path], str]) -> None:
    kind = intruder(Path(folder.path) / "file")

    uses: list[Callable[[], object]] = [
        lambda: folder.read_bytes("file"),
        lambda: folder.replace("file", b"new"),
        lambda: folder.open_to_append("file"),
        lambda: folder.stat("file"),
        lambda: folder.exists("file"),
    ]
    for use in uses:
        with pytest.raises(UnsafePathError, match=f"bus/file is {kind}, and prloom does not use it; find out what"):
            use()


def test_a_link_that_appears_after_the_folder_was_opened_is_not_followed(tmp_path: Path) -> None:
    with SafeDir.make(tmp_path, "bus") as folder:
        (tmp_path / "evil").mkdir()
        (tmp_path / "bus").rename(tmp_path / "moved")
        (tmp_path / "bus").symlink_to("evil")

        folder.replace("file", b"x")

    assert (tmp_path / "moved" / "file").exists()
    assert not (tmp_path / "evil" / "file").exists()


def test_a_missing_file_reads_as_none_and_an_empty_one_as_nothing(folder: SafeDir) -> None:
    folder.replace("empty", b"")

    assert folder.read_bytes("missing") is None
    assert folder.read_bytes("empty") == b""


def test_a_file_over_the_limit_is_not_loaded(folder: SafeDir) -> None:
    folder.replace("big", b"x" * 101)

    assert len(folder.read_bytes("big", limit=101) or b"") == 101
    with pytest.raises(StorageError, match="big has more than 100 bytes; move it away and try again"):
        folder.read_bytes("big", limit=100)


def test_a_huge_file_costs_no_memory(folder: SafeDir) -> None:
    folder.replace("huge", b"")
    os.truncate(Path(folder.path) / "huge", 200 * 1024 * 1024)
    tracemalloc.start()
    try:
        with pytest.raises(StorageError, match="huge has more than 1000 bytes"):
            folder.read_bytes("huge", limit=1000)
        assert tracemalloc.get_traced_memory()[1] < 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_whole_write_is_flushed_before_it_takes_the_name_and_the_name_before_it_returns(tmp_path: Path) -> None:
    disk = NotingDisk()
    with on(disk, tmp_path) as folder:
        disk.done.clear()
        folder.replace("file", b"x")

    assert disk.done == ["create", "write", "fsync", "rename", "fsync"]


def test_a_new_file_to_append_to_has_its_name_flushed(tmp_path: Path) -> None:
    disk = NotingDisk()
    with on(disk, tmp_path) as folder:
        disk.done.clear()
        os.close(folder.open_to_append("log"))
        os.close(folder.open_to_append("log"))

    assert disk.done == ["create", "fsync"]


def test_short_writes_are_completed(tmp_path: Path) -> None:
    with on(DribblingDisk(3), tmp_path) as folder:
        folder.replace("file", b"0123456789")

        assert folder.read_bytes("file") == b"0123456789"


@pytest.mark.parametrize("room", [0, 1, 9])
def test_a_full_disk_leaves_the_old_content_and_no_litter(folder: SafeDir, tmp_path: Path, room: int) -> None:
    folder.replace("file", b"old")

    with (
        on(FullDisk(room), tmp_path) as full,
        pytest.raises(StorageError, match="No space left on device; free some space and try again"),
    ):
        full.replace("file", b"0123456789")

    assert folder.names() == ("file",)
    assert folder.read_bytes("file") == b"old"


@pytest.mark.parametrize("operation", ["create", "write", "fsync", "rename"])
def test_an_error_of_the_disk_leaves_the_old_content_and_no_litter(
    folder: SafeDir, tmp_path: Path, operation: str
) -> None:
    folder.replace("file", b"old")

    with (
        on(FailingDisk(operation, errno.EIO), tmp_path) as failing,
        pytest.raises(StorageError, match=r"cannot \w+ .*bus.*: Input/output error; check the disk"),
    ):
        failing.replace("file", b"new")

    assert folder.names() == ("file",)
    assert folder.read_bytes("file") == b"old"


def test_a_folder_that_was_removed_is_told_from_one_that_is_there(tmp_path: Path) -> None:
    with SafeDir.make(tmp_path, "bus") as folder:
        assert not folder.gone()
        (tmp_path / "bus").rmdir()

        assert folder.gone()
        with pytest.raises(StorageError, match="it was removed while prloom ran; start prloom again"):
            folder.replace("file", b"x")
        with pytest.raises(StorageError, match="it was removed while prloom ran"):
            folder.open_to_append("file")
        with pytest.raises(StorageError, match="it was removed while prloom ran"):
            folder.make_sub("x")


def test_a_folder_without_permission_says_so(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot make the folder .*bus: Permission denied; check who owns it"):
        on(FailingDisk("mkdir", errno.EACCES), tmp_path)


def test_a_descriptor_is_given_back_once(tmp_path: Path) -> None:
    folder = SafeDir.make(tmp_path)
    fd = folder.fd
    folder.close()
    folder.close()

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_what_is_keep_never_replaces_what_was_keep_before(folder: SafeDir) -> None:
    names = []
    for content in (b"1", b"2", b"3"):
        folder.replace("state.json", content)
        names.append(repair.quarantine(folder, "state.json", "corrupt"))
        names.append(repair.quarantine_copy(folder, "log", "torn", [content]))

    assert len(set(names)) == 6
    assert [folder.read_bytes(name) for name in names] == [b"1", b"1", b"2", b"2", b"3", b"3"]
    assert folder.names() == tuple(sorted(names))


def test_only_old_temporary_files_are_swept(folder: SafeDir) -> None:
    leftover = folder.prepare("state.json", b"x")
    folder.replace(".hidden", b"")
    folder.replace("notes.tmp", b"")
    (Path(folder.path) / ".link.tmp").symlink_to("notes.tmp")
    now = time.time()

    assert repair.sweep(folder, now) == ()
    assert repair.sweep(folder, now + 3601) == (leftover,)
    assert folder.names() == (".hidden", ".link.tmp", "notes.tmp")


def test_removing_what_is_missing_is_fine(folder: SafeDir) -> None:
    folder.replace("file", b"")
    folder.remove("file")
    folder.remove("file")

    assert folder.names() == ()
