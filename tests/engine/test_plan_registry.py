"""All that one repository has open, and what is told of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from stage import Stage, said

from prloom.api import Author
from prloom.engine.plan.rules import rules
from prloom.engine.plan_registry import PlanRegistry
from prloom.errors import PrloomError, StorageError
from prloom.storage.safe_dir import TEMPORARY


@pytest.fixture
def registry(stage: Stage) -> Iterator[PlanRegistry]:
    opened = PlanRegistry(stage.paths, rules(stage.config), stage.clock)
    yield opened
    opened.close()


def update(stage: Stage, registry: PlanRegistry) -> None:
    registry.update(rules(stage.config))


def test_plans_that_were_adopted_are_taken_up_and_those_given_up_are_let_go_of(stage: Stage, registry: PlanRegistry):
    first = stage.adopt("pr-1", pr=1)
    stage.adopt("pr-2", pr=2)
    update(stage, registry)
    assert list(registry.runtimes) == ["pr-1", "pr-2"]
    (first / "state.json").unlink()
    stage.adopt("pr-3", pr=3)

    update(stage, registry)

    assert list(registry.runtimes) == ["pr-2", "pr-3"]
    assert [runtime.id for runtime in registry.closed] == ["pr-1"]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("{", "cannot be read"),
        ('{"id": 7}', "cannot be used"),
        ('{"id": "other", "branch": "b"}', "belongs to plan 'other'"),
        ('{"id": "pr-1", "branch": "b", "preset": "gone"}', "no preset gone is configured"),
    ],
)
def test_a_plan_that_cannot_be_opened_says_why_and_keeps_no_other_from_it(
    stage: Stage, registry: PlanRegistry, state: str, reason: str
):
    (stage.adopt("pr-1", pr=1) / "state.json").write_text(state)
    stage.adopt("pr-2", pr=2)

    update(stage, registry)

    assert list(registry.runtimes) == ["pr-2"]
    assert reason in registry.unreadable["pr-1"]


def test_a_plan_that_is_mended_is_taken_up(stage: Stage, registry: PlanRegistry):
    file = stage.adopt() / "state.json"
    good = file.read_text()
    file.write_text("{")
    update(stage, registry)
    file.write_text(good)

    update(stage, registry)

    assert list(registry.runtimes) == ["pr-7"]
    assert registry.unreadable == {}


def test_that_the_plans_cannot_be_listed_is_told_until_they_can(stage: Stage, registry: PlanRegistry):
    stage.adopt()
    update(stage, registry)
    home = stage.paths.worktrees
    home.rename(home.with_name("away"))
    home.write_text("")
    update(stage, registry)
    assert "cannot read" in registry.unreadable[""]
    home.unlink()
    home.with_name("away").rename(home)

    update(stage, registry)

    assert list(registry.runtimes) == ["pr-7"]
    assert registry.unreadable == {}


def test_a_link_in_the_place_of_a_plans_folder_is_not_followed(stage: Stage, registry: PlanRegistry):
    local = stage.adopt()
    local.rename(stage.root / "elsewhere")
    local.symlink_to(stage.root / "elsewhere")

    update(stage, registry)

    assert registry.runtimes == {}
    assert "is a symbolic link, and prloom does not use it" in registry.unreadable["pr-7"]


async def test_each_plan_is_worked_by_the_rules_of_its_preset(stage: Stage):
    stage.configure('[presets.open.trust]\nminimum = "read"\n')
    stage.adopt("pr-1", pr=1, preset="open")
    stage.adopt("pr-2", pr=2)

    await stage.poll(*[said(f"e{n}", pr=n, author=Author("bob", "read")) for n in (1, 2)])

    assert stage.triager.batches == [("e1",)]
    assert stage.open("pr-2")["e2"]["state"] == "held"


def test_the_text_of_a_plan_is_read_by_its_id(stage: Stage, registry: PlanRegistry):
    (stage.adopt() / "plan.md").write_text("# The plan\n")
    update(stage, registry)

    assert registry.read_plan("pr-7") == "# The plan\n"
    with pytest.raises(PrloomError, match="there is no plan 'pr-8'; the plans are pr-7"):
        registry.read_plan("pr-8")


def test_where_its_own_bus_cannot_be_opened_the_repository_is_free_for_another_dispatcher(stage: Stage):
    (stage.root / "prloom/.local/bus/decisions.jsonl").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"decisions\.jsonl is a folder"):
        PlanRegistry(stage.paths, rules(stage.config), stage.clock)
    (stage.root / "prloom/.local/bus/decisions.jsonl").rmdir()

    PlanRegistry(stage.paths, rules(stage.config), stage.clock).close()


async def test_what_crashes_left_half_written_is_cleared_away_when_a_board_is_opened(stage: Stage):
    local = stage.adopt()
    top = stage.root / "prloom/.local"
    (top / "bus/state").mkdir(parents=True)
    (local / "bus/state").mkdir(parents=True)
    folders = [top, top / "bus/state", local, local / "bus", local / "bus/state"]
    old, new = [[each / f".{name}.x{TEMPORARY}" for each in folders] for name in ("old", "new")]
    for file in (*old, *new):
        file.write_text("half")
    for file in old:
        os.utime(file, (0, 0))

    await stage.tick()

    assert [file for file in old if file.exists()] == []
    assert [file for file in new if not file.exists()] == []
