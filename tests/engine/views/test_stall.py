"""The alarm that nothing moves."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from operator_scene import NOW, OperatorScene

from prloom.engine.views import dashboard
from prloom.engine.views.dashboard_schema import Need
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir

TODO = "- [ ] one\n- [x] two\n- [ ] three\n"


class StalledScene(OperatorScene):
    """A repository with plans in which something moved for the last time some hours ago."""

    def moved(self, local: Path, **ago: float) -> None:
        at = (self.now - timedelta(**ago)).timestamp()
        for file in [*(local / paths.BUS).glob("*.jsonl"), local / paths.PLAN_TEXT]:
            os.utime(file, (at, at))

    def alarms(self) -> list[Need]:
        return [need for need in dashboard.read(self.where, self.now).needs if need.kind == "stalled"]


@pytest.fixture
def scene(tmp_path: Path) -> StalledScene:
    scene = StalledScene(tmp_path)
    scene.report(paths.WORK, {"stallAfterMs": 7_200_000})
    return scene


def test_what_is_open_while_nothing_moves_needs_a_person(scene: StalledScene) -> None:
    waiting = {"e1": scene.event("e1", "pending"), "e2": scene.deferred("e2")}
    scene.moved(scene.plan("pr-1", TODO), hours=5)
    scene.moved(scene.plan("pr-2", state=DispatchState(open=waiting)), hours=3)

    (alarm,) = scene.alarms()

    assert alarm.text == "nothing has moved, and this is open: 2 TODOs, 2 events; no dispatcher runs"
    assert alarm.commands == ("prloom start",)
    assert alarm.age_ms == 3 * 3_600_000
    assert alarm.plan is None


def test_one_decision_in_any_plan_is_movement(scene: StalledScene) -> None:
    scene.moved(scene.plan("pr-1", TODO), hours=5)
    scene.moved(scene.plan("pr-2", status="merged"), hours=1)

    assert scene.alarms() == []


@pytest.mark.parametrize("about", [{"status": "paused"}, {"status": "merged"}, {"work": False}])
def test_what_nothing_is_to_be_done_about_is_not_open(scene: StalledScene, about: dict[str, object]) -> None:
    scene.moved(scene.plan("pr-1", TODO, **about), hours=5)

    assert scene.alarms() == []


def test_what_waits_for_a_person_already_is_no_second_item(scene: StalledScene) -> None:
    waiting = {"e1": scene.event("e1", "held"), "e2": scene.event("e2", "parked")}
    scene.moved(scene.plan("pr-1", "- [b] one\n", state=DispatchState(open=waiting)), hours=5)

    assert scene.alarms() == []


def test_a_dispatcher_that_was_started_just_now_has_its_time(tmp_path: Path) -> None:
    now = datetime.now(UTC)  # the lock takes the time of its start from the machine
    for ahead, expected in ((timedelta(hours=1), 0), (timedelta(hours=3), 1)):
        root = tmp_path / str(expected)
        root.mkdir()
        scene = StalledScene(root, now=now + ahead)
        scene.report(paths.WORK, {"stallAfterMs": 7_200_000})
        scene.moved(scene.plan("pr-1", TODO), hours=50)
        with SafeDir.make(scene.root, *paths.LOCAL) as local, DispatcherLock(local):
            found = scene.alarms()
        assert [need.commands for need in found] == [("prloom log --since 1d", "prloom doctor")] * expected


def test_where_no_dispatcher_ever_ran_there_is_no_alarm(tmp_path: Path) -> None:
    scene = StalledScene(tmp_path)
    scene.moved(scene.plan("pr-1", TODO), days=50)

    assert scene.now == NOW
    assert scene.alarms() == []
