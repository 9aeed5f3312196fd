"""The text of an open event is read where it stands, once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest
from fake_clock import NOON
from msgspec.structs import replace
from stage import said

from prloom.engine.bus import entries
from prloom.engine.bus.entries import EventCache
from prloom.model.decision import Change
from prloom.model.event import digest
from prloom.model.kinds import State
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState, OpenEvent
from prloom.storage import paths
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

FILE = "events.jsonl"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with SafeDir.make(tmp_path, "bus") as folder:
        yield Journal(folder, paths.EVENTS)


def admitted(journal: Journal, body: str) -> OpenEvent:
    """Append an event, and return it as it is when it was taken in."""
    entries.append(journal, [said("e", body)], NOON)
    (entry,) = journal.scan()
    return OpenEvent(
        id="e",
        state="pending",
        position=entry.position,
        type="pr_comment",
        source="forge",
        digest=digest(said("e", body)),
        since=Timestamp(2026, 1, 1, tzinfo=UTC),
    )


def alter(tmp_path: Path) -> None:
    file = tmp_path / "bus" / FILE
    file.write_bytes(file.read_bytes().replace(b"the text", b"another!"))


def test_a_text_that_was_asked_for_is_not_read_again(journal: Journal, tmp_path: Path):
    texts, opened = EventCache(journal), admitted(journal, "the text")
    first = texts.get(opened)
    alter(tmp_path)

    assert first is not None
    assert texts.get(opened) is first


def test_a_text_that_is_being_taken_in_is_not_read_at_all(journal: Journal, tmp_path: Path):
    texts, opened = EventCache(journal), admitted(journal, "the text")
    event = said("e", "the text")
    alter(tmp_path)

    texts.add(event)

    assert texts.get(opened) is event


def test_a_text_that_is_forgotten_is_read_anew_and_held_to_what_came_in(journal: Journal, tmp_path: Path):
    texts, opened = EventCache(journal), admitted(journal, "the text")
    texts.add(said("e", "the text"))
    alter(tmp_path)

    texts.clear()

    assert texts.get(opened) is None


@pytest.mark.parametrize(("state", "kept"), [("pending", ["e"]), ("parked", []), ("deferred", []), ("handled", [])])
def test_the_text_of_an_event_that_is_not_pending_any_more_is_let_go(journal: Journal, state: State, kept: list[str]):
    texts, opened = EventCache(journal), admitted(journal, "the text")
    texts.get(opened)
    left = {} if state == "handled" else {"e": replace(opened, state=state)}

    texts.drop_done([Change(event_id="e", verdict="deferred", state=state)], DispatchState(open=left))

    assert list(texts) == kept
