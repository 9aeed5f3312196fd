"""`prloom log`, as a person and as a program reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from command_line import Prloom
from stage import Stage, said

from prloom.api import Author
from prloom.engine.views.repository_log import RepositoryLog
from prloom.model.past_error import PastError
from prloom.model.record import Timestamp, iso
from prloom.model.run import RunRecord
from prloom.storage import error_log, run_log


@pytest.fixture
async def two_plans(stage: Stage) -> Stage:
    """An event of one plan, and three hours later one of another."""
    stage.adopt("b", pr=2)
    stage.adopt("a", pr=1)
    await stage.take_in(said("old", author=Author("eve", "none")), plan_id="b")
    stage.clock.advance(hours=3)
    await stage.take_in(said("new", author=Author("eve", "none")), plan_id="a")
    return stage


def texts(prloom: Prloom, *options: str) -> list[str]:
    return [json.loads(line)["text"] for line in prloom("log", "--json", *options).out.splitlines()]


def a_run(stage: Stage, **fields: Any) -> RunRecord:
    now = Timestamp.of(stage.clock())
    given = {"id": "run-1", "plan": "a", "stage": "worker", "agent": "claude", "status": "ok", "seconds": 12.4}
    return RunRecord(**{**given, "started_at": now, "ended_at": now, **fields})


def test_the_newest_decision_of_all_plans_is_the_last(two_plans: Stage, prloom: Prloom) -> None:
    first, second = prloom("log").out.splitlines()

    assert first.startswith("2026-01-01 12:00:00  plan b: intake by prloom: held old (eve ")
    assert second.startswith("2026-01-01 15:00:00  plan a: intake by prloom: held new (eve ")


@pytest.mark.parametrize(
    ("options", "plans"),
    [
        ([], ["plan b", "plan a"]),
        (["--limit", "1"], ["plan a"]),
        (["--plan", "b"], ["plan b"]),
        (["--since", "2026-01-01T14:00Z"], ["plan a"]),
        (["--since", "2025-12-31", "--limit", "1"], ["plan a"]),
    ],
)
def test_options_choose_what_is_shown(two_plans: Stage, prloom: Prloom, options: list[str], plans: list[str]) -> None:
    assert [text.partition(":")[0] for text in texts(prloom, *options)] == plans


def test_an_entry_for_programs_says_which_decision_it_is(two_plans: Stage, prloom: Prloom) -> None:
    last = json.loads(prloom("log", "--json").out.splitlines()[-1])

    assert list(last) == ["ts", "plan", "kind", "text", "seq", "stage", "by"]
    assert (last["ts"], last["plan"], last["kind"], last["by"]) == (
        "2026-01-01T15:00:00.000Z",
        "a",
        "decision",
        "prloom",
    )


def test_a_run_that_ended_says_what_it_took(two_plans: Stage, prloom: Prloom) -> None:
    run_log.append(
        two_plans.root, a_run(two_plans, status="failed", error="it\nbroke", cost_usd=0.5), two_plans.clock()
    )

    assert texts(prloom)[-1] == "plan a: run run-1: worker by claude; failed after 12 s (it broke); 0.5000 USD"


def test_without_anything_it_says_what_comes_next(stage: Stage, prloom: Prloom) -> None:
    assert prloom("log").out == "Nothing has happened yet; it begins with `prloom start`.\n"


async def test_a_bridge_that_fails_is_told_once_and_when_it_works_again(stage: Stage) -> None:
    def down() -> None:
        raise OSError(f"the source is down at {stage.clock()}")

    stage.adopt()
    log = RepositoryLog(stage.paths)
    log.recent(stage.clock(), since=None, limit=None)
    stage.bridge.fail = down
    told = []
    for _ in range(2):
        await stage.tick_after(hours=1)
        told.append([(each.kind, each.text) for each in log.new(stage.clock())])
    stage.bridge.fail = lambda: None
    await stage.tick_after(hours=1)
    told.append([(each.kind, each.text) for each in log.new(stage.clock())])

    ((kind, text),) = told[0]
    assert kind == "error"
    assert text.startswith("bridge forge: OSError: the source is down at ")
    assert told[1:] == [[], [("recovered", "bridge forge: works again")]]


async def test_an_error_that_is_over_is_shown_with_its_beginning_and_its_end(stage: Stage, prloom: Prloom) -> None:
    def down() -> None:
        raise OSError("no route to the host")

    stage.adopt()
    stage.bridge.fail = down
    await stage.tick()
    begun = stage.clock()
    stage.clock.advance(hours=1)
    stage.bridge.fail = lambda: None
    await stage.tick()

    told = [json.loads(line) for line in prloom("log", "--json").out.splitlines()]

    assert [(each["ts"], each["kind"], each["text"]) for each in told if not each["plan"]] == [
        (iso(begun), "error", "bridge forge: OSError: no route to the host"),
        (iso(stage.clock()), "recovered", "bridge forge: works again"),
    ]
    assert "bridge forge" not in prloom("log", "--plan", "pr-7").out


async def test_an_error_that_there_is_now_stands_where_it_began_and_counts_for_the_limit(
    stage: Stage, prloom: Prloom
) -> None:
    def down() -> None:
        raise OSError("no route to the host")

    stage.adopt()
    stage.clock.now = datetime.now(UTC) - timedelta(hours=3)
    stage.bridge.fail = down
    await stage.tick()
    begun = stage.clock()
    stage.clock.advance(hours=2)
    await stage.take_in(said("a"))

    def told(*options: str) -> list[tuple[str, str]]:
        lines = map(json.loads, prloom("log", "--json", *options).out.splitlines())
        return [(each["ts"], each["kind"]) for each in lines]

    assert told()[0] == (iso(begun), "error")
    assert [kind for _, kind in told()].count("error") == 1
    assert [kind for _, kind in told("--limit", "1")] == ["decision"]
    assert "error" not in [kind for _, kind in told("--since", "90m")]
    assert "error" in [kind for _, kind in told("--since", "4h")]


async def test_an_error_that_came_and_went_between_two_looks_is_told_in_full(stage: Stage) -> None:
    log = RepositoryLog(stage.paths)
    log.recent(stage.clock(), since=None, limit=None)
    at = Timestamp.of(stage.clock())
    error_log.append(
        stage.root, PastError(source="plugin", name="p", text="it raised", since=at, until=at, works=False)
    )
    error_log.append(stage.root, PastError(source="plan", name="a", text="damaged", since=at, until=at, works=False))

    assert [(each.plan, each.kind, each.text) for each in log.new(stage.clock())] == [
        ("", "error", "plugin p: it raised"),
        ("", "recovered", "plugin p: is not used any more"),
        ("a", "error", "plan a: damaged"),
        ("a", "recovered", "plan a: that error is over"),
    ]
    assert log.new(stage.clock()) == ()


async def test_an_empty_window_says_since_when_nothing_happened_and_when_something_did(
    two_plans: Stage, prloom: Prloom
) -> None:
    told = "Nothing has happened since 2026-01-02 00:00:00; the last entry is of {}, and `prloom log` shows it.\n"

    assert prloom("log", "--since", "2026-01-02").out == told.format("2026-01-01 15:00:00")
    assert prloom("log", "--since", "2026-01-02", "--plan", "b").out == told.format("2026-01-01 12:00:00")
    assert prloom("log", "--since", "2026-01-02", "--json").out == ""


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_secret_is_masked_for_people_and_for_programs(stage: Stage, prloom: Prloom, options: list[str]) -> None:
    stage.adopt("a", pr=1)
    key = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
    run_log.append(stage.root, a_run(stage, status="failed", error=f"refused {key}"), stage.clock())

    shown = prloom("log", *options).out

    assert "refused [secret]" in shown
    assert key not in shown


def test_texts_from_outside_cannot_write_to_the_terminal(stage: Stage, prloom: Prloom) -> None:
    stage.adopt("a", pr=1)
    run_log.append(stage.root, a_run(stage, error="\x1b]0;owned\x07"), stage.clock())

    assert not set(prloom("log").out) & {"\x1b", "\x07"}


async def test_following_shows_each_thing_once_in_the_order_of_time(two_plans: Stage) -> None:
    log = RepositoryLog(two_plans.paths)
    assert len(log.recent(two_plans.clock(), since=None, limit=10)) == 2
    assert log.new(two_plans.clock()) == ()

    run_log.append(two_plans.root, a_run(two_plans), two_plans.clock())
    two_plans.clock.advance(minutes=1)
    two_plans.append(said("third", author=Author("eve", "none")), plan_id="b")
    await two_plans.tick()

    assert [(each.kind, each.plan) for each in log.new(two_plans.clock())] == [("run", "a"), ("decision", "b")]
    assert log.new(two_plans.clock()) == ()


async def test_a_plan_that_comes_later_is_followed_from_its_beginning(stage: Stage) -> None:
    log = RepositoryLog(stage.paths)
    assert log.recent(stage.clock(), since=None, limit=10) == ()

    stage.adopt("a", pr=1)
    await stage.take_in(said("e", author=Author("eve", "none")), plan_id="a")

    assert [each.plan for each in log.new(stage.clock())] == ["a"]


async def test_what_is_older_than_the_first_bytes_read_is_found_where_it_is_asked_for(stage: Stage) -> None:
    stage.adopt("a", pr=1)
    for number in range(9):
        await stage.take_in(said(f"e{number}", author=Author("eve", "none")), plan_id="a")
        stage.clock.advance(seconds=1)

    log, begin = RepositoryLog(stage.paths, room=100), stage.clock() - timedelta(seconds=7)
    assert [len(log.recent(stage.clock(), since=None, limit=count)) for count in (1, 3, 9, 20)] == [1, 3, 9, 9]
    assert len(log.recent(stage.clock(), since=begin, limit=None)) == 7
    assert len(log.recent(stage.clock(), since=begin, limit=2)) == 2


@pytest.mark.parametrize("columns", [40, 59, 60, 80])
def test_an_entry_fits_the_terminal_with_all_of_its_words(
    stage: Stage, prloom: Prloom, on_terminal: Callable[..., list[str]], columns: int
) -> None:
    stage.adopt("a", pr=1)
    run_log.append(stage.root, a_run(stage, error=f"{'long ' * 15}{'x' * 99} end"), stage.clock())

    lines = on_terminal(columns, "log")

    assert max(map(len, lines)) <= columns
    assert " ".join(" ".join(lines).split()).count("long ") == 15
    assert "…" in " ".join(lines)
    assert f" {'x' * 99} end" in prloom("log").out
