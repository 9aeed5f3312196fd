from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Prloom, Refusal
from stage import Stage, said

from prloom.api import Author, Refused


async def test_an_open_event_is_put_aside_for_good_with_the_reason(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    await stage.take_in(said("h", author=Author("eve", "none")))

    assert prloom("drop", "h", "--reason", "spam").out == "Dropped: h.\n"

    assert stage.fate("h") == ["held", "dropped"]
    assert "operator  dropped: spam\n" in prloom("why", "h").out


async def test_an_event_that_has_yet_to_be_taken_in_is_dropped_before_any_agent_sees_it(
    stage: Stage, prloom: Prloom, pr_7: Path
) -> None:
    stage.append(said("e"))

    assert prloom("drop", "e", "--reason", "a mistake").out == (
        "Saved for the next `prloom start`, to drop: e. "
        "It cannot be done now: it names an event that was not taken in yet.\n"
    )
    await stage.tick()

    assert stage.fate("e") == ["pending", "dropped"]
    assert stage.triager.batches == []


async def test_a_reason_is_needed(stage: Stage, prloom: Prloom, refused: Refusal, pr_7: Path) -> None:
    await stage.take_in(said("h", author=Author("eve", "none")))

    assert prloom("drop", "h").code == 2
    assert "give a reason, in a few words" in refused("drop", "h", "--reason", " ", code=2)
    assert stage.open()["h"]["state"] == "held"


async def test_only_open_events_can_be_dropped_and_all_or_none_are(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    stage.bridge.refuse = lambda action: Refused("locked")
    await stage.take_in(said("h", author=Author("eve", "none")), said("t"))
    (action,) = stage.state()["queue"]

    for name in ("t", action):
        assert prloom("drop", "h", name, "--reason", "r").err == (
            f"prloom: {name} is done, or is an action; only open events can be dropped\n"
        )
    assert prloom("drop", "unknown", "--reason", "r").code == 1
    assert stage.open()["h"]["state"] == "held"


async def test_all_open_events_of_an_author_are_dropped_after_a_yes(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    eve = Author("eve", "none")
    await stage.take_in(said("h1", author=eve), said("h2", author=eve), said("h3", author=Author("dan", "none")))

    assert prloom("drop", "@eve", "--reason", "spam").err == (
        "prloom: 2 events match, and nothing was dropped; "
        "to drop all of them, run `prloom drop @eve --reason spam --yes`\n"
    )
    assert prloom("drop", "@eve", "--reason", "spam", "--yes").out == "Dropped: h1, h2.\n"
    assert set(stage.open()) == {"h3"}


@pytest.mark.parametrize(
    ("answer", "end"),
    [("y", (set(), "")), ("n", ({"h1", "h2"}, "prloom: nothing was dropped, because the answer was no\n"))],
)
async def test_more_than_one_event_is_dropped_on_a_terminal_only_after_a_yes_also_where_each_is_named(
    stage: Stage,
    on_terminal: Callable[..., list[str]],
    capsys: pytest.CaptureFixture[str],
    answer: str,
    end: tuple[set[str], str],
) -> None:
    stage.adopt()
    await stage.take_in(said("h1", author=Author("eve", "none")), said("h2", author=Author("eve", "none")))

    lines = on_terminal(100, "drop", "h1", "h2", "--reason", "spam", answers=answer + "\n")

    assert "Drop these 2 events? [y/N]: " in "".join(lines)
    assert (set(stage.open()), capsys.readouterr().err) == end


async def test_a_plan_alone_stands_for_all_of_its_open_events(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    stage.adopt("other", pr=8)
    stage.append(said("h1", author=Author("eve", "none")))
    await stage.take_in(said("h2", author=Author("eve", "none")), plan_id="other")

    assert prloom("drop", "--plan", "pr-7", "--reason", "spam").out == "Dropped: h1.\n"
    assert set(stage.open("other")) == {"h2"}
    assert prloom("drop", "--plan", "pr-7", "--reason", "spam").err == (
        "prloom: no event of plan pr-7 is pending, deferred, held or parked\n"
    )


async def test_nothing_named_is_a_mistake_of_usage(stage: Stage, prloom: Prloom) -> None:
    ran = prloom("drop", "--reason", "spam")

    assert (ran.code, ran.err.splitlines()[0]) == (
        2,
        "prloom: name an event or an @AUTHOR, or use --plan. See `prloom drop --help`.",
    )
