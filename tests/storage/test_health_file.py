from __future__ import annotations

from pathlib import Path

import pytest

from prloom.storage import health_file
from prloom.storage.health_file import HealthFile
from prloom.storage.safe_dir import SafeDir


@pytest.fixture
def folder(tmp_path: Path) -> SafeDir:
    return SafeDir.make(tmp_path)


def test_a_reported_error_can_be_read_until_it_is_taken_back(folder: SafeDir) -> None:
    health = HealthFile(folder)
    before = health_file.read_health(folder)
    health.report("the disk is full")
    during = health_file.read_health(folder)
    health.close()

    assert (before, during, health_file.read_health(folder)) == (None, "the disk is full", None)


def test_an_error_takes_no_more_room_than_there_was_from_the_start(folder: SafeDir, tmp_path: Path) -> None:
    health = HealthFile(folder)
    before = (tmp_path / health_file.HEALTH).stat()
    health.report("\x01\N{SNOWMAN}" * 5000)
    after = (tmp_path / health_file.HEALTH).stat()
    read = health_file.read_health(folder)
    health.close()

    assert (before.st_ino, before.st_size) == (after.st_ino, after.st_size)
    assert read
    assert ("\x01\N{SNOWMAN}" * 5000).startswith(read)


def test_a_shorter_error_leaves_nothing_of_a_longer_one(folder: SafeDir) -> None:
    health = HealthFile(folder)
    health.report("x" * 500)
    health.report("short")
    read = health_file.read_health(folder)
    health.close()

    assert read == "short"


def test_nobody_ever_told_anything_in_a_new_folder(folder: SafeDir) -> None:
    assert health_file.read_health(folder) is None


def test_a_file_system_with_room_is_no_trouble(folder: SafeDir) -> None:
    assert health_file.file_system_error(folder) is None
