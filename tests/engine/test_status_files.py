"""What other commands show of a dispatcher is written when it is new, each file for itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from faulty_disks import FullDisk, NotingDisk

from prloom.engine.status_files import StatusFiles, StatusRows
from prloom.errors import StorageError
from prloom.model.record import Timestamp
from prloom.storage import error_log
from prloom.storage.safe_dir import SafeDir

NOON = Timestamp(2026, 1, 1, 12, tzinfo=UTC)
NAMES = ("work", "plugins", "bridges", "plans")


class Files:
    """Status files in a folder, and what they say."""

    def __init__(self, folder: SafeDir) -> None:
        self.folder = folder
        self.status_files = StatusFiles(folder, Path(folder.path).parent)

    def write(
        self,
        *,
        plugins: StatusRows = (),
        bridges: StatusRows = (),
        unreadable: Mapping[str, str] | None = None,
        at: Timestamp = NOON,
    ) -> None:
        """Write the status of a dispatcher without work."""
        self.status_files.write({"plans": []}, plugins, bridges, unreadable or {}, at)

    def begin_anew(self) -> None:
        """Have the dispatcher started again."""
        self.status_files = StatusFiles(self.folder, Path(self.folder.path).parent)

    def read(self, name: str) -> Any:
        """Return what is written in a file."""
        return json.loads((Path(self.folder.path) / f"{name}.json").read_text())

    def bridge(self) -> Any:
        """Return what is written of the one bridge."""
        return self.read("bridges")["bridges"][0]


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


def test_a_bridge_that_was_not_asked_yet_keeps_the_times_of_the_dispatcher_before(files: Files, disk: NotingDisk):
    files.write(bridges=[bridge(NOON)])
    files.begin_anew()

    files.write(bridges=[{**bridge(NOON), "lastPollAt": None, "lastOkAt": None, "error": "it cannot be loaded"}])
    assert (files.bridge()["lastPollAt"], files.bridge()["lastOkAt"]) == (str(NOON), str(NOON))

    disk.done.clear()
    files.write(bridges=[{**bridge(NOON), "lastPollAt": None, "lastOkAt": None, "error": "it cannot be loaded"}])
    assert disk.done == []

    files.write(bridges=[bridge(later(60))])
    assert files.bridge()["lastPollAt"] == str(later(60))


def test_the_first_poll_after_a_restart_is_written_however_soon_it_comes(files: Files):
    files.write(bridges=[bridge(NOON)])
    files.begin_anew()
    files.write(bridges=[{**bridge(NOON), "lastPollAt": None, "lastOkAt": None}])

    soon = Timestamp.of(NOON + timedelta(seconds=1))
    files.write(bridges=[bridge(soon, requests=7)])

    assert (files.bridge()["lastPollAt"], files.bridge()["requests"]["total"]) == (str(soon), 7)


@pytest.mark.parametrize("noted", ['"yesterday"', "7", "null"])
def test_times_that_cannot_be_read_are_no_times(files: Files, tmp_path: Path, noted: str):
    found = f'{{"bridges": [{{"name": "forge", "lastPollAt": {noted}}}, {{"lastPollAt": 1}}, 3]}}'
    (tmp_path / "state/bridges.json").write_text(found)

    files.write(bridges=[{**bridge(NOON), "lastPollAt": None, "lastOkAt": None}])

    assert (files.bridge()["lastPollAt"], files.bridge()["lastOkAt"]) == (None, None)


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


def later(minutes: int) -> Timestamp:
    return Timestamp.of(NOON + timedelta(minutes=minutes))


def test_what_is_wrong_has_the_time_at_which_it_was_first_reported_until_it_is_over(files: Files):
    files.write(bridges=[bridge(NOON)], plugins=[{"name": "p", "error": "ImportError"}])
    files.write(bridges=[{**bridge(NOON, "502"), "warnings": ["line 3"]}], at=later(1))
    files.write(bridges=[{**bridge(NOON, "503"), "warnings": ["line 4"]}], at=later(2))

    assert (files.bridge()["errorSince"], files.bridge()["warningsSince"]) == (str(later(1)), str(later(1)))
    files.write(bridges=[{**bridge(NOON), "warnings": ["line 4"]}], at=later(3))
    assert "errorSince" not in files.bridge()
    files.write(bridges=[bridge(NOON, "502")], at=later(4))
    assert files.bridge()["errorSince"] == str(later(4))
    assert "warningsSince" not in files.bridge()


def test_what_was_wrong_before_the_dispatcher_was_started_again_keeps_its_time(files: Files):
    files.write(
        bridges=[bridge(NOON, "502")], plugins=[{"name": "p", "error": "ImportError"}], unreadable={"pr-1": "damaged"}
    )
    files.begin_anew()

    files.write(bridges=[{**bridge(NOON), "lastPollAt": None}], plugins=[{"name": "p", "error": "x"}], at=later(1))
    files.write(bridges=[bridge(NOON, "502")], unreadable={"pr-1": "damaged", "pr-2": "gone"}, at=later(2))

    assert files.bridge()["errorSince"] == str(NOON)
    assert files.read("plugins")["plugins"] == []
    assert files.read("plans")["since"] == {"pr-1": str(later(2)), "pr-2": str(later(2))}


def test_a_plan_that_cannot_be_opened_has_the_time_since_when(files: Files):
    files.write(unreadable={"pr-1": "damaged"})
    files.begin_anew()

    files.write(unreadable={"pr-1": "damaged", "pr-2": "gone"}, at=later(1))

    assert files.read("plans")["since"] == {"pr-1": str(NOON), "pr-2": str(later(1))}


def logged(files: Files) -> list[tuple[str, str, str, str, str, bool]]:
    errors = error_log.newest_first(Path(files.folder.path).parent, None)
    return [(each.source, each.name, each.text, str(each.since), str(each.until), each.works) for each in errors][::-1]


def test_an_error_that_is_over_is_logged_with_its_first_text_also_one_of_the_dispatcher_before(files: Files):
    files.write(bridges=[bridge(NOON, "502")], plugins=[{"name": "p", "error": "ImportError"}])
    files.write(bridges=[bridge(NOON, "503")], plugins=[{"name": "p", "error": "ImportError"}])
    assert logged(files) == []
    files.begin_anew()

    files.write(bridges=[bridge(NOON)], plugins=[{"name": "p", "error": "ImportError"}], at=later(1))
    files.write(bridges=[bridge(NOON)], unreadable={"pr-1": "damaged"}, at=later(2))
    files.write(bridges=[bridge(NOON)], at=later(3))

    assert logged(files) == [
        ("bridge", "forge", "503", str(NOON), str(later(1)), True),
        ("plugin", "p", "ImportError", str(NOON), str(later(2)), False),
        ("plan", "pr-1", "damaged", str(later(2)), str(later(3)), False),
    ]


def test_errors_that_are_over_at_the_same_time_are_all_logged(files: Files):
    files.write(bridges=[bridge(NOON, "502")], plugins=[{"name": "p", "error": "ImportError"}])
    files.write(bridges=[bridge(NOON)], plugins=[{"name": "p"}], at=later(1))

    assert [(source, name) for source, name, *_ in logged(files)] == [("plugin", "p"), ("bridge", "forge")]


def test_warnings_that_are_over_are_not_errors(files: Files):
    files.write(bridges=[{**bridge(NOON), "warnings": ["line 3"]}])
    files.write(bridges=[bridge(NOON)], at=later(1))

    assert logged(files) == []


def test_an_error_that_could_not_be_logged_is_logged_by_the_next_call(files: Files, tmp_path: Path):
    files.write(bridges=[bridge(NOON, "502")])
    in_the_way = tmp_path / "prloom/.local/error-log"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.touch()
    with pytest.raises(StorageError, match="error-log"):
        files.write(bridges=[bridge(NOON)], at=later(1))
    assert files.bridge()["error"] is None
    in_the_way.unlink()

    files.write(bridges=[bridge(NOON)], at=later(2))

    assert logged(files) == [("bridge", "forge", "502", str(NOON), str(later(1)), True)]


def test_an_error_that_is_logged_twice_counts_once(files: Files, tmp_path: Path):
    files.write(bridges=[bridge(NOON, "502")])
    killed = (tmp_path / "state/bridges.json").read_bytes()
    files.write(bridges=[bridge(NOON)], at=later(1))
    (tmp_path / "state/bridges.json").write_bytes(killed)  # as if the dispatcher were killed before it was written
    files.begin_anew()

    files.write(bridges=[bridge(NOON)], at=later(2))

    assert logged(files) == [("bridge", "forge", "502", str(NOON), str(later(2)), True)]
