"""What another process appends is noticed at once, without waiting for a tick."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from stage import Stage, said
from stage_parts import handling

from prloom.engine.file_watcher import FileWatcher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the tick looks at the buses")

HOUR = timedelta(hours=1)
APPEND = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(fd, sys.argv[2].encode() + b"\\n")
"""


def append_from_elsewhere(stage: Stage, event_id: str, plan_id: str = "pr-7") -> None:
    """Append an event in a process of its own."""
    line = json.dumps({"ts": "", "kind": "event", "data": {"id": event_id, "source": "ci", "type": "note"}})
    file = stage.local(plan_id) / "bus/events.jsonl"
    subprocess.run([sys.executable, "-c", APPEND, str(file), line], check=True)


async def test_an_append_of_another_process_reaches_a_hook_without_a_tick(stage: Stage, pr_7: Path):
    host = stage.plugin("p", handling())
    async with stage.running(tick=HOUR) as dispatcher:
        await stage.until(lambda: stage.bridge.polls == 1 and not dispatcher._tasks)
        await asyncio.to_thread(append_from_elsewhere, stage, "a")
        await stage.until(lambda: host.shown == [("a",)])
        await asyncio.to_thread(append_from_elsewhere, stage, "b")

        await stage.until(lambda: host.shown == [("a",), ("b",)])


async def test_an_append_wakes_only_the_plan_that_it_is_for(stage: Stage):
    stage.adopt("pr-1", pr=1)
    stage.adopt("pr-2", pr=2)
    async with stage.running(tick=HOUR) as dispatcher:
        await stage.until(lambda: stage.bridge.polls == 1 and not dispatcher._tasks)
        checked = []
        check = dispatcher.registry.check
        dispatcher.registry.check = lambda plan_id: checked.append(plan_id) or check(plan_id)  # type: ignore[method-assign]

        await asyncio.to_thread(append_from_elsewhere, stage, "a", "pr-1")
        await stage.until(lambda: len(stage.decisions("pr-1")) > 2)

    assert set(checked) == {"pr-1"}


async def test_a_todo_that_a_person_writes_into_the_plan_is_seen_without_a_tick(stage: Stage, pr_7: Path):
    (pr_7 / "plan.md").write_text("# The plan\n\n## TODO\n")
    async with stage.running(tick=HOUR) as dispatcher:
        await stage.until(lambda: stage.bridge.polls == 1 and not dispatcher._tasks)
        (pr_7 / "plan.md").write_text("# The plan\n\n## TODO\n- [ ] Do it\n")

        await stage.until(lambda: "prloom:todo t-" in (pr_7 / "plan.md").read_text())


async def test_a_request_is_carried_out_without_waiting_for_a_tick(stage: Stage, pr_7: Path):
    async with stage.running(tick=HOUR) as dispatcher:
        await stage.until(lambda: stage.bridge.polls == 1 and not dispatcher._pollers)
        stage.ask("poll")

        await stage.until(lambda: stage.bridge.polls == 2)


async def test_where_nothing_can_be_watched_the_tick_finds_everything(stage: Stage, pr_7: Path):
    async with stage.running() as dispatcher:
        await stage.until(lambda: stage.bridge.polls == 1)
        assert dispatcher._watcher is not None
        dispatcher._watcher.follow([])
        stage.append(said("a"))

        await stage.until(lambda: stage.triager.batches == [("a",)])


# ---- the watcher itself


async def heard(watcher: FileWatcher) -> tuple[Path, str]:
    async with asyncio.timeout(60):
        return await anext(aiter(watcher.changes()))


async def test_a_folder_that_is_not_there_yet_is_followed_once_it_is(tmp_path: Path):
    watcher = FileWatcher()
    watcher.follow([tmp_path / "bus"])
    (tmp_path / "bus").mkdir()
    watcher.follow([tmp_path / "bus"])

    (tmp_path / "bus/events.jsonl").write_text("x")

    assert (await heard(watcher))[1] == "events.jsonl"
    watcher.close()


@pytest.mark.parametrize("removed", [True, False], ids=["removed", "moved"])
async def test_a_folder_that_another_one_took_the_place_of_is_followed_again(tmp_path: Path, *, removed: bool):
    bus = tmp_path / "bus"
    bus.mkdir()
    watcher = FileWatcher()
    watcher.follow([bus])
    if not removed:
        bus.rename(tmp_path / "away")
    else:
        bus.rmdir()
    bus.mkdir()
    sign = tmp_path / "sign"
    sign.mkdir()
    watcher.follow([bus, sign])
    (sign / "x").write_text("x")
    assert (await heard(watcher))[1] == "x"  # by now it has also heard of the end of the old folder
    watcher.follow([bus])

    (bus / "events.jsonl").write_text("x")

    async with asyncio.timeout(60):
        async for folder, name in watcher.changes():
            if (folder, name) == (bus, "events.jsonl"):
                break
    watcher.close()
