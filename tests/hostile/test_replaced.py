"""A bus whose files were cut, replaced, or written by a newer prloom."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from stage import Stage, said
from stage_parts import handling

from prloom.api import Author
from prloom.engine.bus.seen_ids import REMEMBERED
from prloom.engine.plan import admission
from prloom.engine.views import status


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines(keepends=True)


@pytest.fixture
async def played(stage: Stage) -> Stage:
    """Two answered events, and one that waits."""
    stage.adopt()
    await stage.take_in(said("a"), said("h", "let me in", author=Author("eve", "none")), said("b"))
    assert stage.bridge.said == ["re a", "re b"]
    return stage


async def test_events_behind_a_cut_are_taken_in_and_none_is_answered_twice(
    played: Stage, caplog: pytest.LogCaptureFixture
):
    bus = played.local() / "bus/events.jsonl"
    bus.write_text("".join(lines(bus)[1:]))
    played.append(said("c", "a text of another length"))

    await played.tick()

    assert played.bridge.said == ["re a", "re b", "re c"]
    assert "events.jsonl was cut or replaced; prloom reads it again from its beginning" in caplog.text


async def test_events_of_a_file_that_took_the_place_of_the_bus_are_taken_in(played: Stage):
    bus = played.local() / "bus/events.jsonl"
    kept = bus.read_text()
    bus.unlink()
    played.append(said("new", "x" * 10))
    await played.tick()
    bus.unlink()
    played.append(said("longer", "y" * 4000))
    with bus.open("a") as file:
        file.write(kept)

    await played.tick()

    assert played.bridge.said == ["re a", "re b", "re new", "re longer"]


@pytest.mark.parametrize("names", ["xy", "pqr"])
async def test_a_bus_that_is_replaced_by_one_with_lines_of_the_same_length_is_noticed_by_who_is_at_work(
    stage: Stage, names: str, pr_7: Path
):
    bus = stage.local() / "bus/events.jsonl"
    stage.append(said("a"), said("b"))
    async with stage.running():
        await stage.until(lambda: stage.bridge.said == ["re a", "re b"])
        bus.rename(bus.with_suffix(".old"))
        stage.append(*map(said, names))
        stage.append(said("later"))
        await stage.until(lambda: "re later" in stage.bridge.said)

    assert sorted(stage.bridge.said) == sorted(f"re {name}" for name in ("a", "b", *names, "later"))


async def test_a_bus_that_is_replaced_is_noticed_by_who_is_at_work_though_nothing_is_appended_to_it(stage: Stage):
    stage.adopt()
    bus = stage.local() / "bus/events.jsonl"
    stage.append(said("a"), said("b"))
    async with stage.running():
        await stage.until(lambda: stage.bridge.said == ["re a", "re b"])
        fresh = bus.with_suffix(".new")
        fresh.write_text(bus.read_text().replace('"a"', '"x"').replace('"b"', '"y"'))
        fresh.replace(bus)
        await stage.until(lambda: len(stage.bridge.said) == len("abxy"))

    assert sorted(stage.bridge.said) == ["re a", "re b", "re x", "re y"]


async def test_a_bus_that_is_replaced_while_nobody_is_at_work_is_noticed_though_its_lines_have_the_same_length(
    stage: Stage, caplog: pytest.LogCaptureFixture, pr_7: Path
):
    bus = stage.local() / "bus/events.jsonl"
    await stage.take_in(said("a"), said("b"))
    bus.write_text(bus.read_text().replace('"a"', '"x"'))

    await stage.tick()

    assert stage.bridge.said == ["re a", "re b", "re x"]
    assert "events.jsonl was cut or replaced; prloom reads it again from its beginning" in caplog.text
    notes = [decision.get("note") for decision in stage.decisions()]
    assert notes.count("events.jsonl was cut or replaced; prloom reads it again from its beginning") == 1
    caplog.clear()
    await stage.tick()
    assert stage.bridge.said == ["re a", "re b", "re x"]
    assert "replaced" not in caplog.text


async def test_a_bus_whose_lines_were_all_replaced_but_for_the_last_is_noticed(stage: Stage, pr_7: Path):
    bus = stage.local() / "bus/events.jsonl"
    await stage.take_in(*(said(f"e{number:03}", "a long text " * 90) for number in range(60)))
    kept = lines(bus)
    bus.write_text("".join(line.replace('"id":"e', '"id":"x') for line in kept[:-30]) + "".join(kept[-30:]))

    await stage.tick()

    wanted = [*(f"re e{number:03}" for number in range(60)), *(f"re x{number:03}" for number in range(30))]
    assert stage.bridge.said == wanted


async def test_what_is_appended_to_a_bus_that_was_replaced_meanwhile_is_taken_in_with_the_rest(stage: Stage):
    stage.adopt()
    bus = stage.local() / "bus/events.jsonl"
    await stage.take_in(said("a"), said("b"))
    bus.write_text(bus.read_text().replace('"b"', '"y"'))

    await stage.take_in(said("later"))

    assert sorted(stage.bridge.said) == ["re a", "re b", "re later", "re y"]


async def test_a_replaced_bus_whose_reading_is_cut_short_is_read_on_and_nobody_is_asked_twice(stage: Stage, pr_7: Path):
    ids = [f"e{number:04}" for number in range(40)]
    again = ["e0001"] * admission.LINES  # lines cost little: what is known is asked about no more
    await stage.take_in(*map(said, [*ids[:20], *again, *ids[20:]]))
    bus = stage.local() / "bus/events.jsonl"
    bus.write_text(bus.read_text().replace('"e0000"', '"x0000"', 1))

    dispatcher = stage.dispatcher()
    dispatcher._update_plans()
    runtime = next(runtime for runtime in dispatcher.registry.all() if runtime.id)
    admission.take_in(runtime, lambda _: None)
    assert runtime.event_store.state.rereading is not None
    await dispatcher._stop()
    await stage.tick()

    asked = [event_id for batch in stage.triager.batches for event_id in batch]
    assert sorted(asked) == sorted([*ids, "x0000"])
    assert "rereading" not in {key for key, value in stage.state().items() if value is not None}
    await stage.take_in(said("e0007"), said("e0030"), said("later"))
    assert stage.triager.batches[-1] == ("later",)


async def test_what_was_read_again_of_a_replaced_bus_stays_known_to_who_has_read_it(stage: Stage, pr_7: Path):
    bus = stage.local() / "bus/events.jsonl"
    stage.append(said("a"), said("b"))
    async with stage.rounds() as again:
        await again()
        bus.write_text(bus.read_text().replace('"a"', '"x"'))
        await again()
        assert stage.triager.batches == [("a", "b"), ("x",)]
        stage.append(said("b"))
        await again()

    assert stage.triager.batches == [("a", "b"), ("x",)]


async def test_of_a_replaced_bus_all_is_known_however_much_it_was(stage: Stage, pr_7: Path):
    ids = [f"e{number:05}" for number in range(REMEMBERED + 2000)]
    handed = stage.plugin("handler", handling())
    await stage.take_in(*map(said, ids))
    bus = stage.local() / "bus/events.jsonl"
    bus.write_text(bus.read_text().replace('"e00000"', '"x000000"', 1))

    await stage.tick()

    assert [event_id for batch in handed.shown for event_id in batch] == [*ids, "x000000"]


@pytest.mark.parametrize("at_work", [True, False])
async def test_a_bus_that_was_brought_back_from_a_copy_is_the_same_bus(
    stage: Stage, caplog: pytest.LogCaptureFixture, *, at_work: bool, pr_7: Path
):
    def bring_back() -> None:
        copy = bus.with_suffix(".copy")
        copy.write_bytes(bus.read_bytes())
        copy.replace(bus)
        stage.append(said("later"))

    bus = stage.local() / "bus/events.jsonl"
    stage.append(said("a"), said("b"))
    async with stage.rounds() as again:
        await again()
        if at_work:
            bring_back()
            await again()
    if not at_work:
        bring_back()
        await stage.tick()

    assert stage.bridge.said == ["re a", "re b", "re later"]
    assert "replaced" not in caplog.text


async def test_a_bus_that_an_older_prloom_has_read_is_no_replaced_one(stage: Stage, caplog: pytest.LogCaptureFixture):
    stage.adopt()
    await stage.take_in(said("a"), said("b"))
    bus = stage.local() / "bus"
    (bus / "state/dispatcher.json").unlink()
    log = lines(bus / "decisions.jsonl")
    assert any('"fingerprint":' in line for line in log)
    (bus / "decisions.jsonl").write_text("".join(re.sub(r',"fingerprint":\d+', "", line) for line in log))

    await stage.tick()
    await stage.take_in(said("c"))

    assert stage.bridge.said == ["re a", "re b", "re c"]
    assert "replaced" not in caplog.text
    assert stage.state()["fingerprint"]


async def test_an_event_that_waits_is_found_where_its_line_stands_now(played: Stage):
    played.configure('[outbox]\nothers = "auto"\n')
    bus = played.local() / "bus/events.jsonl"
    bus.write_text("".join(reversed(lines(bus))))
    played.append(said("v", "/prloom approve h", author=Author("ann", "write")))

    await played.tick()
    await played.tick()

    assert "re h" in played.bridge.said
    assert played.open() == {}


@pytest.mark.parametrize("kept", [0, 1, 3])
async def test_a_decision_log_that_was_cut_undoes_nothing(played: Stage, kept: int, caplog: pytest.LogCaptureFixture):
    log = played.local() / "bus/decisions.jsonl"
    before = played.state()
    log.write_text("".join(lines(log)[:kept]))

    await played.tick()
    played.append(said("c"))
    await played.tick()

    assert "decisions.jsonl was cut or replaced; earlier decisions remain valid" in caplog.text
    assert played.bridge.said == ["re a", "re b", "re c"]
    assert played.open().keys() == before["open"].keys()
    assert played.state()["done"] == {"triaged": before["done"]["triaged"] + 1}


async def test_what_was_decided_before_a_cut_is_in_the_log_again(played: Stage):
    log = played.local() / "bus/decisions.jsonl"
    log.write_text("")
    await played.tick()
    state = played.state()
    (played.local() / "bus/state/dispatcher.json").unlink()

    await played.tick()

    assert {**played.state(), "$check": ""} == {**state, "$check": ""}
    assert played.bridge.said == ["re a", "re b"]


async def test_the_decisions_of_a_newer_prloom_are_refused_and_left_as_they_are(played: Stage):
    log = played.local() / "bus/decisions.jsonl"
    with log.open("a") as file:
        file.write(json.dumps({"ts": "", "kind": "decision", "schemaVersion": 2, "data": {"anything": 1}}) + "\n")
    before = {path: path.read_bytes() for path in (played.local() / "bus").rglob("*") if path.is_file()}
    played.bridge.news = [said("c")]

    await played.tick()

    assert {path: path.read_bytes() for path in before} == before
    assert played.bridge.said == ["re a", "re b"]
    (plan,) = status.read(played.paths, played.clock()).plans
    assert plan.blocked
    assert "its schemaVersion is 2, and this prloom knows 1; update prloom" in str(plan.last_error)


@pytest.mark.parametrize("name", ["bus/state/dispatcher.json", "state.json", "bus/state/bridge.forge.actions.json"])
async def test_a_state_of_a_newer_prloom_is_refused_and_left_as_it_is(played: Stage, name: str):
    file = played.local() / name
    content = json.dumps({"schemaVersion": 2, "anything": 1})
    file.write_text(content)
    played.append(said("c"))

    await played.tick()

    assert file.read_text() == content
    assert played.bridge.said == ["re a", "re b"]
    (plan,) = status.read(played.paths, played.clock()).plans
    assert "has the schemaVersion 2, and this prloom knows 1; the file was not changed; update prloom" in str(
        plan.last_error
    )
