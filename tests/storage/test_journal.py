from __future__ import annotations

import errno
import json
import multiprocessing
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from faulty_disks import DribblingDisk, FailingDisk, FullDisk, NotingDisk, PatientDisk

from prloom.errors import StorageError, UnsafePathError
from prloom.model.record import START, Cursor, Position
from prloom.storage import lines as cutting
from prloom.storage.journal import Journal
from prloom.storage.reader import JournalEntry, JournalReader
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.synchronize import Barrier

    from prloom.storage.disk import Disk

NAME = "events.jsonl"
A, B, C = b'{"id":"a"}', b'{"id":"b"}', b'{"id":"c"}'


def on(disk: Disk, folder: SafeDir) -> Journal:
    folder.disk = disk
    return Journal(folder, NAME)


@pytest.fixture
def journal(folder: SafeDir) -> Journal:
    return Journal(folder, NAME)


def lines(journal: JournalReader, cursor: Cursor = START) -> list[bytes]:
    return [entry.line for entry in journal.read(cursor).entries]


def content(folder: SafeDir) -> bytes:
    return (Path(folder.path) / NAME).read_bytes()


# ---- appending and reading


def test_lines_come_back_in_order_each_with_its_place(journal: Journal) -> None:
    assert journal.append([A, B]) == Position(1, 0)
    assert journal.append([C]) == Position(1, 22)
    assert [entry.position for entry in journal.read(START).entries] == [(1, 0), (1, 11), (1, 22)]
    assert lines(journal) == [A, B, C]


def test_a_reader_goes_on_where_it_stopped_also_in_another_process(folder: SafeDir, journal: Journal) -> None:
    journal.append([A])
    cursor = journal.read(START).cursor
    journal.append([B])

    kept = Cursor(*json.loads(json.dumps(cursor)))
    assert lines(JournalReader(folder, NAME), kept) == [B]


def test_a_journal_that_does_not_exist_yet_is_empty(folder: SafeDir, journal: Journal) -> None:
    assert journal.read(START) == ((), START, 0, False, 0, None, ())
    assert journal.end() == START
    assert list(journal.scan()) == list(journal.tail(100)) == []
    assert journal.read_at(Position(1, 0)) is None
    assert not journal.find(b"x")
    assert journal.heal() is None
    assert folder.names() == ()


def test_limits_cut_a_read_and_nothing_is_lost_between_two_reads(journal: Journal) -> None:
    journal.append([A] * 10)

    first = journal.read(START, limit_lines=3)
    second = journal.read(first.cursor, limit_lines=3)
    rest = journal.read(second.cursor, limit_bytes=1)

    assert [len(batch.entries) for batch in (first, second, rest)] == [3, 3, 4]


def test_one_append_is_one_write_and_one_flush(folder: SafeDir) -> None:
    disk = NotingDisk()
    journal = on(disk, folder)
    journal.append([A])
    disk.done.clear()

    journal.append([A, B, C])

    assert disk.done == ["write", "fdatasync"]


def test_appending_nothing_writes_nothing(folder: SafeDir, journal: Journal) -> None:
    journal.append([A])

    assert journal.append([]) == Position(1, 11)
    assert content(folder) == A + b"\n"


@pytest.mark.parametrize("line", [b"", b"  ", b'{"a":\n1}', b"{}\n"])
def test_a_line_that_would_not_be_one_line_is_refused_before_anything_is_written(folder: SafeDir, line: bytes) -> None:
    with pytest.raises(StorageError, match="a journal's line is one line with something in it"):
        Journal(folder, NAME).append([A, line])

    assert folder.names() == ()


def test_a_line_that_no_reader_would_take_is_refused(folder: SafeDir) -> None:
    with pytest.raises(StorageError, match="a line of 16777217 bytes is over the limit of 16777216; shorten its text"):
        Journal(folder, NAME).append([b"x" * (cutting.LINE_LIMIT + 1)])


def test_a_block_of_lines_is_appended_as_its_lines_are(journal: Journal) -> None:
    journal.append([A])

    assert journal.append_block(B + b"\n" + C + b"\n") == Position(1, len(A) + 1)
    assert lines(journal, START) == [A, B, C]


def test_a_block_whose_last_line_is_unfinished_is_refused(folder: SafeDir) -> None:
    with pytest.raises(StorageError, match="a journal's line is one line with something in it"):
        Journal(folder, NAME).append_block(A + b"\n" + B)


def test_a_block_may_be_longer_than_a_line_but_none_of_its_lines_may(folder: SafeDir) -> None:
    half = b"x" * (cutting.LINE_LIMIT // 2) + b"\n"

    Journal(folder, NAME).append_block(3 * half)
    with pytest.raises(StorageError, match="a line of 25165824 bytes is over the limit of 16777216; shorten its text"):
        Journal(folder, NAME).append_block(half + 3 * half[:-1] + b"\n")


def test_blank_lines_and_windows_line_ends_are_no_obstacle(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, NAME, A + b"\r\n\n  \n" + B + b"\n")

    batch = Journal(folder, NAME).read(START)

    assert [json.loads(entry.line) for entry in batch.entries] == [{"id": "a"}, {"id": "b"}]
    assert (batch.skipped, batch.unfinished) == (0, 0)


def test_a_line_over_the_limit_is_skipped_and_counted_and_its_neighbours_are_read(
    folder: SafeDir, foreign: Callable[..., None], journal: Journal
) -> None:
    longest = b"x" * cutting.LINE_LIMIT
    foreign(folder, NAME, A + b"\n" + longest + b"\n" + longest + b"x\n" + B + b"\n")

    batch = journal.read(START, limit_bytes=100 * 1024 * 1024)

    assert [len(entry.line) for entry in batch.entries] == [len(A), cutting.LINE_LIMIT, len(B)]
    assert batch.skipped == 1
    assert [len(entry.line) for entry in journal.scan()] == [len(A), cutting.LINE_LIMIT, len(B)]
    assert journal.find(B)


def test_a_line_far_over_the_limit_does_not_stop_the_reader(
    folder: SafeDir, foreign: Callable[..., None], drain: Callable[..., tuple[list[JournalEntry], Cursor]]
) -> None:
    foreign(folder, NAME, A + b"\n" + b"x" * (3 * cutting.LINE_LIMIT) + b"\n" + B + b"\n")
    journal = Journal(folder, NAME)

    entries, _ = drain(journal)

    assert [entry.line for entry in entries] == [A, B]


@pytest.mark.parametrize("size", [63, 64, 65, 511, 512, 513, 1023, 1024, 1025, 5000])
def test_a_line_longer_than_what_is_read_at_once_is_read_whole(
    drain: Callable[..., tuple[list[JournalEntry], Cursor]], size: int, journal: Journal
) -> None:
    long = b"x" * size * 1024
    journal.append([A, long, B])

    assert [entry.line for entry in drain(journal)[0]] == [A, long, B]
    assert journal.read_at(Position(1, 11)) == long
    assert [entry.line for entry in journal.scan()] == [A, long, B]


def test_a_line_by_its_place(journal: Journal) -> None:
    journal.append([A, B])
    journal.rotate()
    journal.append([C])

    assert journal.read_at(Position(1, 11)) == B
    assert journal.read_at(Position(2, 0)) == C
    assert [journal.read_at(Position(*at)) for at in ((1, 5), (1, 22), (2, 99), (3, 0), (0, 0))] == [None] * 5


def test_only_regular_files_are_journals(folder: SafeDir, intruder: Callable[[Path], str]) -> None:
    kind = intruder(Path(folder.path) / NAME)

    for use in (
        lambda: Journal(folder, NAME).append([A]),
        lambda: Journal(folder, NAME).read(START),
        lambda: Journal(folder, NAME).rotate(),
        lambda: list(Journal(folder, NAME).scan()),
    ):
        with pytest.raises(UnsafePathError, match=f"{NAME} is {kind}"):
            use()


def test_an_archive_that_is_a_link_is_refused(folder: SafeDir, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(A + b"\n")
    (Path(folder.path) / "events-000001.jsonl").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UnsafePathError, match=r"events-000001\.jsonl is a symbolic link"):
        Journal(folder, NAME).read(START)


def test_a_line_with_spaces_that_is_too_long_is_refused_with_its_length(folder: SafeDir, journal: Journal) -> None:
    with pytest.raises(StorageError, match=f"a line of {cutting.LINE_LIMIT + 1} bytes is over the limit"):
        journal.append([A, b"x " * (cutting.LINE_LIMIT // 2) + b"y"])

    assert folder.names() == ()


# ---- torn tails


def test_a_torn_tail_is_not_consumed_and_the_reader_is_told(
    folder: SafeDir, foreign: Callable[..., None], journal: Journal
) -> None:
    journal.append([A])
    foreign(folder, NAME, b'{"id":')

    batch = journal.read(START)
    again = journal.read(batch.cursor)

    assert [entry.line for entry in batch.entries] == [A]
    assert (batch.unfinished, again.unfinished) == (6, 6)
    foreign(folder, NAME, b'"b"}\n')
    assert lines(journal, again.cursor) == [B]


def test_a_line_that_takes_the_place_of_a_torn_tail_of_its_length_is_read(
    folder: SafeDir, foreign: Callable[..., None], journal: Journal
) -> None:
    foreign(folder, NAME, b'{"' + b"x" * (len(B) - 1))
    batch = journal.read(START)
    assert batch.unfinished == len(B) + 1

    Journal(folder, NAME).append([B])

    assert lines(journal, batch.cursor) == [B]


def test_the_next_append_moves_a_torn_tail_aside(
    folder: SafeDir, foreign: Callable[..., None], journal: Journal
) -> None:
    journal.append([A])
    foreign(folder, NAME, b'{"id":"to')

    journal.append([B])

    assert content(folder) == A + b"\n" + B + b"\n"
    (aside,) = (name for name in folder.names() if name != NAME)
    assert aside.startswith(NAME + ".torn-")
    assert folder.read_bytes(aside) == b'{"id":"to'


def test_a_tail_that_only_lacks_its_newline_gets_it(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, NAME, A)
    journal = Journal(folder, NAME)

    assert journal.heal() is None
    assert lines(journal) == [A]
    assert folder.names() == (NAME,)


@pytest.mark.parametrize("tail", [b"null", b"[1]", b"\0\0\0\0", b"\xff", b"[" * 100_000, b"7"])
def test_a_tail_that_is_no_object_is_moved_aside(folder: SafeDir, foreign: Callable[..., None], tail: bytes) -> None:
    foreign(folder, NAME, A + b"\n" + tail)

    aside = Journal(folder, NAME).heal()

    assert aside is not None
    assert aside.startswith(NAME + ".torn-")
    assert folder.read_bytes(aside) == tail
    assert content(folder) == A + b"\n"


def test_a_torn_tail_longer_than_any_line_is_moved_aside_too(folder: SafeDir, foreign: Callable[..., None]) -> None:
    tail = b'{"id":"' + b"x" * (cutting.LINE_LIMIT + 5)
    foreign(folder, NAME, A + b"\n" + tail)
    journal = Journal(folder, NAME)

    assert journal.read(START).unfinished == len(tail)
    aside = journal.heal()

    assert aside is not None
    assert folder.read_bytes(aside) == tail
    assert lines(journal) == [A]


def test_what_a_foreign_program_appends_while_a_tail_is_mended_is_not_cut_off(
    folder: SafeDir, foreign: Callable[..., None]
) -> None:
    class Interrupted(NotingDisk):
        def create(self, name: str, folder_fd: int, flags: int, mode: int) -> int:
            if ".torn-" in name:
                foreign(folder, NAME, B + b"\n")
            return super().create(name, folder_fd, flags, mode)

    foreign(folder, NAME, A + b"\n" + b'{"torn')

    on(Interrupted(), folder).append([C])

    assert content(folder) == A + b"\n" + b'{"torn' + B + b"\n" + C + b"\n"


# ---- a disk that fails


@pytest.mark.parametrize("sip", [1, 7])
def test_a_short_write_is_completed(folder: SafeDir, sip: int) -> None:
    journal = on(DribblingDisk(sip), folder)
    journal.append([A, B])

    assert journal.append([C]) == Position(1, 22)
    assert lines(journal) == [A, B, C]


@pytest.mark.parametrize("room", range(11))
def test_a_full_disk_takes_nothing_away_and_leaves_no_half_line(folder: SafeDir, room: int) -> None:
    Journal(folder, NAME).append([A])
    journal = on(FullDisk(room), folder)

    with pytest.raises(StorageError, match=r"cannot write to .*events.jsonl: No space left on device; free some space"):
        journal.append([B])

    assert content(folder) == A + b"\n"
    assert on(FullDisk(1000), folder).append([C]) == Position(1, 11)


def test_after_a_full_disk_the_same_journal_goes_on_when_there_is_room_again(folder: SafeDir) -> None:
    disk = FullDisk(5)
    journal = on(disk, folder)
    with pytest.raises(StorageError):
        journal.append([A])
    disk.room = 100

    journal.append([B])

    assert lines(journal) == [B]


def test_where_half_a_line_cannot_be_taken_back_the_first_error_is_told(folder: SafeDir) -> None:
    class Stuck(FullDisk):
        def truncate(self, fd: int, size: int) -> None:
            raise OSError(errno.EIO, f"cannot cut {fd} to {size}")

    with pytest.raises(StorageError, match="No space left on device; free some space"):
        on(Stuck(5), folder).append([A])

    assert content(folder) == A[:5]


def test_the_limit_of_file_sizes_takes_nothing_away(folder: SafeDir, journal: Journal) -> None:
    journal.append([A])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (15, hard))
    try:
        with pytest.raises(StorageError, match=r"File too large; raise the file size limit \(`ulimit -f`\)"):
            journal.append([B])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)

    assert content(folder) == A + b"\n"
    journal.append([C])
    assert lines(journal) == [A, C]


def test_what_could_not_be_flushed_is_taken_as_lost_until_the_journal_is_opened_anew(folder: SafeDir) -> None:
    Journal(folder, NAME).append([A])
    journal = on(FailingDisk("fdatasync", errno.EIO), folder)

    with pytest.raises(StorageError, match=r"cannot write to .*: Input/output error; check the disk"):
        journal.append([B])
    with pytest.raises(StorageError, match="could not be flushed earlier; check the disk, then start prloom again"):
        journal.append([C])

    assert content(folder) == A + b"\n"
    Journal(folder, NAME).append([C])
    assert lines(journal) == [A, C]


def test_a_failed_write_does_not_cut_off_what_a_foreign_program_appended_behind_it(
    folder: SafeDir, foreign: Callable[..., None]
) -> None:
    class Crowded(FullDisk):
        def write(self, fd: int, block: bytes | memoryview) -> int:
            if not self.room:
                foreign(folder, NAME, C + b"\n")
            return super().write(fd, block)

    Journal(folder, NAME).append([A])

    with pytest.raises(StorageError, match="No space left"):
        on(Crowded(4), folder).append([B])

    assert content(folder).endswith(C + b"\n")
    assert content(folder).startswith(A + b"\n")


# ---- several processes


def _append_many(path: str, who: str, count: int, together: Barrier) -> None:
    with SafeDir.make(path, disk=PatientDisk()) as folder:
        journal = Journal(folder, NAME)
        together.wait(120)
        for number in range(count):
            journal.append([json.dumps({"who": who, "n": number, "pad": who * 700}).encode()] * 2)
            if number % 3 == 0:
                journal.rotate()


def test_processes_that_append_and_rotate_at_once_mix_nothing_and_lose_nothing(folder: SafeDir) -> None:
    spawn = multiprocessing.get_context("spawn")
    together = spawn.Barrier(2)
    writers = [spawn.Process(target=_append_many, args=(folder.path, who, 30, together)) for who in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)

    found = [json.loads(entry.line) for entry in Journal(folder, NAME).scan()]
    assert [writer.exitcode for writer in writers] == [0, 0]
    for who in "ab":
        numbers = [line["n"] for line in found if line["who"] == who]
        assert numbers == [number for number in range(30) for _ in range(2)]
    assert all(line["pad"] == line["who"] * 700 for line in found)


# ---- rotation


def test_rotation_closes_the_segment_and_begins_one_with_a_snapshot(folder: SafeDir, journal: Journal) -> None:
    journal.append([A])

    assert journal.rotate([B]) == Position(2, 0)
    assert journal.append([C]) == Position(2, 11)
    assert journal.append([]) == Position(2, 22)
    assert folder.names() == ("events-000001.jsonl", NAME)
    assert folder.read_bytes("events-000001.jsonl") == A + b"\n"
    assert content(folder) == B + b"\n" + C + b"\n"
    assert journal.segments() == (1, 2)


def test_a_line_that_comes_after_a_rotation_that_was_cut_short_is_in_the_segment_before(folder: SafeDir) -> None:
    Journal(folder, NAME).append([A])
    with pytest.raises(StorageError):
        on(FailingDisk("rename"), folder).rotate([C])

    journal = Journal(folder, NAME)

    assert folder.names() == ("events-000001.jsonl", NAME)
    assert journal.append([B]) == Position(1, 11)
    assert journal.rotate() == Position(2, 0)


def test_a_torn_tail_is_moved_aside_by_a_rotation_too(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, NAME, A + b"\n" + b'{"torn')

    Journal(folder, NAME).rotate([B])

    archive, live, aside = folder.names()
    assert (archive, live) == ("events-000001.jsonl", NAME)
    assert folder.read_bytes(archive) == A + b"\n"
    assert aside.startswith(NAME + ".torn-")


def test_an_archives_name_is_flushed_before_the_live_name_moves_on(folder: SafeDir) -> None:
    disk = NotingDisk()
    journal = on(disk, folder)
    journal.append([A])
    disk.done.clear()

    journal.rotate([B])

    assert disk.done == ["fdatasync", "create", "write", "fsync", "link", "fsync", "rename", "fsync"]


def test_a_reader_goes_through_all_segments(folder: SafeDir, journal: Journal) -> None:
    for line in (A, B, C):
        journal.append([line])
        journal.rotate()

    batch = Journal(folder, NAME).read(START)

    assert [entry.line for entry in batch.entries] == [A, B, C]
    assert [entry.position for entry in batch.entries] == [(1, 0), (2, 0), (3, 0)]
    assert batch.cursor == Cursor(4, 0, 11)


def test_a_journal_learns_of_the_rotations_of_another_process(folder: SafeDir) -> None:
    ours, theirs = Journal(folder, NAME), Journal(folder, NAME)
    ours.append([A])
    cursor = ours.read(START).cursor
    for _ in range(3):
        theirs.append([B])
        theirs.rotate()

    assert lines(ours, cursor) == [B, B, B]
    assert ours.append([C]) == Position(4, 0)
    assert ours.end() == Cursor(4, 11, 11)


def test_a_line_that_comes_late_to_a_closed_segment_is_read(folder: SafeDir, journal: Journal) -> None:
    journal.append([A])
    with (Path(folder.path) / NAME).open("ab", buffering=0) as program:
        journal.rotate()
        passed = journal.read(START).cursor
        program.write(B + b"\n")

    late = JournalReader(folder, NAME).read(passed)

    assert list(late.entries) == [((1, 11), B)]
    assert lines(journal, late.cursor) == []
    journal.append([C])
    assert lines(journal, late.cursor) == [C]


def test_a_late_line_that_is_still_unfinished_is_waited_for(folder: SafeDir, journal: Journal) -> None:
    journal.append([A])
    with (Path(folder.path) / NAME).open("ab", buffering=0) as program:
        journal.rotate()
        program.write(B[:4])
        cursor = journal.read(START).cursor
        program.write(B[4:] + b"\n")

    assert lines(journal, cursor) == [B]


def test_a_reader_at_the_end_sees_only_what_comes_after(journal: Journal) -> None:
    journal.append([A])
    journal.rotate()
    end = journal.end()
    journal.append([B])

    assert end == Cursor(2, 0, 11)
    assert lines(journal, end) == [B]


def test_the_end_is_before_a_torn_tail(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, NAME, A + b"\n" + B[:5])

    assert Journal(folder, NAME).end() == Cursor(1, 11)


def test_a_file_beneath_the_cursor_that_was_cut_is_read_again_and_the_reader_is_told(
    folder: SafeDir, journal: Journal
) -> None:
    journal.append([A, B, C])
    cursor = journal.read(START).cursor
    (Path(folder.path) / NAME).write_bytes(B + b"\n")

    batch = journal.read(cursor)

    assert batch.gap
    assert [entry.line for entry in batch.entries] == [B]
    assert not journal.read(batch.cursor).gap


def test_segments_that_were_taken_away_are_passed_over_and_the_reader_is_told(
    folder: SafeDir, journal: Journal
) -> None:
    for line in (A, B, C, A):
        journal.append([line])
        journal.rotate()
    folder.remove("events-000001.jsonl")
    folder.remove("events-000003.jsonl")

    batch = Journal(folder, NAME).read(START)

    assert batch.gap
    assert [entry.position for entry in batch.entries] == [(2, 0), (4, 0)]
    assert batch.cursor == Cursor(5, 0, 11)
    assert not Journal(folder, NAME).read(batch.cursor).gap
    assert [entry.line for entry in Journal(folder, NAME).scan()] == [B, A]


def test_a_cursor_from_before_all_archives_were_taken_away_begins_anew(folder: SafeDir, journal: Journal) -> None:
    for line in (A, B):
        journal.append([line])
        journal.rotate()
    journal.append([C])
    cursor = journal.read(START).cursor
    folder.remove("events-000001.jsonl")
    folder.remove("events-000002.jsonl")

    batch = Journal(folder, NAME).read(cursor)

    assert (batch.gap, [entry.line for entry in batch.entries]) == (True, [C])


def test_files_with_similar_names_are_no_segments(folder: SafeDir) -> None:
    for name in (
        "events-1.jsonl",
        "events-000000.jsonl",
        "events-00000x.jsonl",
        "events-000001.json",
        "x-000001.jsonl",
    ):
        folder.replace(name, A + b"\n")
    folder.replace("events-\u0661\u0661\u0661\u0661\u0661\u0661.jsonl", A + b"\n")

    assert Journal(folder, NAME).segments() == (1,)


def test_the_millionth_segment_is_found(folder: SafeDir) -> None:
    folder.replace("events-1000000.jsonl", A + b"\n")

    assert Journal(folder, NAME).append([B]) == Position(1_000_001, 0)


def test_a_file_system_without_links_leaves_the_journal_as_it_was(folder: SafeDir) -> None:
    Journal(folder, NAME).append([A])
    journal = on(FailingDisk("link", errno.EPERM), folder)

    with pytest.raises(StorageError, match=r"cannot link .*events-000001.jsonl: Operation not permitted"):
        journal.rotate([B])

    assert folder.names() == (NAME,)
    journal.append([C])
    assert lines(journal) == [A, C]


# ---- looking back


def a_long_journal(folder: SafeDir) -> Journal:
    journal = Journal(folder, NAME)
    for first in range(0, 60, 20):
        journal.append([b'{"n":"%03d"}' % number for number in range(first, first + 20)])
        if first < 40:
            journal.rotate()
    return journal


@pytest.mark.parametrize("room", [0, 1, 11, 12, 13, 239, 240, 241, 500, 719, 720, 100_000])
def test_the_tail_is_the_complete_lines_of_the_last_bytes_across_segments(folder: SafeDir, room: int) -> None:
    journal = a_long_journal(folder)
    everything = list(journal.scan())

    # A line that is cut by a segment's share is left out; no line has a byte outside the room.
    found = list(journal.tail(room))

    assert found == everything[len(everything) - len(found) :]
    assert len(found) == min(room // 12, 60)


def test_what_memory_has_forgotten_is_found_in_any_segment(folder: SafeDir) -> None:
    journal = a_long_journal(folder)

    assert all(journal.find(b'"%03d"' % number) for number in range(60))
    assert not journal.find(b'"060"')


def test_a_search_ends_before_a_place(folder: SafeDir) -> None:
    journal = a_long_journal(folder)
    places = {entry.line: entry.position for entry in journal.scan()}
    at = places[b'{"n":"025"}']

    assert not journal.find(b'"025"', before=at)
    assert journal.find(b'"025"', before=Position(at.segment, at.offset + 1))
    assert journal.find(b'"024"', before=at)
    assert not journal.find(b'"041"', before=at)


def test_a_search_sees_what_lies_across_its_blocks(journal: Journal) -> None:
    for pad in (1024 * 1024 - 40, 1024 * 1024 + 10, 30):
        journal.append([b'{"pad":"' + b"x" * pad + b'","id":"needle-%d"}' % pad])

    assert all(journal.find(b"needle-%d" % pad) for pad in (1024 * 1024 - 40, 1024 * 1024 + 10, 30))
    assert len(list(journal.containing(b"needle"))) == 3


def test_a_search_yields_each_line_once_and_whole(journal: Journal) -> None:
    journal.append([A + A, B, A])

    assert list(journal.containing(b'"a"')) == [((1, 0), A + A), ((1, 32), A)]


def test_a_torn_tail_is_in_no_search_and_no_scan(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, NAME, A + b"\n" + B)
    journal = Journal(folder, NAME)

    assert not journal.find(b'"b"')
    assert [entry.line for entry in journal.scan()] == [entry.line for entry in journal.tail(1000)] == [A]


def test_a_scan_can_begin_anywhere(folder: SafeDir) -> None:
    journal = a_long_journal(folder)
    everything = list(journal.scan())

    for at in (0, 19, 20, 45, 59):
        assert list(journal.scan(since=everything[at].position)) == everything[at:]


def test_an_idle_reader_opens_nothing_however_long_the_journal_is(tmp_path: Path, foreign: Callable[..., None]) -> None:
    class Counting(SafeDir):
        opened = 0

        def open_to_read(self, name: str) -> int | None:
            Counting.opened += 1
            return super().open_to_read(name)

    with Counting.make(tmp_path, "bus") as folder:
        journal = a_long_journal(folder)
        cursor = journal.read(START).cursor
        before = Counting.opened
        for _ in range(3):
            journal.read(cursor)

        assert Counting.opened == before
        foreign(folder, NAME, b'{"torn')
        for _ in range(3):  # only until that is mended, and other lines may take its place
            journal.read(cursor)
        assert Counting.opened == before + 3
        journal.append([A])
        end = journal.end()
        before = Counting.opened
        assert JournalReader(folder, NAME).read(end).entries == ()
        assert Counting.opened == before
