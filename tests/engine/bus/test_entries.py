"""The lines of a bus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_clock import NOON

from prloom.engine.bus import entries
from prloom.model import record
from prloom.model.event import Author, Event, Target
from prloom.model.record import START
from prloom.storage import envelope
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

FULL = Event(
    id="e",
    source="forge",
    type="pr_comment",
    severity="warning",
    title="t",
    body="b",
    reply_to=Target("forge", {"pr": 7}),
    context={"line": 3},
    author=Author("ann", "write"),
    url="https://forge.example/1",
    created_at="2026-01-01T00:00:00Z",
    pr=7,
)
BARE = Event(id="e", source="forge", type="pr_comment")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with SafeDir.make(tmp_path, "bus") as folder:
        yield Journal(folder, "events.jsonl")


def test_an_events_line_tells_all_but_what_is_none(journal: Journal, tmp_path: Path):
    entries.append(journal, [FULL, BARE], NOON)

    full, bare = (json.loads(line) for line in (tmp_path / "bus/events.jsonl").read_text().splitlines())
    assert list(full) == list(bare) == ["ts", "kind", "schemaVersion", "data"]
    assert list(full["data"]) == [
        *("id", "source", "type", "severity", "title", "body", "replyTo", "context", "author", "url", "createdAt", "pr")
    ]
    wanted = {"severity": "info", "title": "", "body": "", "context": {}}
    assert bare["data"] == {"id": "e", "source": "forge", "type": "pr_comment", **wanted}


def test_the_lines_of_a_page_are_those_of_its_events_one_by_one(journal: Journal):
    page = [FULL, BARE, FULL]

    assert entries.append(journal, page, NOON) == len(page)

    lines = [entry.line for entry in journal.read(START).entries]
    assert lines == [envelope.encode("event", record.to_wire(event), record.iso(NOON)) for event in page]
    assert [entries.event(line) for line in lines] == page


def test_half_an_emoji_in_one_event_costs_the_others_nothing(journal: Journal):
    odd = Event(id="odd", source="forge", type="pr_comment", body="cut \ud83d")

    entries.append(journal, [BARE, odd, FULL], NOON)

    read = [entries.event(entry.line) for entry in journal.read(START).entries]
    assert [event.body for event in read if event] == ["", "cut \ufffd", "b"]


def test_no_events_are_no_line_and_no_flush(journal: Journal, tmp_path: Path):
    assert entries.append(journal, [], NOON) == 0
    assert not (tmp_path / "bus/events.jsonl").exists()
