"""The alarm that nothing moves."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from operator_scene import NOW, OperatorScene

from prloom.engine.views import dashboard
from prloom.engine.views.dashboard_schema import Need
from prloom.model.state import DispatchState, OpenEvent
from prloom.model.work import TodoWork
from prloom.storage import paths

WORKER = "20260101T090000000Z-worker-00000001"
TODO = "- [ ] one\n- [x] two\n- [ ] three\n"


class StalledScene(OperatorScene):
    """A repository with plans whose files were written last some hours ago."""

    def moved(self, local: Path, **ago: float) -> None:
        at = (self.now - timedelta(**ago)).timestamp()
        for file in [*(local / paths.BUS).glob("*.jsonl"), local / paths.PLAN_TEXT]:
            os.utime(file, (at, at))

    def pending(self, event_id: str, **fields: Any) -> OpenEvent:
        return self.event(event_id, "pending", **fields)

    def put_off(self, event_id: str, attempts: int) -> OpenEvent:
        """Return an event that was put off five hours ago, and then again, until an hour from now."""
        event = self.deferred(event_id)
        assert event.deferral is not None
        first = self.ago(hours=5)
        wait = replace(event.deferral, attempts=attempts, first_deferred_at=first, deferred_until=self.later(hours=1))
        return replace(event, deferral=wait, first_deferred_at=first)

    def alarms(self) -> list[Need]:
        return [need for need in dashboard.read(self.where, self.now).needs if need.kind == "stalled"]


@pytest.fixture
def scene(tmp_path: Path) -> StalledScene:
    scene = StalledScene(tmp_path)
    scene.report(paths.WORK, {"stallAfterMs": 7_200_000})
    return scene


def test_what_a_dispatcher_would_do_needs_a_person_where_none_runs(scene: StalledScene) -> None:
    waiting = {"e1": scene.pending("e1", since=scene.ago(hours=3)), "e2": scene.put_off("e2", attempts=4)}
    scene.moved(scene.plan("pr-1", TODO), hours=4)
    scene.moved(scene.plan("pr-2", state=DispatchState(open=waiting)), hours=3)

    (alarm,) = scene.alarms()

    assert alarm.text == "no dispatcher is running, and this waits for one: 2 TODOs, 2 events"
    assert alarm.commands == ("prloom start",)
    assert alarm.age_ms == 5 * 3_600_000
    assert alarm.plan is None


def test_a_plan_that_moves_does_not_hide_one_that_stands_still(scene: StalledScene) -> None:
    scene.dispatcher()
    scene.moved(scene.plan("pr-1", TODO, DispatchState(progressed_at=scene.ago(hours=5))), hours=5)
    moving = DispatchState(progressed_at=scene.ago(minutes=1), open={"e": scene.put_off("e", attempts=9)})
    scene.moved(scene.plan("pr-2", TODO, moving), hours=5)
    scene.run("pr-2", "20260101T115600000Z-triage-00000001")

    (alarm,) = scene.alarms()

    assert (alarm.plan, alarm.text) == ("pr-1", "nothing has moved, and this is open: 2 TODOs")
    assert alarm.commands == ("prloom log --plan pr-1 --since 1d", "prloom doctor")
    assert alarm.age_ms == 5 * 3_600_000


def test_tries_that_fail_again_and_again_are_no_movement(scene: StalledScene) -> None:
    scene.dispatcher()
    waiting = {
        "e": scene.put_off("e", attempts=9),
        "p": scene.pending("p", failures=1, first_deferred_at=scene.ago(hours=3)),
    }
    queue = {"a": scene.action("a", attempts=3, next_try=scene.later(minutes=1), since=scene.ago(hours=3))}
    scene.moved(scene.plan("pr-1", state=DispatchState(open=waiting)), minutes=1)
    scene.moved(scene.plan("pr-2", state=DispatchState(queue=queue)), minutes=1)
    scene.run("pr-1", "20260101T115600000Z-triage-00000001")

    assert [(need.plan, need.text.partition(": ")[2]) for need in scene.alarms()] == [
        ("pr-1", "2 events"),
        ("pr-2", "1 action"),
    ]


def test_a_first_try_that_goes_on_is_no_stall_and_one_that_was_refused_is(scene: StalledScene) -> None:
    scene.dispatcher()
    work = TodoWork(id="t", title="one", phase="running", run=WORKER, started_at=scene.ago(hours=3))
    delayed = replace(work, phase="ready", waits_for="no agent is there", retry_at=scene.later(hours=1))
    scene.moved(scene.plan("pr-1", TODO, DispatchState(work=work)), hours=3)
    scene.run("pr-1", WORKER)
    scene.moved(scene.plan("pr-2", TODO, DispatchState(work=delayed)), hours=3)

    assert [need.plan for need in scene.alarms()] == ["pr-2"]


def test_a_plan_that_awaits_a_free_agent_stands_still_only_while_none_works(scene: StalledScene) -> None:
    scene.dispatcher()
    waiting = {"e": scene.pending("e", since=scene.ago(hours=3))}
    scene.moved(scene.plan("pr-1", state=DispatchState(open=waiting)), hours=3)
    scene.report(paths.WORK, {"stallAfterMs": 7_200_000, "waiting": ["pr-1"]})
    assert [need.plan for need in scene.alarms()] == ["pr-1"]

    scene.plan("pr-2")
    scene.run("pr-2", "20260101T115600000Z-triage-00000001")
    assert scene.alarms() == []


@pytest.mark.parametrize(
    "about",
    [{"status": "merged"}, {"work": False}, {"state": DispatchState(paused=True)}, {"last_error": "no exchange"}],
)
def test_what_nothing_is_to_be_done_about_before_a_person_has_mended_it_is_not_open(
    scene: StalledScene, about: dict[str, object]
) -> None:
    scene.moved(scene.plan("pr-1", TODO, **about), hours=5)

    assert scene.alarms() == []


def test_what_waits_for_a_person_already_is_no_second_item(scene: StalledScene) -> None:
    waiting = {"e1": scene.event("e1", "held"), "e2": scene.event("e2", "parked")}
    scene.moved(scene.plan("pr-1", "- [b] one\n", state=DispatchState(open=waiting)), hours=5)

    assert scene.alarms() == []


@pytest.mark.parametrize(("hours", "expected"), [(1, 0), (3, 1)])
def test_a_dispatcher_that_was_started_just_now_has_its_time(scene: StalledScene, hours: int, expected: int) -> None:
    scene.dispatcher(started=scene.ago(hours=hours))
    scene.moved(scene.plan("pr-1", TODO), hours=50)

    assert [need.age_ms for need in scene.alarms()] == [3 * 3_600_000] * expected


def test_where_no_dispatcher_ever_ran_what_waits_for_one_is_shown_at_once(tmp_path: Path) -> None:
    scene = StalledScene(tmp_path)
    scene.plan("pr-1", TODO)
    drafts = scene.root / "prloom/.local/inbox"
    drafts.mkdir()
    (drafts / "new-plan.md").write_text("---\nstatus: queued\n---\n# New\n\n## TODO\n- [ ] one\n")
    (drafts / "other-plan.md").write_text("# Other\n\n## TODO\n- [ ] one\n")

    (alarm,) = scene.alarms()

    assert scene.now == NOW
    assert alarm.text == "no dispatcher is running, and this waits for one: 1 queued plan, 2 TODOs"
    assert alarm.remedy == "`prloom start`"


def test_where_all_is_done_no_dispatcher_has_to_run(tmp_path: Path) -> None:
    scene = StalledScene(tmp_path)
    scene.plan("pr-1", "- [x] one\n")

    assert scene.alarms() == []
