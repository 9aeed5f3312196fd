"""A program that keeps `events.jsonl` open while it is rotated, however often, loses no line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stage import Stage

from prloom.engine.plan.admission import LATE
from prloom.engine.views import doctor
from prloom.storage import paths
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

Write = Callable[[str], None]


def line(event_id: str) -> str:
    event = {"id": event_id, "source": "ci", "type": "note", "body": "hi"}
    return json.dumps({"ts": "", "kind": "event", "data": event}) + "\n"


def bus(stage: Stage) -> Path:
    return stage.local() / "bus"


def ends(stage: Stage) -> Path:
    return bus(stage) / "state" / paths.SEGMENT_ENDS


@pytest.fixture
def keeps_open(stage: Stage) -> Iterator[Write]:
    """A program that opened the file once, and writes to what it then was."""
    stage.adopt()
    file = os.open(bus(stage) / "events.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    yield lambda text: os.write(file, text.encode())
    os.close(file)


async def rotate(stage: Stage, times: int) -> None:
    """Have events come in, the file closed behind each, and all of it read."""
    for number in range(times):
        with (bus(stage) / "events.jsonl").open("a") as file:
            file.write(line(f"between-{number}"))
        await stage.tick()
        with SafeDir.make(bus(stage)) as folder:
            Journal(folder, "events.jsonl").rotate()
    with (bus(stage) / "events.jsonl").open("a") as file:
        file.write(line("last"))
    await stage.tick()


def lost(stage: Stage) -> list[tuple[str, str]]:
    found = doctor.findings(stage.paths, stage.clock())
    return [(each.what, each.fix) for each in found if "appended after" in each.what]


@pytest.mark.parametrize("rotations", [1, 2, 5])
async def test_its_line_is_taken_in_once(
    stage: Stage, keeps_open: Write, rotations: int, caplog: pytest.LogCaptureFixture
):
    keeps_open(line("early"))
    await rotate(stage, rotations)
    keeps_open(line("late"))

    for _ in range(3):
        await stage.tick()

    assert [stage.fate(name) for name in ("early", "late")] == [["pending", "pending", "triaged"]] * 2
    assert lost(stage) == []
    assert caplog.messages.count(f"plan pr-7: {LATE}") == int(rotations > 1)


async def test_a_dispatcher_at_work_takes_its_line_in_with_the_next_ones(stage: Stage, keeps_open: Write):
    await rotate(stage, 3)
    async with stage.rounds() as again:
        await again()
        keeps_open(line("late"))
        for number in range(3):  # it looks at one segment each time
            with (bus(stage) / "events.jsonl").open("a") as file:
                file.write(line(f"more-{number}"))
            await again()

        assert stage.fate("late") == ["pending", "pending", "triaged"]


async def test_until_then_doctor_names_it_and_changes_nothing(stage: Stage, keeps_open: Write):
    await rotate(stage, 2)
    keeps_open(line("late") + "no event\n" + line("later"))
    before = ends(stage).read_bytes()

    assert lost(stage) == [
        (
            "2 events were appended after this segment was closed and read: a program keeps the file open",
            "start prloom, or restart it, and it takes them in; let the program open events.jsonl for each line",
        )
    ]
    assert ends(stage).read_bytes() == before


async def test_a_line_that_is_not_complete_yet_is_waited_for(stage: Stage, keeps_open: Write):
    await rotate(stage, 2)
    whole = line("late")
    keeps_open(whole[:20])
    await stage.tick()
    assert lost(stage) == []

    keeps_open(whole[20:])
    await stage.tick()

    assert stage.fate("late") == ["pending", "pending", "triaged"]


async def test_a_crash_before_the_end_is_recorded_takes_nothing_in_twice(stage: Stage, keeps_open: Write):
    await rotate(stage, 2)
    before = ends(stage).read_bytes()
    keeps_open(line("late"))
    await stage.tick()
    ends(stage).write_bytes(before)

    await stage.tick()

    assert stage.fate("late") == ["pending", "pending", "triaged"]
    assert lost(stage) == []


async def test_what_an_earlier_version_has_read_is_not_read_again(stage: Stage, keeps_open: Write):
    await rotate(stage, 3)
    ends(stage).unlink()
    await stage.tick()
    keeps_open(line("late"))

    await stage.tick()

    assert stage.fate("late") == ["pending", "pending", "triaged"]
    assert stage.fate("between-0") == ["pending", "pending", "triaged"]
