"""One bus: what a commit is, what is rebuilt after trouble, and how its journals grow."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_clock import NOON
from faulty_disks import Crash, CrashingDisk, FailingDisk, NotingDisk
from stage import said

from prloom.api import Action, Comment, Target
from prloom.backoff import Backoff
from prloom.core.events import admission
from prloom.core.reports import decision_line
from prloom.core.waits import deferral
from prloom.core.waits.wake import Arrival
from prloom.core.work import brake_notices
from prloom.engine.bus import entries
from prloom.engine.bus.event_store import Effect, EventStore, TooLongError
from prloom.errors import StorageError
from prloom.model.decision import Change, Decision, DeliveryChange, WakeOn
from prloom.model.record import START, Position
from prloom.model.state import DispatchState
from prloom.model.work import Block, WorkStep
from prloom.storage import paths
from prloom.storage.disk import REAL, Disk
from prloom.storage.safe_dir import SafeDir

MANY = 40


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[SafeDir]:
    with SafeDir.make(tmp_path, "bus") as folder:
        yield folder


def on(disk: Disk, tmp_path: Path) -> SafeDir:
    return SafeDir.make(tmp_path, "bus", disk=disk)


def opened(bus: SafeDir, effects: Sequence[Effect] = (), **more: Any) -> EventStore:
    return EventStore.open(bus, lambda: NOON, effects, **more)


def admit(event_store: EventStore, event_id: str, body: str = "hello") -> None:
    """Append an event and take it in."""
    entries.append(event_store.events, [said(event_id, body)], NOON)
    found = [each for each in event_store.events.scan() if (event := entries.event(each.line)) and event.id == event_id]
    came_in = admission.intake(said(event_id, body), found[-1].position)
    change = Change(event_id=event_id, verdict="admitted", state="pending", intake=came_in)
    event_store.commit("intake", "prloom", changes=(change,), cursor=event_store.events.end())


def end(event_store: EventStore, event_id: str, *actions: Action) -> None:
    change = Change(event_id=event_id, verdict="handled", state="handled")
    event_store.commit("beforeTriage", "someone", changes=(change,), actions=actions)


def reply(name: str) -> Action:
    return Action(id=name, target=Target("forge", {}), payload=Comment("hi"), related_event_id="e")


def names(bus: SafeDir, stem: str) -> list[str]:
    return [name for name in bus.names() if name.startswith(stem)]


class Effects:
    """An effect that notes what it was given, and fails when it is told to."""

    def __init__(self) -> None:
        self.had: list[int] = []
        self.fails = False

    def apply(self, decision: Decision, state: DispatchState) -> None:
        if self.fails:
            raise StorageError("no room")
        assert state.seq == decision.seq
        self.had.append(decision.seq)


# ---- committing


def test_a_commit_is_one_flushed_line_of_the_decision_log(tmp_path: Path):
    disk = NotingDisk()
    event_store = opened(on(disk, tmp_path))
    admit(event_store, "e")
    disk.done.clear()

    end(event_store, "e")

    assert disk.done == ["write", "fdatasync"]


def test_a_commit_tells_the_log_which_plan_it_is_of_and_what_was_decided(
    bus: SafeDir, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "prloom")
    event_store = opened(bus)
    assert event_store.plan_id == ""  # the repository's own bus, until a plan's name is set
    event_store.plan_id = "pr-7"

    change = Change(event_id="e", verdict="handled", state="handled")
    event_store.commit("beforeTriage", "someone", changes=(change,), actions=(reply("a-1"),))

    assert caplog.messages == ["plan pr-7: beforeTriage by someone: handled e; queued a-1"]
    assert caplog.records[0].name == decision_line.LOG


def test_a_brake_is_told_in_the_plans_conversation_together_with_the_stop_after_what_else_is_said(bus: SafeDir):
    event_store = opened(bus)
    event_store.plan_id = "pr-7"
    stop = Block(reason="the brake max_runs_per_day = 1 is on", since=START, way_on="prloom resume pr-7")
    parked = WorkStep(todo_id="t-1", verdict="parked", reason="no progress")
    target = Target("forge", {"pr": 7})
    assert event_store.commit("work", "prloom", block=stop).actions == ()
    event_store.conversation = lambda: target

    blocked = event_store.commit("work", "prloom", actions=(reply("a-1"),), block=stop)
    left = event_store.commit("work", "prloom", work=parked)

    told = brake_notices.notice({"block": stop}, "pr-7", seq=2, target=target)
    assert blocked.actions == (reply("a-1"), told)
    assert left.actions == (brake_notices.notice({"work": parked}, "pr-7", seq=3, target=target),)


def test_an_event_of_a_thread_that_is_waited_for_ends_the_wait_in_the_decision_that_lets_it_in(bus: SafeDir):
    event_store = opened(bus)
    admit(event_store, "e1")
    start = event_store.events.end()
    event = said("e2", context={"thread": "t1"})
    entries.append(event_store.events, [event], NOON)
    came_in = admission.intake(event, Position(start.segment, start.offset))
    held = Change(event_id="e2", verdict="held", state="held", intake=came_in)
    event_store.commit("intake", "prloom", changes=(held,))
    waits = event_store.state.open["e1"]
    wait = deferral.defer(waits, "gate", "why", now=NOON, policy=Backoff(), wake_on=WakeOn(threads=("t1",)))
    put_off = Change(event_id="e1", verdict="deferred", state="deferred", deferral=wait)
    event_store.commit("beforeTriage", "gate", changes=(put_off,))
    approved = Change(event_id="e2", verdict="vouched", state="pending")

    decision = event_store.commit("intake", "prloom", changes=(approved,))

    woken = Change(event_id="e1", verdict="woken", state="pending", reason="pr_comment e2 arrived", woken_by="e2")
    assert decision.changes == (approved, woken)
    assert list(event_store.arrivals)[-1] == (decision.seq, Arrival("e2", "pr_comment", "t1"))


def test_the_ends_of_closed_segments_are_kept_beside_the_projection(bus: SafeDir, tmp_path: Path):
    event_store = opened(bus, rotate_at=10)
    admit(event_store, "a")
    event_store.save()
    admit(event_store, "b")

    event_store.ends.record([(1, 100)])

    assert (tmp_path / "bus/state" / paths.SEGMENT_ENDS).is_file()


def test_after_an_error_a_ledger_writes_nothing_any_more(tmp_path: Path):
    event_store = opened(on(FailingDisk("fdatasync", nth=3), tmp_path))
    admit(event_store, "a")
    with pytest.raises(StorageError):
        end(event_store, "a")
    log = tmp_path / "bus/decisions.jsonl"
    before = log.read_bytes()

    with pytest.raises(StorageError, match="cannot be written any more"):
        event_store.commit("beforeTriage", "someone")
    event_store.save()

    assert log.read_bytes() == before
    assert opened(on(REAL, tmp_path)).state.open.keys() == {"a"}


def test_a_ledger_that_was_closed_says_why(bus: SafeDir):
    event_store = opened(bus)
    event_store.close("the plan was given up")

    with pytest.raises(StorageError, match="cannot be written any more: the plan was given up"):
        event_store.commit("operator", "operator")


def test_what_does_not_fit_into_a_line_is_refused_and_the_ledger_stays_of_use(bus: SafeDir):
    event_store = opened(bus)

    with pytest.raises(TooLongError, match="over the limit"):
        event_store.commit("beforeTriage", "someone", todos_done=("x" * (17 * 1024 * 1024),))
    admit(event_store, "e")

    assert event_store.state.seq == 1


def test_an_effect_that_fails_keeps_no_other_from_its_decision(bus: SafeDir):
    first, second = Effects(), Effects()
    event_store = opened(bus, (first, second))
    first.fails = True

    with pytest.raises(StorageError, match="no room"):
        admit(event_store, "e")

    assert second.had == [1]


def test_an_effect_that_failed_is_brought_up_by_the_next_opening(bus: SafeDir):
    effect = Effects()
    event_store = opened(bus, (effect,))
    effect.fails = True
    with pytest.raises(StorageError):
        admit(event_store, "e")
    effect.fails = False

    again = opened(bus, (effect,))

    assert effect.had == [1]
    assert again.state.open.keys() == {"e"}


def test_only_the_last_decision_is_made_again_for_people_may_have_changed_the_files_since(bus: SafeDir):
    effect = Effects()
    event_store = opened(bus, (effect,))
    for number in range(3):
        admit(event_store, f"e{number}")
    effect.had.clear()

    opened(bus, (effect,))

    assert effect.had == [3]


def test_after_a_clean_end_nothing_is_made_again(bus: SafeDir):
    effect = Effects()
    event_store = opened(bus, (effect,))
    admit(event_store, "e")
    event_store.save()
    effect.had.clear()

    opened(bus, (effect,))

    assert effect.had == []


def test_opening_what_was_saved_writes_nothing(tmp_path: Path):
    event_store = opened(on(REAL, tmp_path))
    admit(event_store, "e")
    event_store.save()
    disk = NotingDisk()

    opened(on(disk, tmp_path))

    assert disk.done == []


# ---- texts


def test_an_events_text_is_read_where_it_stands(bus: SafeDir):
    event_store = opened(bus)
    admit(event_store, "e", "the text")

    event = event_store.texts.get(event_store.state.open["e"])

    assert event is not None
    assert event.body == "the text"


def test_a_text_that_is_not_the_one_that_came_in_is_none(bus: SafeDir, tmp_path: Path):
    admit(opened(bus), "e", "the text")
    file = tmp_path / "bus/events.jsonl"
    file.write_bytes(file.read_bytes().replace(b"the text", b"another!"))
    event_store = opened(bus)

    assert event_store.texts.get(event_store.state.open["e"]) is None


def test_only_the_texts_of_pending_events_are_kept_in_memory(bus: SafeDir):
    event_store = opened(bus)
    for number in range(3):
        admit(event_store, f"e{number}")
        event_store.texts.get(event_store.state.open[f"e{number}"])

    park = Change(event_id="e0", verdict="parked", state="parked", reason="no")
    event_store.commit("intake", "prloom", changes=(park,))
    end(event_store, "e1")

    assert list(event_store.texts) == ["e2"]


# ---- rebuilding


def life(bus: SafeDir, rotate_at: int) -> EventStore:
    """Let many events come in, most of which are answered and done, over several segments of each journal."""
    event_store = opened(bus, rotate_at=rotate_at)
    for number in range(MANY):
        admit(event_store, f"e{number}")
        if number % 4:
            end(event_store, f"e{number}", reply(f"a-{number}"))
        if number % 3 == 0 and f"a-{number}" in event_store.state.queue:
            done = DeliveryChange(action_id=f"a-{number}", state="delivered", attempts=1)
            event_store.commit("deliver", "forge", deliveries=(done,))
        event_store.save()
    return event_store


def test_a_long_journal_goes_on_in_a_new_segment_and_the_state_is_the_same(bus: SafeDir, tmp_path: Path):
    once = life(bus, 2000).state
    with SafeDir.make(tmp_path, "whole") as other:
        whole = life(other, 10**9).state

    assert len(names(bus, "decisions-")) > 3
    assert len(names(bus, "events-")) > 3
    assert len(names(bus, "actions-")) > 1
    assert once.open.keys() == whole.open.keys()
    assert (once.done, once.queue.keys(), once.delivered) == (whole.done, whole.queue.keys(), whole.delivered)


def test_a_journal_that_is_long_once_is_rotated_once(bus: SafeDir):
    event_store = opened(bus, rotate_at=2000)
    admit(event_store, "e")
    while event_store.state.outbox.offset <= 2000:
        event_store.commit("beforeTriage", "someone", actions=(reply(f"a-{event_store.state.seq}"),))
    event_store.save()
    assert names(bus, "actions-") == ["actions-000001.jsonl"]

    for _ in range(3):
        event_store.commit("operator", "operator")
        event_store.save()

    assert names(bus, "actions-") == ["actions-000001.jsonl"]


def test_a_state_that_is_longer_than_a_segment_does_not_make_a_new_one_each_time(bus: SafeDir):
    event_store = opened(bus, rotate_at=500)
    for number in range(10):
        admit(event_store, f"e{number}")
    event_store.save()
    before = names(bus, "decisions-")

    for _ in range(3):
        event_store.commit("operator", "operator")
        event_store.save()

    assert names(bus, "decisions-") == before


@pytest.mark.parametrize("rotate_at", [2000, 10**9])
def test_without_its_projection_a_bus_is_rebuilt_from_the_decision_log(bus: SafeDir, tmp_path: Path, rotate_at: int):
    state = life(bus, rotate_at).state
    (tmp_path / "bus/state/dispatcher.json").unlink()

    assert opened(bus).state == state


def test_a_rebuild_reads_one_segment_and_not_all_of_history(bus: SafeDir, tmp_path: Path):
    state = life(bus, 2000).state
    for name in names(bus, "decisions-"):
        (tmp_path / "bus" / name).unlink()
    (tmp_path / "bus/state/dispatcher.json").write_text("{")

    again = opened(bus)

    assert (again.state.open, again.state.done) == (state.open, state.done)


def test_where_the_snapshot_cannot_be_read_all_of_history_is(bus: SafeDir, tmp_path: Path):
    state = life(bus, 2000).state
    live = tmp_path / "bus/decisions.jsonl"
    live.write_bytes(live.read_bytes().replace(b'"snapshot"', b'"snapshOt"', 2))
    (tmp_path / "bus/state/dispatcher.json").unlink()

    again = opened(bus)

    assert (again.state.open.keys(), again.state.done) == (state.open.keys(), state.done)


def test_a_projection_of_another_shape_is_keep_and_rebuilt(bus: SafeDir, tmp_path: Path):
    state = life(bus, 10**9).state
    (tmp_path / "bus/state/dispatcher.json").write_text('{"seq": "many"}')

    assert opened(bus).state == state
    assert [name for name in os.listdir(tmp_path / "bus/state") if "corrupt" in name]


def test_a_decision_that_cannot_be_read_is_skipped_and_said(
    bus: SafeDir, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    event_store = opened(bus)
    admit(event_store, "a")
    admit(event_store, "b")
    log = tmp_path / "bus/decisions.jsonl"
    first, second = log.read_bytes().splitlines()
    log.write_bytes(b"?" * len(first) + b"\n" + second + b"\n")

    again = opened(bus)

    assert again.state.open.keys() == {"b"}
    assert "decisions.jsonl has a line that cannot be read; `prloom doctor` names it" in caplog.text


def test_an_action_that_a_crash_left_in_the_outbox_is_not_appended_again(tmp_path: Path):
    queued = []
    for changes in range(1, 12):
        folder = tmp_path / str(changes)
        folder.mkdir()
        event_store = opened(on(REAL, folder))
        admit(event_store, "e")
        event_store.save()
        crashing = CrashingDisk(before=10**9)
        event_store = opened(on(crashing, folder))
        crashing.before = crashing.changes + changes
        with contextlib.suppress(Crash):
            end(event_store, "e", reply("a-1"))
            event_store.save()
        again = opened(on(REAL, folder))
        outbox = folder / "bus/actions.jsonl"
        queued.append(
            [json.loads(line)["data"]["id"] for line in outbox.read_bytes().splitlines()] if outbox.exists() else []
        )
        assert list(again.state.open) == ["e"] or again.action(again.state.queue["a-1"].position) == reply("a-1")

    assert queued[0] == []
    assert queued[1:] == [["a-1"]] * 10


def test_two_rotations_cut_short_at_any_point_leave_the_state_as_it_was(tmp_path: Path):
    state = None
    for before in range(1, 60):
        folder = tmp_path / str(before)
        folder.mkdir()
        event_store = opened(on(REAL, folder))
        for number in range(8):
            admit(event_store, f"e{number}")
        event_store.save()
        crashing = CrashingDisk(before=before)
        try:
            again = opened(on(crashing, folder), rotate_at=100)
            again.commit("operator", "operator", paused=True)
            again.save()
        except Crash:
            pass
        else:
            break
        state = opened(on(REAL, folder), rotate_at=10**9).state
        assert state.open.keys() == {f"e{number}" for number in range(8)}
    assert state is not None


# ---- a file system that refuses


@pytest.mark.parametrize(("nth", "journal"), [(1, "decisions"), (2, "events")])
def test_a_rotation_that_the_file_system_refuses_is_said_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, nth: int, journal: str
):
    caplog.set_level(logging.WARNING)
    event_store = opened(on(FailingDisk("link", nth=nth), tmp_path), rotate_at=300)
    admit(event_store, "e", "hello " * 50)
    event_store.save()
    event_store.commit("operator", "operator", paused=True)
    event_store.save()

    assert f"{journal}.jsonl cannot be rotated, and keeps growing: cannot link" in caplog.text
    assert opened(on(REAL, tmp_path)).state.paused


def test_a_rotation_that_failed_half_way_has_the_ledger_opened_anew(tmp_path: Path):
    class Halfway(NotingDisk):
        """A disk that fails to flush the folder once the live file was replaced."""

        broken = True

        def about_to(self, operation: str) -> None:
            if self.broken and operation == "fsync" and self.done[-1:] == ["rename"] and "link" in self.done:
                self.broken = False
                raise OSError(5, "Input/output error")
            super().about_to(operation)

    disk = Halfway()
    event_store = opened(on(disk, tmp_path), rotate_at=300)
    admit(event_store, "a")
    with pytest.raises(StorageError):
        event_store.save()

    again = opened(on(REAL, tmp_path), rotate_at=10**9)
    admit(again, "b")

    assert opened(on(REAL, tmp_path)).state.open.keys() == {"a", "b"}


def test_a_snapshot_is_the_decision_after_the_last_one_and_says_whose_it_is(bus: SafeDir, tmp_path: Path):
    event_store = opened(bus, rotate_at=10)
    admit(event_store, "a")
    event_store.save()
    admit(event_store, "b")

    live = tmp_path / "bus/decisions.jsonl"
    written = [json.loads(line)["data"] for line in live.read_text().splitlines()]
    assert [(each["seq"], each["stage"], each["by"]) for each in written] == [
        (2, "snapshot", "prloom"),
        (3, "intake", "prloom"),
    ]


def test_the_projection_that_is_saved_with_a_snapshot_knows_the_snapshot(bus: SafeDir, tmp_path: Path):
    event_store = opened(bus, rotate_at=10)
    admit(event_store, "a")

    event_store.save()

    saved = json.loads((tmp_path / "bus/state/dispatcher.json").read_text())
    assert saved["seq"] == event_store.state.seq == 2
    assert event_store.unsaved == 0
