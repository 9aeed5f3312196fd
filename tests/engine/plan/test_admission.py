"""What is taken in from a plan's bus, and what becomes of it at once."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from stage import Stage, said
from stage_parts import by

from prloom.api import Event
from prloom.core.events.dispatch import Subscribers
from prloom.engine.plan import admission, reconcile
from prloom.engine.polling import poll
from prloom.engine.views import status, why
from prloom.storage.journal import Journal
from prloom.storage.reader import READ_BYTES
from prloom.storage.safe_dir import SafeDir


def write(stage: Stage, text: str) -> None:
    """Write to the plan's bus as a careless program would."""
    with (stage.local() / "bus/events.jsonl").open("a") as file:
        file.write(text)


def line(event_id: str, body: str = "hi") -> str:
    return json.dumps(
        {"ts": "", "kind": "event", "data": {"id": event_id, "source": "ci", "type": "note", "body": body}}
    )


async def test_the_same_id_is_the_same_event_however_often_it_is_appended(stage: Stage, pr_7: Path):
    write(stage, (line("a") + "\n") * 2)
    await stage.tick()
    write(stage, line("a", "another text") + "\n")

    await stage.tick()

    assert stage.fate("a") == ["pending", "pending", "triaged"]


async def test_lines_that_are_no_events_are_skipped_and_said(stage: Stage, caplog: pytest.LogCaptureFixture):
    stage.adopt()
    write(stage, f'garbage\n{{"kind": "action", "data": {{}}}}\n\n{line("a")}\n')

    await stage.tick()

    assert stage.triager.batches == [("a",)]
    assert caplog.text.count("a line of events.jsonl cannot be read") == 2


async def test_an_edit_supersedes_what_is_still_open_also_within_one_batch(stage: Stage, pr_7: Path):
    await stage.take_in(said("old", "first"), said("new", "second", context={"supersedes": "old"}))

    assert stage.fate("old") == ["pending", "superseded"]
    assert stage.triager.batches == [("new",)]


async def test_a_burst_is_taken_in_batch_by_batch_and_nothing_of_it_is_left(stage: Stage, pr_7: Path):
    stage.triager.answer = lambda batch: {"items": [{"eventId": e.id, "verdict": "acknowledged"} for e in batch]}
    many = [said(f"e{number}") for number in range(2 * admission.LINES + 1)]

    await stage.take_in(*many)

    assert stage.state()["done"] == {"triaged": len(many)}
    stages = [decision["stage"] for decision in stage.decisions()]
    assert stages.count("intake") == 3


async def test_an_author_who_is_not_known_is_held_until_the_look_up_has_told(stage: Stage, pr_7: Path):
    stage.bridge.permissions["bob"] = "write"

    await stage.take_in(said("a", author=by("bob")))

    assert stage.fate("a") == ["held", "pending", "pending", "triaged"]
    assert stage.decisions()[1]["changes"][0]["reason"] == "bob has write permission"


async def test_an_author_whose_permission_is_too_low_stays_held_with_the_reason(stage: Stage, pr_7: Path):
    stage.bridge.permissions["bob"] = "read"

    await stage.take_in(said("a", author=by("bob")))

    assert stage.open()["a"]["state"] == "held"
    assert stage.open()["a"]["reason"] == "bob has read permission; at least write is required"


async def test_an_event_of_a_program_without_a_bridge_is_looked_up_at_the_plans_forge(stage: Stage, pr_7: Path):
    stage.bridge.permissions["bob"] = "write"

    await stage.take_in(said("a", author=by("bob"), source="emit"))

    assert stage.state()["done"] == {"triaged": 1}


async def test_where_nobody_can_tell_the_look_up_backs_off_and_its_end_is_a_person(stage: Stage):
    stage.adopt(forge=None, pr=None)
    stage.append(said("a", author=by("bob"), source="emit"))
    tries = []
    for _ in range(10):
        await stage.tick()
        tries.append(stage.open()["a"]["deferral"]["attempts"])
        stage.clock.advance(days=1)

    assert tries == [2, 3, 4, 5, 6, 7, 8, 8, 8, 8]
    assert stage.open()["a"]["state"] == "held"
    assert "no bridge is named emit" in stage.open()["a"]["reason"]


async def test_what_was_vouched_for_while_its_author_was_looked_up_stays_let_in(stage: Stage, pr_7: Path):
    await stage.take_in(said("a", author=by("bob")), said("ok", "/prloom approve", author=by("ann", "write")))

    assert stage.fate("a") == ["held", "pending", "pending", "triaged"]


async def test_an_events_text_that_was_changed_in_the_journal_needs_a_person(stage: Stage, pr_7: Path):
    await stage.take_in(said("a", "harmless", author=by("eve", "none")), said("b"))
    file = pr_7 / "bus/events.jsonl"
    file.write_bytes(file.read_bytes().replace(b"harmless", b"harmful!"))

    await stage.take_in(said("ok", "/prloom approve a", author=by("ann", "write")))

    assert stage.triager.batches == [("b",)]
    assert stage.open()["a"]["state"] == "parked"
    assert "has changed since prloom read it" in stage.open()["a"]["reason"]


async def test_a_last_line_whose_writer_forgot_the_newline_is_taken_in_after_a_while(stage: Stage, pr_7: Path):
    write(stage, line("a"))
    async with stage.rounds() as again:
        await again()
        assert stage.triager.batches == []
        await again(seconds=6)
        await again()

    assert stage.triager.batches == [("a",)]


async def test_half_a_line_of_a_writer_that_was_killed_is_keep_after_a_while(stage: Stage, pr_7: Path):
    write(stage, line("a") + '\n{"ts": "", "kind": "ev')
    async with stage.rounds() as again:
        await again()
        await again(seconds=6)
        write(stage, line("b") + "\n")
        await again()

    assert stage.triager.batches == [("a",), ("b",)]
    assert [name for name in (each.name for each in (pr_7 / "bus").iterdir()) if ".torn-" in name]


async def test_half_a_line_that_grows_is_being_written_and_left_alone(stage: Stage, pr_7: Path):
    half = len(line("a")) // 2
    async with stage.rounds() as again:
        write(stage, line("a")[:half])
        await again()
        stage.clock.advance(seconds=4)
        write(stage, line("a")[half:])
        await again()
        await again(seconds=4)
        write(stage, "\n")
        await again()

    assert stage.triager.batches == [("a",)]


async def test_a_journal_that_was_cut_gives_nothing_a_second_time(stage: Stage, pr_7: Path):
    await stage.take_in(said("a"), said("b"))
    file = pr_7 / "bus/events.jsonl"
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])
    await stage.tick()

    await stage.take_in(said("c"))

    assert stage.triager.batches == [("a", "b"), ("c",)]


async def test_an_event_too_long_for_a_line_is_cut_and_comes_in_with_the_others(
    stage: Stage, caplog: pytest.LogCaptureFixture, pr_7: Path
):
    caplog.set_level(logging.WARNING)

    await stage.poll(said("a"), said("long", "x" * 20_000_000), said("b"))

    assert stage.triager.batches == [("a", "long", "b")]
    assert "event long has 20000000 characters" in caplog.text
    with SafeDir.make(stage.local() / "bus") as bus:
        lines = [json.loads(entry.line) for entry in Journal(bus, "events.jsonl").scan()]
    assert lines[1]["data"]["body"].endswith("(cut off by prloom)")


async def test_an_id_beyond_memory_is_known(stage: Stage, pr_7: Path):
    first = [said("first"), said("filler", "x" * 1_100_000)]
    stage.bridge.news = list(first)
    await stage.tick()

    await stage.take_in(*first)

    assert stage.triager.batches == [("first", "filler")]


async def test_prlooms_own_post_is_dropped_also_when_it_comes_over_the_file_bus(stage: Stage, pr_7: Path):
    await stage.poll(said("a"))

    await stage.take_in(said("own", stage.bridge.posts[0], author=by("me", "admin")))

    assert stage.state()["done"] == {"triaged": 1}
    assert "own" not in stage.open()


def test_an_event_that_fits_is_written_as_it_is():
    event = Event(id="e", source="s", type="t", body="x" * 1000)

    assert poll._writable(event) is event


# ---- what nobody is there to see


def of_the_repository(stage: Stage) -> list[tuple[str, list[str]]]:
    """Return the stages of the decisions on the repository's own bus, each with the states that it led to."""
    text = (stage.root / "prloom/.local/bus/decisions.jsonl").read_text()
    decisions = [json.loads(line)["data"] for line in text.splitlines()]
    return [(each["stage"], [change["state"] for change in each.get("changes", [])]) for each in decisions]


async def test_what_nobody_is_there_to_see_is_over_by_the_decision_that_takes_it_in(stage: Stage):
    await stage.poll(said("a", pr=99), said("b", pr=99))

    assert of_the_repository(stage) == [("intake", ["handled", "handled"])]
    (step,) = why.document(why.find(stage.paths, "a")).steps
    assert (step.by, step.verdict) == ("prloom", "handled")
    assert step.reason == "no plugin handles it, and no agent sees it"


async def test_a_notice_of_a_plan_without_plugins_is_over_likewise_and_says_all_the_same_what_became_of_the_plan(
    stage: Stage,
):
    stage.adopt()

    await stage.take_in(said("merged", "", type="pr_merged"))

    assert stage.fate("merged") == ["handled"]
    assert stage.triager.batches == []
    (plan,) = status.read(stage.paths, stage.clock()).plans
    assert plan.status == "merged"


async def test_a_stranger_is_held_also_where_nobody_would_be_shown_the_text(stage: Stage):
    await stage.poll(said("a", pr=99, author=by("eve", "none")))

    assert of_the_repository(stage) == [("intake", ["held"])]


async def test_a_command_is_obeyed_where_there_is_nobody_else(stage: Stage):
    await stage.poll(said("a", "/prloom status", pr=99))

    assert ("command", ["handled"]) in of_the_repository(stage)


async def test_an_edit_of_what_was_over_at_once_supersedes_nothing(stage: Stage):
    await stage.poll(said("old", pr=99), said("new", pr=99, context={"supersedes": "old"}))

    assert of_the_repository(stage) == [("intake", ["handled", "handled"])]


async def test_while_a_plan_is_paused_a_notice_waits_also_without_plugins(stage: Stage, pr_7: Path):
    await stage.take_in(said("stop", "/prloom pause"))

    await stage.take_in(said("pushed", "", type="pr_pushed"))

    assert stage.fate("pushed") == ["pending"]


async def test_a_long_burst_that_nobody_sees_is_saved_on_the_way(stage: Stage):
    bus = stage.root / "prloom/.local/bus"
    bus.mkdir(parents=True)
    long = "x" * READ_BYTES  # so that each is a read and a decision of its own
    with (bus / "events.jsonl").open("w") as file:
        file.writelines(line(f"e{number}", long) + "\n" for number in range(reconcile.SAVED_AFTER + 1))
    dispatcher = stage.dispatcher()
    runtime = dispatcher.registry.repository

    for _ in range(reconcile.SAVED_AFTER):
        assert reconcile.reconcile(runtime, Subscribers(), dispatcher.dependencies(agents=False))

    assert runtime.event_store.state.done == {"handled": reconcile.SAVED_AFTER}
    assert runtime.event_store.unsaved == 0
    await dispatcher._stop()
