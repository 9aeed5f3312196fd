from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from stage import Stage, said
from stage_parts import deferring

from prloom.api import Author
from prloom.cli.events import COLUMNS

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e[/red]\nSTATE"
Prloom = Callable[..., Any]
OnTerminal = Callable[..., list[str]]


async def test_open_events_are_listed_with_why_they_wait_and_others_with_what_they_were_about(
    stage: Stage, prloom: Prloom
) -> None:
    stage.adopt()
    stage.plugin("quiet", deferring(saying="wait"))
    stage.append(said("e1", "wait"), said("e2", "What is this?\nAnd that?", author=Author("ann", "write")))
    await stage.tick()

    lines = prloom("events").out.splitlines()

    assert [line.split()[:5] for line in lines] == [
        ["STATE", "EVENT", "PLAN", "TYPE", "AUTHOR"],
        ["deferred", "e1", "pr-7", "pr_comment", "-"],
        ["triaged", "e2", "pr-7", "pr_comment", "ann"],
    ]
    assert lines[1].endswith("  quiet: not now")
    assert lines[2].endswith("  What is this?")


async def test_json_is_one_document(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.append(said("e"))

    document = json.loads(prloom("events", "pr-7", "--state", "pending", "--json").out)

    assert list(document) == ["events"]
    assert list(document["events"][0]) == [
        *("id", "plan", "type", "author", "title", "url", "state", "reason", "by", "attempts", "createdAt"),
        "updatedAt",
    ]
    assert json.loads(prloom("events", "--state", "held", "--json").out) == {"events": []}


def test_nothing_to_list_says_where_events_come_from(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()

    assert prloom("events").out == ("No events yet; they come with `prloom start`, or by hand with `prloom emit`.\n")
    assert prloom("events", "pr-7", "--state", "held").out == "No event of plan pr-7 is held.\n"


def test_a_plan_that_cannot_be_read_is_told_on_stderr_beside_the_others(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.append(said("e"))
    bus = stage.adopt("broken", pr=8) / "bus"
    bus.rename(bus.with_name("elsewhere"))
    bus.symlink_to("elsewhere")

    ran = prloom("events", "--json")

    assert [row["id"] for row in json.loads(ran.out)["events"]] == ["e"]
    assert ran.err.startswith("prloom: plan broken: ")
    assert "bus is a symbolic link" in ran.err


async def test_nothing_from_outside_reaches_the_terminal_as_it_is(stage: Stage, prloom: Prloom) -> None:
    stage.adopt()
    stage.append(said(f"e{EVIL}", EVIL, title=EVIL, type=f"pr_{EVIL}", author=Author(EVIL, "none"), url=EVIL))
    await stage.tick()

    text = prloom("events").out

    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert len(text.splitlines()) == 2


# What a terminal has room for.

COMMENT = "github:issue_comment:21012345{}"
EVE = Author("eve-with-a-long-name", "none")


@pytest.fixture
async def held(stage: Stage) -> Stage:
    """Three held comments, with ids as they come from GitHub."""
    stage.adopt()
    stage.append(*(said(COMMENT.format(number), "Please run this for me. " * 9, author=EVE) for number in range(3)))
    await stage.tick()
    return stage


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 132])
def test_no_line_is_wider_than_the_terminal_and_ids_are_whole(
    held: Stage, on_terminal: OnTerminal, columns: int
) -> None:
    lines = on_terminal(columns, "events")

    assert max(map(len, lines)) <= columns
    assert all(any(COMMENT.format(number) in line.split() for line in lines) for number in range(3))


def test_a_table_at_80_columns_is_cut_after_what_is_needed_most(held: Stage, on_terminal: OnTerminal) -> None:
    lines = on_terminal(80, "events")

    assert [line.split()[:3] for line in lines] == [
        ["STATE", "EVENT", "PLAN"],
        *(["held", COMMENT.format(number), "pr-7"] for number in range(3)),
    ]
    assert lines[1].endswith("…")


# Which events are listed.


@pytest.fixture
async def mixed(stage: Stage) -> Stage:
    """Events of two plans that came one after the other, the older ones for the plan with the later name."""
    stage.adopt("b", pr=2)
    stage.adopt("a", pr=1)
    stage.append(said("old", author=Author("ann", "write")), plan_id="b")
    stage.append(said("check", type="check_failed"), plan_id="b")
    await stage.tick()
    stage.clock.advance(hours=3)
    stage.append(said("new", author=Author("Ann", "write")), plan_id="a")
    await stage.tick()
    return stage


def ids(prloom: Prloom, *options: str) -> list[str]:
    return [row["id"] for row in json.loads(prloom("events", "--json", *options).out)["events"]]


def test_there_are_columns_from_60_on_only(mixed: Stage, on_terminal: OnTerminal) -> None:
    wide, narrow = on_terminal(60, "events"), on_terminal(59, "events")

    assert wide[0].split()[:2] == ["STATE", "EVENT"]
    assert "STATE" not in "".join(narrow)


def test_lines_in_place_of_columns_have_the_cell_of_each_column(mixed: Stage, on_terminal: OnTerminal) -> None:
    heads, old, check, _ = (re.split(" {2,}", line) for line in on_terminal(132, "events"))
    narrow = on_terminal(59, "events")

    assert heads == [*(column.head for column in COLUMNS), "WHAT"]
    assert narrow[0] == "{} {}".format(*old)
    assert narrow[1] == "  {2}, {3} by {4}, {5}".format(*old)
    assert narrow[4] == "  {2}, {3}, {5}".format(*check)


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        (["--limit", "1"], ["new"]),
        (["--limit", "2"], ["check", "new"]),
        (["--author", "ann"], ["old", "new"]),
        (["--author", "@ANN", "--limit", "1"], ["new"]),
        (["--type", "check_failed"], ["check"]),
        (["--type", "check_failed", "--author", "ann"], []),
        (["--since", "2026-01-01T14:00Z"], ["new"]),
        (["--since", "2025-12-31"], ["old", "check", "new"]),
    ],
)
def test_options_choose_events_in_json_too(mixed: Stage, prloom: Prloom, options: list[str], listed: list[str]) -> None:
    assert ids(prloom, *options) == listed


async def test_by_age_the_event_whose_state_has_not_changed_for_the_longest_time_is_first(
    stage: Stage, prloom: Prloom
) -> None:
    stage.adopt()
    eve = Author("eve", "none")
    stage.append(said("first", author=eve))
    await stage.tick()
    stage.clock.advance(hours=1)
    stage.append(said("second", author=eve))
    await stage.tick()
    stage.clock.advance(hours=1)
    prloom("drop", "first", "--reason", "spam")

    assert ids(prloom, "--sort", "age") == ["second", "first"]
    assert ids(prloom, "--sort", "age", "--limit", "1") == ["second"]
    assert ids(prloom, "--sort", "came", "--limit", "1") == ["second"]
    assert ids(prloom) == ["first", "second"]


def test_options_that_match_nothing_say_so(mixed: Stage, prloom: Prloom) -> None:
    assert prloom("events", "--author", "bob").out == "No event matches; leave out an option to see more.\n"
