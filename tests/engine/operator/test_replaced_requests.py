"""Requests after their file was removed, cut or replaced: new ones are carried out, and old ones not again."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from pathlib import Path

import pytest
from stage import Stage, said
from stage_parts import deferring

from prloom.core.commands.done_requests import REMEMBERED
from prloom.core.commands.requests import OperatorRequest
from prloom.engine.operator import control
from prloom.engine.operator.request_reader import RequestReader, was_read
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir

REPLACED = "control.jsonl was cut or replaced"


def requests_file(stage: Stage) -> Path:
    return stage.root / "prloom/.local/control.jsonl"


def saved(stage: Stage) -> Path:
    return stage.root / "prloom/.local/bus/state/control.json"


def states(stage: Stage, *events: str) -> dict[str, list[str]]:
    return {event: stage.fate(event, "pr-1") for event in events}


@pytest.fixture
async def stage(stage: Stage) -> Stage:
    """A plan with deferred events, after a first request was carried out."""
    stage.plugin("later", deferring(3_600_000))
    stage.adopt("pr-1", pr=1)
    stage.bridge.news = [said(name, pr=1) for name in ("one", "two", "three")]
    await stage.tick()
    await stage.carry_out("retry", "one")
    return stage


RETRIED = ["pending", "deferred", "pending", "deferred"]
DROPPED = ["pending", "deferred", "dropped"]


@pytest.mark.parametrize("reason", ["no", "a reason that is longer than the first request was " * 10])
async def test_a_request_in_a_new_file_is_carried_out_however_long_it_is(
    stage: Stage, caplog: pytest.LogCaptureFixture, reason: str
):
    requests_file(stage).unlink()

    await stage.carry_out("drop", "two", reason=reason)
    await stage.tick()

    assert states(stage, "one", "two") == {"one": RETRIED, "two": DROPPED}
    assert caplog.text.count(REPLACED) == 1


async def test_a_running_dispatcher_notices_it_too(stage: Stage):
    async with stage.running() as dispatcher:
        await stage.until(lambda: bool(dispatcher.registry.runtimes))
        stage.ask("drop", "three", reason="x")
        await stage.until(lambda: stage.fate("three", "pr-1") == DROPPED)
        requests_file(stage).unlink()
        stage.ask("drop", "two", reason="a long reason " * 60)

        await stage.until(lambda: stage.fate("two", "pr-1") == DROPPED)


async def test_what_was_carried_out_is_not_carried_out_again_by_an_earlier_copy_of_the_file(
    stage: Stage, caplog: pytest.LogCaptureFixture
):
    copy = requests_file(stage).read_bytes()
    await stage.carry_out("drop", "two", reason="spam")
    requests_file(stage).write_bytes(copy)

    await stage.carry_out("drop", "three", reason="spam")

    assert states(stage, "one", "two", "three") == {"one": RETRIED, "two": DROPPED, "three": DROPPED}
    assert REPLACED in caplog.text


async def test_of_so_many_requests_that_not_all_are_remembered_the_older_ones_count_as_done(
    stage: Stage,
):
    for _ in range(REMEMBERED + 1):
        stage.clock.advance(seconds=1)
        stage.ask("retry", "nobody's")
    await stage.tick()
    requests_file(stage).write_bytes(b"\n".join([*requests_file(stage).read_bytes().splitlines()[:-1], b""]))

    await stage.tick()

    assert states(stage, "one") == {"one": RETRIED}
    assert len(json.loads(saved(stage).read_text())["done"]) == REMEMBERED


async def test_a_removed_file_is_reported_once_and_a_copy_with_the_same_content_is_no_other_file(
    stage: Stage, caplog: pytest.LogCaptureFixture
):
    content = requests_file(stage).read_bytes()
    requests_file(stage).unlink()
    requests_file(stage).write_bytes(content)
    await stage.tick()
    assert REPLACED not in caplog.text
    requests_file(stage).unlink()

    await stage.tick()
    await stage.tick()

    assert caplog.text.count(REPLACED) == 1


async def test_the_state_of_an_earlier_version_gets_what_tells_another_file_from_its_own(stage: Stage):
    saved(stage).write_text(json.dumps({"cursor": json.loads(saved(stage).read_text())["cursor"]}))
    await stage.tick()
    requests_file(stage).unlink()

    await stage.carry_out("drop", "two", reason="a long reason " * 60)

    assert states(stage, "two") == {"two": DROPPED}


async def test_a_request_that_was_read_and_could_not_be_saved_as_done_is_read_again_and_the_file_is_no_other_one(
    stage: Stage, caplog: pytest.LogCaptureFixture
):
    reader = RequestReader(SafeDir.make(stage.root, *paths.LOCAL))
    stage.ask("drop", "two", reason="spam")

    first, second = reader.read(stage.clock()), reader.read(stage.clock())

    assert [each.request.verb for each in first] == ["drop"]
    assert second == first
    assert REPLACED not in caplog.text


async def test_a_line_that_is_no_request_is_passed_over_and_reported_with_what_to_do(
    stage: Stage, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING)
    with requests_file(stage).open("a") as file:
        file.write('garbage\n{"kind": "event", "data": {"id": "x", "source": "cli", "type": "destroy"}}\n')

    await stage.carry_out("drop", "two", reason="spam")
    await stage.tick()

    assert states(stage, "two") == {"two": DROPPED}
    told = [record.getMessage() for record in caplog.records if "garbage" in record.getMessage()]
    assert len(told) == 1
    assert "control.jsonl: prloom does not know this request and passes it over" in told[0]
    assert told[0].endswith("; run the command that sent it again")


async def test_a_request_counts_as_read_also_where_so_many_came_after_it_that_its_id_is_forgotten(
    stage: Stage,
):
    with SafeDir.make(stage.root, *paths.LOCAL) as local:
        control.append_request(local, OperatorRequest("mine", "poll"), stage.clock())
        stage.clock.advance(seconds=1)
        for number in range(REMEMBERED + 1):
            control.append_request(local, OperatorRequest(f"later-{number}", "poll"), stage.clock())
        asked = stage.clock() - timedelta(seconds=1)
        assert not was_read(local, "mine", asked)

        await stage.tick()

        assert was_read(local, "mine", asked)


async def test_a_request_of_a_replaced_file_that_is_older_than_what_is_remembered_is_passed_over_with_a_word(
    stage: Stage, caplog: pytest.LogCaptureFixture
):
    at = stage.clock()
    with SafeDir.make(stage.root, *paths.LOCAL) as local:
        for number in range(REMEMBERED + 1):
            control.append_request(local, OperatorRequest(f"poll-{number}", "poll"), at)
        await stage.tick()
        requests_file(stage).unlink()
        control.append_request(local, OperatorRequest("new", "drop", ("two",), reason="a long reason " * 900), at)

    await stage.tick()

    assert "no newer than those carried out last count as carried out: 1, the last is new; if it was not" in caplog.text
