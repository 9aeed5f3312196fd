"""The dispatcher as a whole: what one full tick is, what wakes it, and how it ends."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from stage import Stage, said
from stage_parts import deferring

from prloom.api import Author, Refused
from prloom.engine.dispatcher import Dispatcher
from prloom.errors import AlreadyRunningError, FolderRemovedError, PrloomError
from prloom.storage import dispatcher_files, paths
from prloom.storage.dispatcher_files import DispatcherLock
from prloom.storage.safe_dir import SafeDir

LONG = timedelta(hours=1)


# ---- exactly one full tick


async def test_once_polls_whatever_the_interval_says(stage: Stage, pr_7: Path):
    await stage.tick()

    await stage.tick()

    assert stage.bridge.polls == 2


async def test_once_ends_although_a_plugin_puts_an_event_off_for_as_short_as_it_can(stage: Stage, pr_7: Path):
    host = stage.plugin("p", deferring(0))

    async def time_flies(call: Any) -> None:
        stage.clock.advance(seconds=5)

    host.meets = time_flies

    await stage.poll(said("a"), said("b"))

    assert host.shown == [("a", "b")]


async def test_once_tries_an_action_once(stage: Stage, pr_7: Path):
    def busy(action: Any) -> Refused:
        stage.clock.advance(hours=2)
        return Refused("busy", retryable=True)

    stage.bridge.refuse = busy

    await stage.poll(said("a"), said("b"))

    assert sorted(str(action.related_event_id) for action in stage.bridge.actions_seen) == ["a", "b"]


async def test_once_looks_an_author_up_once(stage: Stage, pr_7: Path):
    async def time_flies(what: str) -> None:
        stage.clock.advance(hours=2)

    stage.bridge.waits = time_flies

    await stage.take_in(said("a", author=Author("bob")))

    assert stage.bridge.asked == ["bob"]


async def test_once_leaves_what_is_appended_after_its_polls_to_the_next_time(stage: Stage, pr_7: Path):
    appended = 0

    async def append_more() -> None:
        nonlocal appended
        appended += 1
        stage.append(said(f"more{appended}"))

    stage.triager.before = append_more
    await stage.poll(said("a"))
    assert stage.triager.batches == [("a",)]
    stage.triager.before = None

    await stage.tick()

    assert stage.triager.batches == [("a",), ("more1",)]


async def test_once_says_what_is_wrong_where_it_cannot_begin(stage: Stage, pr_7: Path):
    (stage.root / "prloom/.local/control.jsonl").mkdir(parents=True)

    with pytest.raises(PrloomError, match=r"control\.jsonl is a folder"):
        await stage.tick()


# ---- one run for a burst, one at a time for a plan


async def test_what_comes_while_a_plan_waits_for_an_agents_turn_is_one_run_with_what_waited(stage: Stage, pr_7: Path):
    stage.triager.slots = asyncio.Semaphore(0)
    async with stage.running():
        for number in range(5):
            stage.append(said(f"e{number}"))
            await stage.until(lambda n=number: f"e{n}" in stage.open())
        assert stage.triager.batches == []
        stage.triager.slots.release()

        await stage.until(lambda: len(stage.bridge.said) == 5)
    assert stage.triager.batches == [("e0", "e1", "e2", "e3", "e4")]


async def test_an_event_that_was_superseded_while_it_waited_for_an_agents_turn_is_not_triaged(stage: Stage, pr_7: Path):
    stage.triager.slots = asyncio.Semaphore(0)
    async with stage.running():
        stage.append(said("old"))
        await stage.until(lambda: "old" in stage.open())
        stage.append(said("new", context={"supersedes": "old"}))
        await stage.until(lambda: "new" in stage.open())
        stage.triager.slots.release()

        await stage.until(lambda: stage.bridge.said == ["re new"])
    assert stage.triager.batches == [("new",)]


async def test_all_that_waited_for_an_agents_turn_being_gone_the_turn_is_given_back(stage: Stage, pr_7: Path):
    stage.adopt("pr-8", pr=8)
    stage.triager.slots = asyncio.Semaphore(0)
    async with stage.running():
        stage.append(said("a"))
        await stage.until(lambda: "a" in stage.open())
        stage.append(said("pause", "/prloom pause"))
        await stage.until(lambda: stage.state().get("paused") is True)
        stage.append(said("b", pr=8), plan_id="pr-8")
        await stage.until(lambda: "b" in stage.open("pr-8"))
        stage.triager.slots.release()

        await stage.until(lambda: "re b" in stage.bridge.said)
    assert stage.open()["a"]["state"] == "pending"


# ---- runs that nobody has in hand


async def begin_a_run_and_end(stage: Stage) -> None:
    """Have a dispatcher that ends while the agent is at work on an event."""
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    stage.triager.before = hang
    stage.bridge.news = [said("a")]
    async with stage.running():
        await begun.wait()


async def test_a_run_that_an_earlier_dispatcher_began_is_settled_by_the_next(stage: Stage, pr_7: Path):
    await begin_a_run_and_end(stage)
    assert stage.open()["a"]["run"] == "run-1"

    await stage.tick()

    assert stage.bridge.said == ["re a"]
    assert len(stage.triager.batches) == 1


async def test_a_run_of_a_plan_that_could_not_be_read_at_first_is_settled_once_it_can(stage: Stage, pr_7: Path):
    await begin_a_run_and_end(stage)
    state = (pr_7 / "state.json").read_text()
    (pr_7 / "state.json").write_text("{")
    async with stage.running():
        await stage.until(lambda: "pr-7" in stage.published("unreadable"))
        (pr_7 / "state.json").write_text(state)

        await stage.until(lambda: stage.bridge.said == ["re a"])


async def test_a_run_whose_job_failed_is_settled_all_the_same(stage: Stage, pr_7: Path):
    failures = [KeyError("a bug")]

    async def fail() -> None:
        if failures:
            raise failures.pop()

    stage.triager.before = fail
    stage.bridge.news = [said("a")]
    async with stage.running():
        await stage.until(lambda: "a bug in prloom" in (stage.local() / "state.json").read_text())
        stage.clock.advance(minutes=1)

        await stage.until(lambda: stage.bridge.said == ["re a"])


async def test_a_run_that_cannot_be_settled_is_not_tried_without_a_pause(stage: Stage, pr_7: Path):
    tries = []

    class Stuck(type(stage.triager)):
        async def recover(self, runtime: Any, run: str, event_ids: tuple[str, ...]) -> None:
            tries.append(stage.clock())

    stage.triager = Stuck()

    async def fail() -> None:
        raise KeyError("a bug")

    stage.triager.before = fail
    stage.bridge.news = [said("a")]
    async with stage.rounds() as again:
        for _ in range(60):
            await again()
            stage.clock.advance(seconds=1)

    assert 1 < len(tries) < 10
    assert (
        "the result of run run-1 cannot be processed"
        in json.loads((stage.local() / "state.json").read_text())["lastError"]
    )


# ---- what wakes it


async def test_a_wait_that_is_over_before_the_next_tick_wakes_it(stage: Stage, pr_7: Path):
    from prloom.engine.assembly.dispatcher import now  # noqa: PLC0415

    stage.clock = now
    stage.plugin("p", deferring(1000, once=True))
    stage.append(said("a"))
    async with stage.running(tick=LONG):
        await stage.until(lambda: stage.bridge.said == ["re a"])


async def test_a_wait_that_ended_just_after_a_tick_has_looked_is_not_left_to_the_next_one(stage: Stage, pr_7: Path):
    stage.plugin("p", deferring(60_000))
    stage.append(said("a"))
    async with stage.running(tick=LONG) as dispatcher:
        await stage.until(lambda: "deferral" in stage.open().get("a", {}))
        assert 0 < dispatcher._seconds_until_due() <= 60
        stage.clock.advance(minutes=2)

        assert dispatcher._seconds_until_due() == 0


async def test_a_plan_that_always_has_work_keeps_no_tick_from_coming(stage: Stage, pr_7: Path):
    async with stage.running() as dispatcher:

        async def nag() -> None:
            while True:
                dispatcher._queue.add("pr-7")
                await asyncio.sleep(0)

        nagging = asyncio.create_task(nag())
        try:
            await stage.until(lambda: stage.bridge.polls == 1)
            stage.clock.advance(minutes=1)

            await stage.until(lambda: stage.bridge.polls == 2)
        finally:
            nagging.cancel()


# ---- how it ends


async def test_it_ends_at_once_while_hooks_agents_bridges_and_look_ups_hang(stage: Stage):
    stage.adopt("pr-1", pr=1)
    stage.adopt("pr-2", pr=2)
    host = stage.plugin("p", deferring(0))
    hanging: list[str] = []

    async def hang(*what: Any) -> None:
        hanging.append(str(what))
        await asyncio.Event().wait()

    async def hang_on_one(call: Any) -> None:
        if call.plan_id == "pr-1":
            await hang("hook")

    host.meets = hang_on_one
    stage.bridge.waits = lambda what: hang(what) if stage.bridge.polls > 1 else asyncio.sleep(0)
    stage.bridge.news = [said("one", pr=1), said("two", pr=2)]
    async with stage.running() as dispatcher:
        await stage.until(lambda: len(stage.open("pr-2")) == 1 and len(hanging) == 1)
        dispatcher.poll()
        await stage.until(lambda: len(hanging) == 2)
        began = asyncio.get_running_loop().time()

    assert asyncio.get_running_loop().time() - began < 60  # what hangs would be waited for without an end
    assert host.stopped == 1
    assert stage.open("pr-1")["one"]["state"] == "pending"


async def test_where_each_plan_stands_is_saved_at_the_end(stage: Stage, pr_7: Path):
    stage.bridge.news = [said("a")]
    async with stage.running():
        await stage.until(lambda: stage.bridge.said == ["re a"])

    assert stage.state()["seq"] == stage.decisions()[-1]["seq"]


async def test_it_ends_by_itself_where_its_own_folder_is_removed(stage: Stage):
    dispatcher = stage.dispatcher()
    task = asyncio.create_task(dispatcher.run(timedelta(milliseconds=5)))
    await stage.until(lambda: stage.bridge.polls == 1)
    shutil.rmtree(stage.root / "prloom/.local")

    with pytest.raises(FolderRemovedError, match="was removed while prloom ran; start prloom again"):
        await task


async def test_it_ends_by_itself_where_its_lock_was_removed_and_another_dispatcher_has_it(stage: Stage):
    dispatcher = stage.dispatcher()
    task = asyncio.create_task(dispatcher.run(timedelta(milliseconds=5)))
    await stage.until(lambda: stage.bridge.polls == 1)
    with SafeDir.make(stage.root, *paths.LOCAL) as local:
        local.remove(paths.LOCK)
        with DispatcherLock(local):
            with pytest.raises(
                AlreadyRunningError, match=r"dispatcher\.lock was removed .* has the repository now; this one"
            ):
                await task
            found = dispatcher_files.owner(local)

    assert found is not None
    assert found.alive


async def test_a_part_of_a_tick_that_fails_keeps_the_others_from_nothing_and_is_told_once(
    stage: Stage, caplog: pytest.LogCaptureFixture, pr_7: Path
):
    async with stage.running():
        await stage.until(lambda: stage.bridge.polls == 1)
        (stage.root / "prloom/.local/control.jsonl").mkdir()
        stage.append(said("a"))

        await stage.until(lambda: stage.bridge.said == ["re a"])
        stage.append(said("b"))
        await stage.until(lambda: stage.bridge.said == ["re a", "re b"])

    assert caplog.text.count("control.jsonl is a folder") == 1


async def test_a_plan_whose_worktrees_cannot_be_listed_is_worked_on_all_the_same(stage: Stage, pr_7: Path):
    worktrees = stage.paths.worktrees
    async with stage.running() as dispatcher:
        await stage.until(lambda: stage.bridge.polls == 1)
        assert isinstance(dispatcher, Dispatcher)
        worktrees.rename(worktrees.with_name("moved"))
        worktrees.write_text("a file in its place")
        await stage.until(lambda: "" in stage.published("unreadable"))
        worktrees.unlink()
        worktrees.with_name("moved").rename(worktrees)
        stage.append(said("a"))

        await stage.until(lambda: stage.bridge.said == ["re a"])


# ---- the log


async def test_each_decision_run_and_delivery_is_one_line_of_the_log_with_its_ids(
    stage: Stage, caplog: pytest.LogCaptureFixture, pr_7: Path
):
    caplog.set_level(logging.INFO, "prloom")

    await stage.poll(said("a"), said("b\x1b[2J\nforged"))

    lines = [message for message in caplog.messages if message.startswith(("plan pr-7", "bridge forge"))]
    assert len([message for message in lines if " by " in message]) == len(stage.decisions())
    first, second = (action.id for action in stage.bridge.actions_seen)
    assert lines == [
        "plan pr-7 was opened",
        "bridge forge: 2 new events for plan pr-7",
        "plan pr-7: intake by prloom: admitted a, b\ufffd[2J forged",
        "plan pr-7: triage by scripted: started a, b\ufffd[2J forged; run run-1",
        f"plan pr-7: triage by scripted: answered a, b\ufffd[2J forged; queued {first}, {second}",
        f"plan pr-7: deliver by forge: delivered {first} https://forge.example/{first}",
        f"plan pr-7: deliver by forge: delivered {second} https://forge.example/{second}",
    ]


async def test_an_idle_tick_logs_nothing(stage: Stage, caplog: pytest.LogCaptureFixture, pr_7: Path):
    await stage.tick()
    async with stage.rounds() as again:
        await again()
        caplog.set_level(logging.DEBUG, "prloom")

        await again()

    assert caplog.messages == []
