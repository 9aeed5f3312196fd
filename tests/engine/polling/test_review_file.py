"""Each item of `review.md` is answered once, and one that is written again is answered again."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from stage import Stage

from bridges.local import LocalBridge
from prloom.api import Event

ITEM = "- [ ] fix the typo\n"
EMPTY = "## ready\n\n"


class ReviewScene:
    """A plan without a forge, whose `review.md` the test writes; each tick has a bridge that begins anew."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.local = stage.adopt("work", pr=None, forge=None)
        self.file = self.local / "review.md"
        self.file.write_text(EMPTY)

    async def once(self, *additions: str) -> None:
        """Add lines, if any are given, and do a tick as `prloom start --once` does."""
        if additions:
            self.file.write_text(self.file.read_text() + "".join(additions))
        self.stage.bridges = [LocalBridge()]  # type: ignore[list-item] - it takes no test's news
        await self.stage.tick()

    def remove_all(self) -> None:
        self.file.write_text(EMPTY)

    @property
    def cursor(self) -> Path:
        return self.stage.root / "prloom/.local/bus/state/bridge.local.json"

    @property
    def replies(self) -> list[str]:
        """The replies that are in the file now, in order."""
        return [line.removeprefix("  > ") for line in self.file.read_text().splitlines() if "> re " in line]

    @property
    def asked(self) -> list[str]:
        """The events that an agent was shown, in order."""
        return [event_id for batch in self.stage.triager.batches for event_id in batch]


def acknowledged(batch: Sequence[Event]) -> dict[str, Any]:
    """End every event without an answer."""
    return {"items": [{"eventId": event.id, "verdict": "acknowledged", "reply": None} for event in batch], "todos": []}


def becomes_todo(batch: Sequence[Event]) -> dict[str, Any]:
    """Make a TODO of each event, which is answered when it is done."""
    items = [{"eventId": event.id, "verdict": "todo", "reply": None} for event in batch]
    todos = [{"title": event.title, "context": "", "eventIds": [event.id]} for event in batch]
    return {"items": items, "todos": todos}


@pytest.fixture
def review(stage: Stage) -> ReviewScene:
    return ReviewScene(stage)


async def test_an_item_that_is_written_again_before_its_answer_was_read_is_answered_again(review: ReviewScene) -> None:
    await review.once(ITEM)
    review.remove_all()
    await review.once()

    await review.once(ITEM)

    first, second = review.asked
    assert (second, review.replies) == (f"{first}-1", [f"re {second}"])
    await review.once()
    assert review.asked == [first, second]


async def test_so_is_one_that_was_edited_and_is_as_it_was_again(review: ReviewScene) -> None:
    review.stage.triager.answer = acknowledged
    await review.once(ITEM)
    review.remove_all()
    await review.once("- [ ] fix the title\n")
    review.remove_all()

    await review.once(ITEM)

    first, edited, again = review.asked
    assert (again, edited.startswith(first)) == (f"{first}-1", False)


async def test_without_the_cursor_an_item_that_stands_in_the_file_is_not_asked_again(review: ReviewScene) -> None:
    await review.once(ITEM)
    review.cursor.unlink()

    await review.once()

    assert (len(review.asked), len(review.replies)) == (1, 1)


async def test_without_the_cursor_an_item_that_waits_for_its_answer_is_not_asked_again(review: ReviewScene) -> None:
    review.stage.triager.answer = becomes_todo
    await review.once(ITEM)
    review.cursor.unlink()

    await review.once()

    assert len(review.asked) == 1


async def test_an_item_that_ended_without_an_answer_is_not_asked_again_after_its_worktree_was_away(
    review: ReviewScene, tmp_path: Path
) -> None:
    review.stage.triager.answer = acknowledged
    await review.once(ITEM)
    worktree = review.stage.paths.worktree("work")
    shutil.move(worktree, tmp_path / "away")
    await review.once()
    shutil.move(tmp_path / "away", worktree)

    await review.once()

    assert len(review.asked) == 1
