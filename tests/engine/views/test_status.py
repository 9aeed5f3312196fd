from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from stage import Stage, said

from prloom.api import Author, PluginContext, Refused, TriageContext
from prloom.engine.bus import plans
from prloom.engine.views import status
from prloom.model.plan import Plan
from prloom.model.record import Timestamp
from prloom.storage import json_codec, locks
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir

STRANGER = Author("mallory", "none")


def read(stage: Stage, plan: str | None = None) -> Mapping[str, Any]:
    """Return the document as a program reads it."""
    return json.loads(json_codec.encode(status.read(stage.paths, stage.clock(), plan=plan)))


def waiting(ctx: PluginContext) -> None:
    """Defer what says wait, and handle what says thanks."""

    @ctx.hook("beforeTriage")
    def look(plan: str, triage: TriageContext) -> None:
        for event in triage.events:
            if "wait" in event.body:
                triage.mark_event_deferred(event.id, "people are still talking", 60_000)
            if "thanks" in event.body:
                triage.mark_event_handled(event.id)


@pytest.fixture
async def a_full_stage(stage: Stage) -> None:
    """One event in each state, an action delivered and one failed."""
    stage.adopt(title="Cache it", url="https://forge.example/7")
    stage.plugin("quiet-period", waiting)
    stage.bridge.refuse = lambda action: Refused("the thread is locked") if "locked" in str(action) else None
    stage.bridge.news = [
        said("d", "wait"),
        said("h", "let me in", author=STRANGER),
        said("t", "a question"),
        said("locked", "another"),
        said("k", "thanks"),
        said("old", "wait, with a tpyo"),
        said("new", "wait, without", context={"supersedes": "old"}),
    ]
    await stage.tick()


async def test_the_document_has_exactly_the_keys_of_the_contract(stage: Stage, a_full_stage: None) -> None:
    document = read(stage)
    (plan,) = document["plans"]

    assert list(document) == [
        *("schemaVersion", "repo", "dispatcher", "totals", "oldestDeferredAgeMs", "plans", "bridges", "plugins"),
    ]
    assert list(document["dispatcher"]) == ["running", "pid", "lastTickAt"]
    assert list(document["totals"]) == [
        *("plans", "pending", "deferred", "held", "parked", "actionsQueued", "actionsFailed"),
    ]
    assert list(plan) == [
        *("id", "title", "status", "blocked", "block", "branch", "pr", "worktree", "lastError", "todos", "commits"),
        *("events", "actions"),
    ]
    assert list(plan["todos"]) == ["total", "done", "blocked", "current"]
    assert list(plan["events"]) == [
        *("pending", "handled", "triaged", "dropped", "superseded", "deferred", "held", "parked"),
    ]
    assert list(plan["events"]["deferred"][0]) == [
        *("id", "type", "plugin", "reason", "attempts", "firstDeferredAt", "deferredUntil", "deadline", "ageMs"),
    ]
    assert list(plan["events"]["held"][0]) == ["id", "type", "author", "reason", "heldAt", "ageMs"]
    assert list(plan["actions"]) == ["queued", "delivered", "failed"]
    assert list(plan["actions"]["failed"][0]) == ["id", "error", "failedAt", "ageMs"]
    assert list(document["bridges"][0]) == ["name", "lastPollAt", "lastOkAt", "error", "requests"]
    assert list(document["bridges"][0]["requests"]) == ["total", "charged", "remaining"]
    assert list(document["plugins"][0]) == ["name", "source", "loaded", "error", "hooks"]


async def test_an_action_failed_when_it_was_tried_last_and_not_when_it_was_queued(stage: Stage, pr_7: Path) -> None:
    answers = iter([Refused("busy", retryable=True), Refused("the thread is locked")])
    stage.bridge.refuse = lambda action: next(answers)
    await stage.poll(said("a"))
    await stage.tick_after(hours=5)
    stage.clock.advance(seconds=30)

    (failed,) = read(stage)["plans"][0]["actions"]["failed"]

    assert (failed["error"], failed["failedAt"], failed["ageMs"]) == (
        *("the thread is locked", "2026-01-01T17:00:00.000Z", 30_000),
    )


async def test_it_says_what_became_of_every_event_and_action(stage: Stage, a_full_stage: None) -> None:
    stage.clock.advance(seconds=30)

    (plan,) = read(stage)["plans"]

    assert (plan["id"], plan["title"], plan["pr"], plan["status"], plan["blocked"]) == (
        *("pr-7", "Cache it", 7, "review", False),
    )
    deferred = {event["id"]: event for event in plan["events"].pop("deferred")}
    assert set(deferred) == {"d", "new"}
    assert deferred["d"] == {
        "id": "d",
        "type": "pr_comment",
        "plugin": "quiet-period",
        "reason": "people are still talking",
        "attempts": 1,
        "firstDeferredAt": "2026-01-01T12:00:00.000Z",
        "deferredUntil": "2026-01-01T12:01:00.000Z",
        "deadline": "2026-01-08T12:00:00.000Z",
        "ageMs": 30_000,
    }
    assert plan["events"] == {
        "pending": 0,
        "handled": 1,
        "triaged": 2,
        "dropped": 0,
        "superseded": 1,
        "held": [
            {
                "id": "h",
                "type": "pr_comment",
                "author": "mallory",
                "reason": "mallory has no permission here; at least write is required",
                "heldAt": "2026-01-01T12:00:00.000Z",
                "ageMs": 30_000,
            },
        ],
        "parked": [],
    }
    assert plan["actions"]["delivered"] == 1
    assert [action["error"] for action in plan["actions"]["failed"]] == ["the thread is locked"]


async def test_the_totals_are_those_of_all_plans(stage: Stage, a_full_stage: None) -> None:
    stage.adopt("other", pr=None)
    stage.append(said("x"), plan_id="other")

    assert read(stage)["totals"] == {
        "plans": 2,
        "pending": 1,
        "deferred": 2,
        "held": 1,
        "parked": 0,
        "actionsQueued": 0,
        "actionsFailed": 1,
    }
    assert read(stage, "other")["totals"]["plans"] == 1
    assert read(stage, "other")["totals"]["held"] == 0


async def test_the_age_of_the_oldest_counts_from_when_anybody_first_put_it_off(stage: Stage, pr_7: Path) -> None:
    stage.plugin("quiet-period", waiting)
    await stage.take_in(said("d", "wait"))
    await stage.tick_after(seconds=90)

    document = read(stage)

    assert document["plans"][0]["events"]["deferred"][0]["attempts"] == 2
    assert document["oldestDeferredAgeMs"] == 90_000


async def test_the_longest_waiting_event_comes_first(stage: Stage, pr_7: Path) -> None:
    stage.plugin("quiet-period", waiting)
    await stage.take_in(said("z", "wait"))
    stage.clock.advance(seconds=1)
    await stage.take_in(said("a", "wait"))

    assert [event["id"] for event in read(stage)["plans"][0]["events"]["deferred"]] == ["z", "a"]


def test_a_repository_where_nothing_was_ever_done_is_shown_with_every_key(stage: Stage) -> None:
    assert read(stage) == {
        "schemaVersion": 1,
        "repo": str(stage.root),
        "dispatcher": {"running": False, "pid": None, "lastTickAt": None},
        "totals": {
            "plans": 0,
            "pending": 0,
            "deferred": 0,
            "held": 0,
            "parked": 0,
            "actionsQueued": 0,
            "actionsFailed": 0,
        },
        "oldestDeferredAgeMs": None,
        "plans": [],
        "bridges": [],
        "plugins": [],
    }


# What the saved projection does not know yet.


def test_an_event_that_was_appended_and_not_taken_in_yet_is_pending(stage: Stage, pr_7: Path) -> None:
    stage.append(said("a"), said("b"), said("a"))

    assert read(stage)["plans"][0]["events"]["pending"] == 2


async def test_a_second_line_of_an_open_event_is_no_other_event(stage: Stage, pr_7: Path) -> None:
    stage.plugin("quiet-period", waiting)
    await stage.take_in(said("d", "wait"))
    stage.append(said("d", "wait"))

    assert read(stage)["totals"]["pending"] == 0


async def test_time_alone_makes_no_new_picture(stage: Stage, a_full_stage: None) -> None:
    before = status.read(stage.paths, stage.clock())
    stage.clock.advance(seconds=1)
    later = status.read(stage.paths, stage.clock())
    stage.append(said("news"))
    with_news = status.read(stage.paths, stage.clock())

    assert before != later
    assert status.timeless(before) == status.timeless(later) != status.timeless(with_news)


async def test_decisions_behind_the_saved_projection_are_folded_in(stage: Stage, a_full_stage: None) -> None:
    saved = stage.local() / "bus/state/dispatcher.json"
    before = saved.read_bytes()
    await stage.take_in(said("late", "wait"))
    after = read(stage)
    saved.write_bytes(before)

    assert [event["id"] for event in after["plans"][0]["events"]["deferred"]] == ["d", "new", "late"]
    assert read(stage) == after


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b'{"open": {"a": {}}}'])
async def test_a_damaged_projection_is_rebuilt_from_the_log_in_memory_only(
    stage: Stage, content: bytes, a_full_stage: None
) -> None:
    sound = read(stage)
    damaged = stage.local() / "bus/state/dispatcher.json"
    damaged.write_bytes(content)

    assert read(stage) == sound
    assert damaged.read_bytes() == content


async def test_a_missing_projection_is_rebuilt_from_a_log_that_was_rotated(stage: Stage, a_full_stage: None) -> None:
    stage.rotate()
    sound = read(stage)
    (stage.local() / "bus/state/dispatcher.json").unlink()

    assert (stage.local() / "bus/decisions-000001.jsonl").exists()
    assert read(stage) == sound


async def test_history_is_not_read(stage: Stage, a_full_stage: None) -> None:
    sound = read(stage)
    for name in ("events.jsonl", "decisions.jsonl", "actions.jsonl"):
        journal = stage.local() / "bus" / name
        journal.write_bytes(b"?" * (journal.stat().st_size - 1) + b"\n")

    assert read(stage) == sound


async def test_a_time_that_cannot_be_read_hides_no_wait(stage: Stage, a_full_stage: None) -> None:
    saved = stage.local() / "bus/state/dispatcher.json"
    saved.write_text(saved.read_text().replace('"firstDeferredAt": "2026', '"firstDeferredAt": "soon'))

    assert {event["ageMs"] for event in read(stage)["plans"][0]["events"]["deferred"]} == {0}


# Reading disturbs nobody.


async def test_nothing_is_changed_by_looking(stage: Stage, a_full_stage: None) -> None:
    stage.append(said("late"))
    (stage.local() / "bus/state/dispatcher.json").write_text("{")

    before = everything(stage.root)
    read(stage)

    assert everything(stage.root) == before


async def test_a_held_lock_keeps_nobody_from_looking(stage: Stage, a_full_stage: None) -> None:
    stage.append(said("late"))

    with (
        SafeDir.make(stage.local() / "bus") as bus,
        SafeDir.make(stage.local() / "bus/state") as state,
        locks.locked(bus),
        locks.locked(state),
    ):
        assert read(stage)["totals"]["pending"] == 1


def everything(root: Path) -> Mapping[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
    }


# A plan that cannot be read is its own error.


def broken_json(local: Path) -> None:
    (local / "state.json").write_text("{")


def linked_state(local: Path) -> None:
    (local / "state.json").rename(local / "elsewhere")
    (local / "state.json").symlink_to("elsewhere")


def piped_log(local: Path) -> None:
    os.mkfifo(local / "bus/decisions.jsonl")


def anothers_state(local: Path) -> None:
    (local / "state.json").write_text('{"id": "pr-7", "branch": "b"}')


def bad_snapshot(local: Path) -> None:
    decision = {"seq": 1, "stage": "snapshot", "by": "prloom", "snapshot": {"state": {"seq": "x"}}}
    line = {"ts": "2026-01-01T00:00:00Z", "kind": "decision", "schemaVersion": 1, "data": decision}
    (local / "bus/decisions.jsonl").write_text(json.dumps(line) + "\n")


@pytest.mark.parametrize(
    ("harm", "said_of_it"),
    [
        (broken_json, "state.json cannot be read: Input data was truncated; adopt its branch or pull request again"),
        (linked_state, "state.json is a symbolic link, and prloom does not use it"),
        (anothers_state, "state.json belongs to plan 'pr-7'; adopt its branch or pull request again"),
        (bad_snapshot, "decisions.jsonl cannot be applied: Expected `int`, got `str`"),
        (piped_log, "decisions.jsonl is a pipe, and prloom does not use it"),
    ],
)
async def test_a_plan_that_cannot_be_read_shows_why_and_hides_no_other(
    stage: Stage, harm: Any, said_of_it: str, a_full_stage: None
) -> None:
    sound = read(stage)["plans"][0]
    harm(stage.adopt("broken", pr=8))

    broken, other = read(stage)["plans"]

    assert said_of_it in broken["lastError"]
    assert broken["id"] == "broken"
    assert other == sound


async def test_the_events_of_a_plan_whose_own_state_is_damaged_are_still_shown(
    stage: Stage, a_full_stage: None
) -> None:
    sound = read(stage)["plans"][0]
    (stage.local() / "state.json").write_text("{")

    (plan,) = read(stage)["plans"]

    assert (plan["status"], plan["blocked"]) == ("unreadable", True)
    assert plan["events"] == sound["events"]


async def test_why_a_plan_could_not_be_opened_is_shown_until_it_is_adopted_again(stage: Stage) -> None:
    local = stage.adopt(preset="careful")
    await stage.tick()
    assert "no preset careful is configured" in read(stage)["plans"][0]["lastError"]
    stage.clock.advance(minutes=1)

    with SafeDir.make(local) as folder:
        plans.save(folder, Plan(id="pr-7", branch="pr-7", created_at=Timestamp.of(stage.clock())))

    assert read(stage)["plans"][0]["lastError"] is None
    assert read(stage)["plans"][0]["blocked"] is False


# What else is shown.


async def test_what_waits_on_the_repositorys_own_bus_is_shown_and_counted(stage: Stage, pr_7: Path) -> None:
    await stage.poll(said("issue-1", author=STRANGER, pr=None))

    document = read(stage)

    assert [(plan["id"], len(plan["events"]["held"])) for plan in document["plans"]] == [("pr-7", 0), ("", 1)]
    assert document["plans"][1]["title"] == "the repository as a whole"
    assert (document["totals"]["plans"], document["totals"]["held"]) == (1, 1)


async def test_bridges_and_plugins_are_shown_as_the_dispatcher_last_knew_them(stage: Stage) -> None:
    def down() -> None:
        raise OSError("the source is down")

    def fail(ctx: PluginContext) -> None:
        ctx.register_hook("onEvent", lambda event, ctx: None)

    stage.plugin("watcher", fail)
    stage.bridge.fail = down
    await stage.tick()

    document = read(stage)

    assert document["bridges"] == [
        {
            "name": "forge",
            "lastPollAt": "2026-01-01T12:00:00.000Z",
            "lastOkAt": None,
            "error": "OSError: the source is down",
            "requests": {"total": 0, "charged": 0, "remaining": None},
            "errorSince": "2026-01-01T12:00:00.000Z",
        },
    ]
    assert document["plugins"] == [
        {"name": "watcher", "source": "test", "loaded": True, "error": None, "hooks": ["onEvent"]},
    ]


@pytest.mark.parametrize("content", ["{", "[]", '{"bridges": 1}', '{"bridges": [1]}', '{"bridges": [{}]}'])
def test_what_the_dispatcher_told_is_left_out_where_it_cannot_be_read(stage: Stage, content: str) -> None:
    state = stage.root / "prloom/.local/bus/state"
    state.mkdir(parents=True)
    (state / "bridges.json").write_text(content)

    assert read(stage)["bridges"] == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "cannot be read: Input data was truncated; start prloom: it sets the file aside and rebuilds it"),
        (
            '{"schemaVersion": 99}',
            "has the schemaVersion 99, and this prloom knows 1; the file was not changed; ",
        ),
    ],
)
def test_a_report_of_the_dispatcher_that_cannot_be_read_is_named(stage: Stage, content: str, told: str) -> None:
    state = stage.root / "prloom/.local/bus/state"
    state.mkdir(parents=True)
    (state / "bridges.json").write_text(content)

    assert f"{state}/bridges.json {told}" in read(stage)["dispatcher"]["trouble"]


def test_a_report_that_cannot_be_read_takes_the_place_of_no_other_trouble(stage: Stage) -> None:
    state = stage.root / "prloom/.local/bus/state"
    state.mkdir(parents=True)
    (state / "bridges.json").write_text("{")
    (stage.root / "prloom/.local/dispatcher.owner.json").mkdir()

    assert read(stage)["dispatcher"]["trouble"].startswith("it is not known whether a dispatcher runs: ")


def test_a_dispatcher_that_runs_is_shown_and_one_that_has_ended_is_not(stage: Stage) -> None:
    with SafeDir.make(stage.root, "prloom", ".local") as local:
        with DispatcherLock(local):
            running = read(stage)["dispatcher"]
        ended = read(stage)["dispatcher"]

    assert (running["running"], running["pid"]) == (True, os.getpid())
    assert ended == {**running, "running": False, "pid": None}


async def test_a_clock_that_was_set_back_makes_no_negative_age(stage: Stage, pr_7: Path) -> None:
    stage.plugin("quiet-period", waiting)
    await stage.take_in(said("d", "wait"))
    stage.clock.now -= timedelta(hours=1)

    assert read(stage)["oldestDeferredAgeMs"] == 0


@pytest.mark.parametrize("name", ["bus", "dispatcher.owner.json"])
async def test_something_else_in_the_place_of_the_repositorys_own_files_hides_no_plan(
    stage: Stage, name: str, a_full_stage: None
) -> None:
    sound = read(stage)["plans"][0]
    place = stage.root / "prloom/.local" / name
    place.rename(place.with_name("elsewhere"))
    place.symlink_to("elsewhere")

    assert read(stage)["plans"][0] == sound
