from __future__ import annotations

import os
from pathlib import Path

import pytest

from prloom.engine.bus.plan_folder import PlanFolder
from prloom.errors import UnsafePathError
from prloom.storage.file_stamp import UNCHANGED_FOR
from prloom.storage.replaced_files import KEPT, ReplacedFiles
from prloom.storage.safe_dir import SafeDir


class Clock:
    """Tells of each change of a file as of one that is long past, or has just been."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.since = UNCHANGED_FOR.total_seconds()

    def __call__(self) -> float:
        return self.file.stat().st_ctime + self.since


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "review.md"
    file.write_text("one")
    return file


@pytest.fixture
def clock(file: Path) -> Clock:
    return Clock(file)


@pytest.fixture
def files(tmp_path: Path, clock: Clock) -> PlanFolder:
    folder = SafeDir.open(tmp_path)
    assert folder is not None
    return PlanFolder(folder, clock)


def test_the_stamp_of_a_file_that_nobody_touches_stays(files: PlanFolder) -> None:
    assert files.stamp("review.md") == files.stamp("review.md") is not None


def test_a_file_that_was_overwritten_replaced_or_removed_has_another_stamp(files: PlanFolder, file: Path) -> None:
    stamps = [files.stamp("review.md")]

    file.write_text("one more")
    stamps.append(files.stamp("review.md"))
    files.replace_text("review.md", "one more")
    stamps.append(files.stamp("review.md"))
    file.unlink()
    stamps.append(files.stamp("review.md"))

    assert len(set(stamps)) == len(stamps)


def test_a_file_that_was_changed_a_moment_ago_has_no_stamp(files: PlanFolder, clock: Clock) -> None:
    clock.since -= 0.01

    assert files.stamp("review.md") is None


def test_what_is_not_a_file_has_no_stamp_but_an_error(files: PlanFolder, file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")

    with pytest.raises(UnsafePathError, match=r"review\.md"):
        files.stamp("review.md")


# ---- a program that has the file open while it is replaced


def test_what_a_program_appends_to_a_file_that_was_replaced_is_in_the_new_one(files: PlanFolder, file: Path) -> None:
    with file.open("a") as program:
        program.write("\n- [ ] delete all tests")
        program.flush()
        text = files.read_text("review.md")
        files.replace_text("review.md", f"hello\n{text}")
        program.write(" that fail\n")

    assert files.read_text("review.md") == "hello\none\n- [ ] delete all tests that fail\n"
    assert files.read_text("review.md") == file.read_text()


def test_so_is_what_it_appends_between_the_last_reading_and_the_replacement(files: PlanFolder, file: Path) -> None:
    text = files.read_text("review.md")
    with file.open("a") as program:
        program.write("\n- [ ] one\n")
        program.flush()
        files.replace_text("review.md", f"{text}\nreply")
        program.write("- [ ] two\n")

    assert files.read_text("review.md") == "one\nreply\n- [ ] one\n- [ ] two\n"


def test_what_prloom_itself_has_written_is_not_brought_over(files: PlanFolder) -> None:
    files.read_text("review.md")
    files.replace_text("review.md", "one\nreply")
    files.replace_text("review.md", "one\nreply\nanother")

    assert files.read_text("review.md") == "one\nreply\nanother"


def test_of_a_file_that_another_took_the_place_of_only_what_is_appended_later_is_brought_over(
    files: PlanFolder, file: Path
) -> None:
    files.read_text("review.md")
    file.write_text("quite another text")
    with file.open("a") as program:
        files.replace_text("review.md", "new")
        program.write(" and more")

    assert files.read_text("review.md") == "new and more"


def test_so_is_what_it_appends_after_two_replacements(files: PlanFolder, file: Path) -> None:
    with file.open("a") as program:
        files.replace_text("review.md", "two")
        files.replace_text("review.md", "three")
        program.write(" and more")

    assert files.stamp("review.md") is not None
    assert file.read_text() == "three and more"


def test_a_file_that_could_be_replaced_at_the_second_try_only_gets_nothing_twice(file: Path) -> None:
    folder = SafeDir.open(file.parent)
    assert folder is not None
    replaced = ReplacedFiles(folder)
    replaced.keep("review.md")
    with file.open("a") as program:
        program.write(" and more")
    replaced.bring_over("review.md")
    assert file.read_text() == "one and more"

    replaced.keep("review.md")
    folder.replace("review.md", b"one and more, and a reply")
    replaced.bring_over("review.md")
    assert file.read_text() == "one and more, and a reply"


def test_a_file_that_was_replaced_is_kept_open_for_a_minute(tmp_path: Path, file: Path) -> None:
    folder, now = SafeDir.open(tmp_path), [1000.0]
    assert folder is not None
    replaced = ReplacedFiles(folder, lambda: now[0])
    with file.open("a") as program:
        replaced.keep("review.md")
        folder.replace("review.md", b"two")
        now[0] += KEPT.total_seconds()
        replaced.bring_over("review.md")
        program.write(" and more")
    replaced.bring_over("review.md")

    assert file.read_text() == "two"


def test_a_file_that_could_not_be_replaced_many_times_is_open_once(file: Path) -> None:
    folder = SafeDir.open(file.parent)
    assert folder is not None
    replaced = ReplacedFiles(folder)
    replaced.keep("review.md")

    for _ in range(5):
        replaced.keep("review.md")

    handles = [Path("/proc/self/fd", handle) for handle in os.listdir("/proc/self/fd")]
    assert sum(handle.exists() and handle.samefile(file) for handle in handles) == 1
    replaced.close()
