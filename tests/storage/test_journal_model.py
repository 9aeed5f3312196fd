"""Any sequence of appends, torn writes, rotations and reads yields exactly the complete lines."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from prloom.model.record import START, Position
from prloom.storage.journal import Journal
from prloom.storage.reader import JournalEntry, JournalReader
from prloom.storage.safe_dir import SafeDir

NAME = "events.jsonl"

lines = st.dictionaries(st.sampled_from("abc"), st.text(max_size=8) | st.integers(), max_size=2).map(
    lambda value: json.dumps(value).encode()
)
batches = st.lists(lines, max_size=3)
pieces = st.one_of(
    lines,  # whole, but without its newline
    lines.map(lambda line: line[:-1]),
    st.sampled_from([b"{", b"\0\0", b"\xff", b" ", b'{"a": [1, 2', b"null", b"}"]),
)


class JournalMachine(RuleBasedStateMachine):
    """A journal beside a model of its files' bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp()
        self.folder = SafeDir.make(self.root, "bus")
        self.journal = Journal(self.folder, NAME)
        self.reader = JournalReader(self.folder, NAME)
        self.segments = [b""]
        self.seen: list[JournalEntry] = []
        self.cursor = START
        self.closed_fd: int | None = None

    def teardown(self) -> None:
        self.read_all()
        expected = self.expected()
        assert sorted(self.seen) == expected
        assert list(self.journal.scan()) == expected
        for position, line in expected:
            assert self.journal.read_at(position) == line
            assert self.journal.find(line)
        self.folder.close()
        if self.closed_fd is not None:
            os.close(self.closed_fd)
        shutil.rmtree(self.root)

    def expected(self) -> list[JournalEntry]:
        found: list[JournalEntry] = []
        for number, content in enumerate(self.segments, 1):
            offset = 0
            for line in content.split(b"\n")[:-1]:
                if line.strip():
                    found.append(JournalEntry(Position(number, offset), line))
                offset += len(line) + 1
        return found

    def mend(self) -> None:
        whole, newline, tail = self.segments[-1].rpartition(b"\n")
        if not tail:
            return
        try:
            is_object = isinstance(json.loads(tail), dict)
        except ValueError:
            is_object = False
        self.segments[-1] = whole + newline + (tail + b"\n" if is_object else b"")

    def live(self) -> Path:
        return Path(self.folder.path) / NAME

    @rule(batch=batches)
    def append(self, batch: list[bytes]) -> None:
        self.mend()
        at = self.journal.append(batch)
        assert at == (len(self.segments), len(self.segments[-1]))
        self.segments[-1] += b"".join(line + b"\n" for line in batch)

    @rule(line=lines)
    def append_by_a_foreign_program(self, line: bytes) -> None:
        with self.live().open("ab") as file:
            file.write(line + b"\n")
        self.segments[-1] += line + b"\n"

    @rule(piece=pieces)
    def tear(self, piece: bytes) -> None:
        with self.live().open("ab") as file:
            file.write(piece)
        self.segments[-1] += piece

    @rule()
    def heal(self) -> None:
        self.mend()
        self.journal.heal()

    @rule(first=batches)
    def rotate(self, first: list[bytes]) -> None:
        self.mend()
        if self.closed_fd is not None:
            os.close(self.closed_fd)
        self.closed_fd = self.folder.open_to_append(NAME)
        self.journal.rotate(first)
        self.segments.append(b"".join(line + b"\n" for line in first))

    @precondition(lambda self: self.closed_fd is not None)
    @rule(line=lines)
    def append_late(self, line: bytes) -> None:
        assert self.closed_fd is not None
        os.write(self.closed_fd, line + b"\n")
        self.segments[-2] += line + b"\n"

    @rule(limit=st.integers(1, 3))
    def read(self, limit: int) -> None:
        batch = self.reader.read(self.cursor, limit_lines=limit)
        assert len(batch.entries) <= limit
        assert not batch.gap
        self.seen += batch.entries
        self.cursor = batch.cursor

    @rule()
    def read_all(self) -> None:
        while (batch := self.reader.read(self.cursor)).cursor != self.cursor:
            self.seen += batch.entries
            self.cursor = batch.cursor
        end = self.reader.end()
        assert self.cursor == end
        tail = self.segments[-1].rpartition(b"\n")[2]
        assert batch.unfinished == len(tail)

    @rule()
    def open_anew(self) -> None:
        self.journal = Journal(self.folder, NAME)
        self.reader = JournalReader(self.folder, NAME)

    @rule(room=st.integers(0, 200))
    def look_at_the_tail(self, room: int) -> None:
        found = list(self.journal.tail(room))
        expected = self.expected()
        assert len(expected) >= len(found)
        assert set(found) <= set(expected)

    @invariant()
    def the_file_is_as_it_should_be(self) -> None:
        if self.live().exists():
            assert self.live().read_bytes() == self.segments[-1]


TestJournalMachine = JournalMachine.TestCase
TestJournalMachine.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
