"""What is remembered of the adopted plans outside their worktrees."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace
from stage import Stage, said

from prloom.engine import adopted_counts
from prloom.engine.bus import adopted
from prloom.engine.views import doctor, status
from prloom.model.plan import Counts
from prloom.storage.safe_dir import SafeDir


def remembered(stage: Stage, plan_id: str = "pr-7") -> Counts | None:
    with SafeDir.make(stage.root, "prloom", ".local") as top:
        found = adopted.read(top, plan_id)
    return None if found is None else found.counts


async def test_a_plan_that_a_dispatcher_has_seen_is_remembered_with_its_counts(stage: Stage) -> None:
    local = stage.adopt()
    (local / "plan.md").write_text("# A plan\n\n## TODO\n\n- [ ] one\n- [x] two\n")
    await stage.take_in(said("a", author={"login": "eve", "trust": "none", "bot": False}))
    assert remembered(stage) == Counts(held=1, todos_open=1)

    shutil.rmtree(stage.paths.worktree("pr-7"))

    found = status.read(stage.paths, stage.clock())
    assert found.plans == ()
    (lost,) = found.lost_plans or ()
    assert (lost.id, lost.branch, lost.pr, lost.counts) == ("pr-7", "pr-7", 7, Counts(held=1, todos_open=1))
    assert lost.reason == f"its worktree {stage.paths.worktree('pr-7')} was removed"
    assert lost.recover == "prloom adopt 7 --plan pr-7"


async def test_a_plan_at_rest_costs_no_write(stage: Stage) -> None:
    stage.adopt()
    await stage.tick()
    file = stage.root / "prloom/.local/plans/pr-7.json"
    before = file.stat()

    await stage.tick_after(minutes=1)

    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_counts_that_change_often_are_not_written_often(stage: Stage) -> None:
    stage.adopt()
    async with stage.rounds() as again:
        for number in range(3):
            stage.append(said(f"{number}", author={"login": "eve", "trust": "none", "bot": False}))
            await again()
        assert remembered(stage) == Counts(held=1)

        stage.clock.advance(seconds=adopted_counts.PAUSE / timedelta(seconds=1))
        await again()
        assert remembered(stage) == Counts(held=3)

        stage.append(said("last", author={"login": "eve", "trust": "none", "bot": False}))
        await again()
    assert remembered(stage) == Counts(held=4)


async def test_a_plan_whose_worktrees_are_now_looked_for_elsewhere_is_not_called_removed(stage: Stage) -> None:
    stage.adopt()
    await stage.tick()
    here = replace(stage.paths, worktrees=stage.root / "elsewhere")

    (lost,) = status.read(here, stage.clock()).lost_plans or ()

    assert lost.recover is None
    assert lost.reason == (
        f"its worktree is in {stage.paths.worktrees}, and worktrees_dir is {here.worktrees}; change one of the two"
    )


async def test_what_is_remembered_and_cannot_be_read_is_no_plan(stage: Stage) -> None:
    folder = stage.root / "prloom/.local/plans"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text("{")
    (folder / "b.json").write_text(json.dumps({"plan": {"id": "other", "branch": "x"}, "worktree": "/x"}))
    (folder / ".hidden").write_text("x")

    assert adopted.lost(stage.paths) == ()


async def test_what_a_crash_left_of_a_write_is_named_by_doctor_and_removed(stage: Stage) -> None:
    stage.adopt()
    await stage.tick()
    left = stage.root / "prloom/.local/plans/.pr-7.json.0123456789ab.tmp"
    left.write_text("{")
    os.utime(left, (1, 1))

    assert str(left) in {finding.where for finding in doctor.findings(stage.paths, datetime.now(UTC))}
    await stage.tick()
    assert not left.exists()
