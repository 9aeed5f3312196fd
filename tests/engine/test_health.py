"""What is wrong with a dispatcher as a whole is logged once, and told to other commands while it lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from prloom.engine.health import SLOW, Health
from prloom.errors import AlreadyRunningError, FolderRemovedError, PrloomError, StorageError, UnsafePathError
from prloom.storage import health_file
from prloom.storage.safe_dir import SafeDir

QUICK = timedelta(milliseconds=3)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[SafeDir]:
    with SafeDir.make(tmp_path) as opened:
        yield opened


@pytest.fixture
def health(folder: SafeDir) -> Iterator[Health]:
    begun = Health()
    begun.begin(folder)
    yield begun
    begun.close()


def phase(error: Exception | None = None) -> Callable[[], None]:
    def poll() -> None:
        if error is not None:
            raise error

    return poll


def test_the_error_of_a_phase_is_reported_until_the_phase_goes_well(health: Health, folder: SafeDir):
    health.run(phase(StorageError("no room")))
    health.report(QUICK)
    assert health_file.read_health(folder) == "no room"

    health.run(phase())
    health.report(QUICK)
    assert health_file.read_health(folder) is None


def test_an_error_is_told_as_soon_as_what_was_in_the_files_place_is_gone(tmp_path: Path, folder: SafeDir):
    place = tmp_path / health_file.HEALTH
    place.mkdir()
    begun = Health()
    begun.begin(folder)
    begun.run(phase(StorageError("no room")))
    begun.report(QUICK)
    place.rmdir()

    begun.report(QUICK)

    assert health_file.read_health(folder) == "no room"
    begun.close()


@pytest.mark.parametrize("error", [StorageError("no room"), ValueError("a bug")])
def test_an_error_that_stays_is_logged_once(health: Health, caplog: pytest.LogCaptureFixture, error: Exception):
    for _ in range(3):
        health.run(phase(error))

    assert len(caplog.records) == 1


def test_a_report_whose_place_is_taken_is_logged_once_and_on_a_full_disk_it_is_an_error(
    health: Health, caplog: pytest.LogCaptureFixture
):
    for _ in range(3):
        health.run_report(phase(UnsafePathError("it is a folder")))
    assert len(caplog.records) == 1

    with pytest.raises(StorageError, match="no room"):
        health.run_report(phase(StorageError("no room")))


@pytest.mark.parametrize("error", [FolderRemovedError("it is gone"), AlreadyRunningError("it is another's")])
def test_a_folder_that_was_removed_or_is_another_dispatchers_ends_the_tick(health: Health, error: PrloomError):
    with pytest.raises(type(error)):
        health.run(phase(error))


@pytest.mark.parametrize(
    ("took", "told"), [(SLOW, None), (3 * SLOW, "the last tick took 15 s; check what slows down the disk")]
)
def test_only_a_slow_tick_is_reported(health: Health, folder: SafeDir, took: timedelta, told: str | None):
    health.report(took)

    found = health_file.read_health(folder)
    assert (found is None, told or "") == (told is None, (found or "")[: len(told or "")])


def test_the_error_of_a_phase_comes_before_all_others(health: Health, folder: SafeDir):
    health.run(phase(StorageError("no room")))

    health.report(2 * SLOW, "plans cannot be listed")

    assert health_file.read_health(folder) == "no room"


def test_an_ended_dispatcher_has_no_error(folder: SafeDir):
    health = Health()
    health.begin(folder)
    health.report(QUICK, "no room")

    health.close()

    assert health_file.read_health(folder) is None


def test_until_there_is_a_folder_errors_are_only_logged(caplog: pytest.LogCaptureFixture):
    health = Health()

    health.run(phase(StorageError("no room")))
    health.report(QUICK)
    health.close()

    assert caplog.messages == ["no room"]
