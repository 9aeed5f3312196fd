"""What other commands show of a dispatcher is written when it is new, each file for itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from faulty_disks import FullDisk, NotingDisk

from prloom.engine.status_files import Status, StatusFiles
from prloom.errors import StorageError
from prloom.model.record import Timestamp
from prloom.storage.safe_dir import SafeDir

NOON = Timestamp(2026, 1, 1, 12, tzinfo=UTC)
NAMES = ("work", "plugins", "bridges", "plans")


class Files:
    """Status files in a folder, and what they say."""

    def __init__(self, folder: SafeDir) -> None:
        self.folder = folder
        self.status_files = StatusFiles(folder)

    def write(self, *, plugins: Status = (), bridges: Status = ()) -> None:
        """Write the status of a dispatcher without work."""
        self.status_files.write({"plans": []}, plugins, bridges, {}, NOON)

    def bridge(self) -> Any:
        """Return what is written of the one bridge."""
        return json.loads((Path(self.folder.path) / "bridges.json").read_text())["bridges"][0]


@pytest.fixture
def disk() -> NotingDisk:
    return NotingDisk()


@pytest.fixture
def files(tmp_path: Path, disk: NotingDisk) -> Iterator[Files]:
    with SafeDir.make(tmp_path, "state", disk=disk) as folder:
        yield Files(folder)


def bridge(at: Timestamp, error: str | None = None, requests: int = 0) -> dict[str, Any]:
    count = {"total": requests, "charged": 0}
    return {"name": "forge", "lastPollAt": at, "lastOkAt": at, "error": error, "requests": count}


def test_a_bridge_that_is_polled_again_and_again_is_written_every_few_seconds(files: Files, disk: NotingDisk):
    files.write(bridges=[bridge(NOON)])
    disk.done.clear()

    for second in range(5):
        files.write(bridges=[bridge(NOON + timedelta(seconds=second), requests=second)])
    assert disk.done == []

    files.write(bridges=[bridge(NOON + timedelta(seconds=5), requests=5)])
    assert (files.bridge()["lastPollAt"], files.bridge()["requests"]["total"]) == ("2026-01-01T12:00:05.000Z", 5)


def test_a_bridges_error_is_written_at_once(files: Files):
    files.write(bridges=[bridge(NOON)])

    files.write(bridges=[bridge(NOON + timedelta(seconds=2), error="no route")])

    assert files.bridge()["error"] == "no route"


def test_a_status_that_could_not_be_written_is_written_by_the_next_call(files: Files):
    target = Path(files.folder.path) / "plugins.json"
    target.mkdir()
    with pytest.raises(StorageError):
        files.write(plugins=[{"name": "p"}])
    target.rmdir()

    files.write(plugins=[{"name": "p"}])

    assert json.loads(target.read_text())["plugins"] == [{"name": "p"}]


@pytest.mark.parametrize("broken", NAMES)
def test_a_file_that_cannot_be_written_keeps_no_other_from_being_written(files: Files, broken: str):
    folder = Path(files.folder.path)
    (folder / f"{broken}.json").mkdir()

    with pytest.raises(StorageError, match=rf"{broken}\.json"):
        files.write()

    assert {name for name in NAMES if (folder / f"{name}.json").is_file()} == {*NAMES} - {broken}


def test_each_file_that_cannot_be_written_is_named(tmp_path: Path):
    with SafeDir.make(tmp_path, disk=FullDisk(0)) as folder, pytest.raises(StorageError) as refused:
        Files(folder).write()

    lines = str(refused.value).split("; cannot write ")
    assert all(f"{name}.json" in line for name, line in zip(NAMES, lines, strict=True))
