from datetime import UTC, datetime
from pathlib import Path

import pytest

from prloom.engine.bus import replay
from prloom.engine.bus.event_store import EventStore
from prloom.errors import StorageError
from prloom.model import decision as decisions
from prloom.model.decision import Change, Decision, Intake
from prloom.model.record import Position
from prloom.model.state import DispatchState
from prloom.storage import envelope, paths
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)


@pytest.fixture
def bus(tmp_path: Path) -> SafeDir:
    return SafeDir.make(tmp_path, "bus")


def a_store(bus: SafeDir) -> EventStore:
    return EventStore.open(bus, lambda: NOW)


def came(event_id: str) -> Change:
    intake = Intake(position=Position(1, 0), type="pr_comment", source="github", digest="d")
    return Change(event_id=event_id, verdict="admitted", state="pending", intake=intake)


def test_a_view_and_the_store_come_to_the_same_state(bus: SafeDir):
    store = a_store(bus)
    saved = store.state
    for number in range(3):
        store.commit("intake", "prloom", changes=(came(f"e{number}"),))

    assert replay.current(bus, saved) == store.state == a_store(bus).state


def test_without_a_saved_state_a_view_rebuilds_what_the_store_rebuilds(bus: SafeDir):
    store = EventStore.open(bus, lambda: NOW, rotate_at=1)
    for number in range(3):
        store.commit("intake", "prloom", changes=(came(f"e{number}"),))
        store.save()
    (Path(bus.path) / paths.BUS_STATE / paths.DISPATCHER).unlink()

    seen = replay.current(bus, None)

    assert sorted(seen.open) == ["e0", "e1", "e2"]
    assert seen == a_store(bus).state


def test_a_segment_whose_snapshot_is_unreadable_is_rebuilt_from_all_of_them(bus: SafeDir):
    store = EventStore.open(bus, lambda: NOW, rotate_at=1)
    store.commit("intake", "prloom", changes=(came("e0"),))
    store.save()
    store.commit("intake", "prloom", changes=(came("e1"),))
    live = Path(bus.path) / paths.DECISIONS
    first, _, rest = live.read_bytes().partition(b"\n")
    live.write_bytes(b"x" * len(first) + b"\n" + rest)

    assert sorted(replay.current(bus, None).open) == ["e0", "e1"]


def test_the_last_decision_and_the_unreadable_lines_are_told(bus: SafeDir):
    store = a_store(bus)
    saved = store.state
    made = store.commit("todo", "prloom", note="the last")
    Journal(bus, paths.DECISIONS).append([b'{"no": "envelope"}'])

    found = replay.replay(Journal(bus, paths.DECISIONS), saved)

    assert (found.last, found.skipped, found.replaced) == (made, 1, False)


def test_a_decision_of_a_newer_prloom_is_not_passed_over(bus: SafeDir):
    line = envelope.encode("decision", Decision(seq=1, stage="todo", by="prloom"), "2026-11-20T10:00:00Z")
    Journal(bus, paths.DECISIONS).append([line.replace(b'"schemaVersion":1', b'"schemaVersion":9')])

    with pytest.raises(StorageError, match="contains a decision that cannot be read"):
        replay.current(bus, None)


def test_every_field_of_a_decision_that_changes_something_can_be_committed():
    fixed = {"seq", "stage", "by", "snapshot"}  # by the store itself

    assert set(decisions.DecisionParts.__annotations__) | fixed == set(Decision.__struct_fields__)


def test_an_empty_bus_is_in_the_first_state(bus: SafeDir):
    assert replay.current(bus, None) == DispatchState()


def test_a_step_says_which_changes_took_effect_as_the_state_does(bus: SafeDir):
    store = a_store(bus)
    late = Change(event_id="e0", verdict="parked", state="parked")
    end = Change(event_id="e0", verdict="handled", state="handled")
    store.commit("intake", "prloom", changes=(came("e0"), came("e1")))
    store.commit("triage", "prloom", changes=(end,))
    store.commit("triage", "prloom", changes=(late,))

    steps = list(replay.steps(Journal(bus, paths.DECISIONS)))

    assert [step.effective for step in steps] == [(came("e0"), came("e1")), (end,), ()]
    assert [step.made_at for step in steps] == [NOW] * 3
    assert list(replay.current(bus, None).open) == ["e1"]


def test_of_the_lines_that_a_view_does_not_want_nothing_is_parsed(bus: SafeDir):
    store = a_store(bus)
    store.commit("intake", "prloom", changes=(came("e0"),))
    line = envelope.encode("decision", Decision(seq=2, stage="todo", by="prloom"), "2026-11-20T10:00:00Z")
    Journal(bus, paths.DECISIONS).append([line.replace(b'"schemaVersion":1', b'"schemaVersion":2')])

    (step,) = replay.steps(Journal(bus, paths.DECISIONS), lambda line: b'"e0"' in line)

    assert step.effective == (came("e0"),)


def test_a_view_of_the_history_refuses_the_log_that_the_store_refuses(bus: SafeDir):
    store = a_store(bus)
    store.commit("intake", "prloom", changes=(came("e0"),))
    snapshot = Decision(seq=2, stage="snapshot", by="prloom", snapshot={"state": {"seq": "many"}})
    Journal(bus, paths.DECISIONS).append([envelope.encode("decision", snapshot, "2026-11-20T10:00:00Z")])

    with pytest.raises(StorageError, match="cannot be applied") as by_the_store:
        a_store(bus)
    with pytest.raises(StorageError) as by_the_view:
        list(replay.steps(Journal(bus, paths.DECISIONS)))

    assert str(by_the_view.value) == str(by_the_store.value)
