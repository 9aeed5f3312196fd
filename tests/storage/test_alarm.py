from __future__ import annotations

from pathlib import Path

import pytest

from prloom.storage import alarm
from prloom.storage.alarm import Alarm
from prloom.storage.folder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder.make(tmp_path)


def test_what_is_told_can_be_read_until_it_is_taken_back(folder: Folder) -> None:
    told = Alarm(folder)
    before = alarm.read(folder)
    told.tell("the disk is full")
    during = alarm.read(folder)
    told.close()

    assert (before, during, alarm.read(folder)) == (None, "the disk is full", None)


def test_a_trouble_takes_no_more_room_than_there_was_from_the_start(folder: Folder, tmp_path: Path) -> None:
    told = Alarm(folder)
    before = (tmp_path / alarm.FILE).stat()
    told.tell("\x01\N{SNOWMAN}" * 5000)
    after = (tmp_path / alarm.FILE).stat()
    read = alarm.read(folder)
    told.close()

    assert (before.st_ino, before.st_size) == (after.st_ino, after.st_size)
    assert read
    assert ("\x01\N{SNOWMAN}" * 5000).startswith(read)


def test_a_shorter_trouble_leaves_nothing_of_a_longer_one(folder: Folder) -> None:
    told = Alarm(folder)
    told.tell("x" * 500)
    told.tell("short")
    read = alarm.read(folder)
    told.close()

    assert read == "short"


def test_nobody_ever_told_anything_in_a_new_folder(folder: Folder) -> None:
    assert alarm.read(folder) is None


def test_a_file_system_with_room_is_no_trouble(folder: Folder) -> None:
    assert alarm.of_file_system(folder) is None
