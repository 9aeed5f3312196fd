from __future__ import annotations

import os
from pathlib import Path

import pytest

from prloom import regular_files


def test_a_file_is_read_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")

    assert regular_files.read(tmp_path / "file") == regular_files.read(tmp_path / "link") == b"text"
    assert regular_files.read(tmp_path / "file", limit=2) == b"te"


def test_a_file_that_is_missing_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        regular_files.read(tmp_path / "file")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")

    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="It is not a regular file") as raised:
            regular_files.read(tmp_path / name)
        assert raised.value.filename == str(tmp_path / name)


def test_a_device_that_never_ends_is_not_read() -> None:
    with pytest.raises(OSError, match="It is not a regular file"):
        regular_files.read(Path("/dev/zero"))


def test_a_folder_is_named_as_one(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        regular_files.read(tmp_path)
