from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prloom.storage import envelope, fsck
from prloom.storage import lines as cutting
from prloom.storage.document import Document
from prloom.storage.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from prloom.storage.safe_dir import SafeDir

GOOD = envelope.encode("event", {"id": "a"}, "2026-11-21T06:54:50.288Z")


def test_a_sound_folder_has_no_findings(folder: SafeDir) -> None:
    journal = Journal(folder, "events.jsonl")
    journal.append([GOOD, GOOD])
    journal.rotate([GOOD])
    Document(folder, "state.json").save({})
    folder.replace("plan.md", b"# anything")
    folder.make_sub("state").close()

    assert fsck.findings(folder) == ()


def test_each_unreadable_line_is_named_with_file_line_reason_and_fix(
    folder: SafeDir, foreign: Callable[..., None]
) -> None:
    foreign(folder, "events.jsonl", GOOD + b"\n\n" + b"garbage\n" + GOOD + b"\n{}\n")

    found = fsck.findings(folder)

    assert [(finding.file, finding.line) for finding in found] == [
        (folder.where("events.jsonl"), 3),
        (folder.where("events.jsonl"), 5),
    ]
    assert "malformed" in found[0].reason
    assert "missing required field" in found[1].reason
    assert found[0].fix == "fix the line while prloom is stopped, or leave it: it is skipped, and the other lines count"


def test_closed_segments_are_looked_through_too(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, "events-000001.jsonl", b"garbage\n")

    assert [finding.file for finding in fsck.findings(folder)] == [folder.where("events-000001.jsonl")]


def test_many_bad_lines_are_counted_and_not_all_listed(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, "events.jsonl", b"garbage\n" * 1000)

    found = fsck.findings(folder, limit=3)

    assert [finding.line for finding in found] == [1, 2, 3, None]
    assert found[-1].reason == "997 more of its lines cannot be read"


def test_a_line_over_the_limit_and_an_unfinished_one_are_named(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, "events.jsonl", b"x" * (2 * cutting.LINE_LIMIT) + b"\n" + GOOD + b"\n" + GOOD)

    assert [(finding.line, finding.reason) for finding in fsck.findings(folder)] == [
        (1, "it is longer than 16777216 bytes"),
        (3, "the last line is unfinished"),
    ]


def test_a_line_of_exactly_the_limit_is_no_damage(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, "events.jsonl", b"x" * cutting.LINE_LIMIT + b"\n")

    assert [finding.reason for finding in fsck.findings(folder, check=lambda _: None)] == []


def test_what_was_keep_is_named(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, "events.jsonl", b'{"torn')
    Journal(folder, "events.jsonl").append([GOOD])
    (Path(folder.path) / "state.json").write_bytes(b"{")
    Document(folder, "state.json").load()

    found = fsck.findings(folder)

    assert [finding.reason for finding in found] == [
        "the unfinished last line of a process that was killed was set aside here",
        "a state file that could not be read was set aside here",
    ]
    assert {finding.fix for finding in found} == {"read it, then remove it"}


def test_a_document_that_does_not_parse_is_named_and_left_in_place(folder: SafeDir) -> None:
    (Path(folder.path) / "state.json").write_bytes(b"{")

    (found,) = fsck.findings(folder)

    assert (found.file, found.line, found.reason) == (folder.where("state.json"), None, "Input data was truncated")
    assert folder.names() == ("state.json",)


def test_a_thing_that_is_no_file_is_named(folder: SafeDir, intruder: Callable[[Path], str]) -> None:
    kind = intruder(Path(folder.path) / "events.jsonl")

    found = fsck.findings(folder)

    assert f"events.jsonl is {kind}" in found[0].reason


def test_the_caller_may_look_deeper_into_a_line(folder: SafeDir, foreign: Callable[..., None]) -> None:
    foreign(folder, "events.jsonl", GOOD + b"\n")

    (found,) = fsck.findings(folder, check=lambda line: "no title" if b"title" not in line else None)

    assert (found.line, found.reason) == (1, "no title")
