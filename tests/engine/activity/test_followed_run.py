from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest

from prloom.agents import run_folder
from prloom.agents.agent import RunResult
from prloom.agents.run_folder import ProcessExit, ProcessWatch
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.activity.followed_run import FollowedRun
from prloom.engine.activity.unended_runs import QUEUED_FOR, UnendedRuns
from prloom.model import record
from prloom.model.activity import ActivityEvent
from prloom.model.kinds import RunOutcome
from prloom.processes import Process
from prloom.storage.paths import RepositoryPaths

NOW = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
RUN = "20261123T090000000Z-worker-0123abcd"
SAMPLES = Path(__file__).parents[2] / "data" / "agents" / "samples"
OK = RunResult(status="ok", message="Done.")


def a_folder(root: Path, output: str | None) -> Path:
    folder = root / "worktrees" / "p" / "prloom" / ".local" / "runs" / RUN
    folder.mkdir(parents=True, exist_ok=True)
    (folder / run_folder.PROMPT).write_text("Write hello.txt.")
    if output is not None:
        (folder / run_folder.SUPERVISOR).write_text("{}")
        (folder / run_folder.OUTPUT).write_text(output)
    return folder


def a_log(root: Path) -> ActivityLog:
    return ActivityLog(RepositoryPaths(root, root / "worktrees"), lambda: NOW, {})


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["data"] for line in (folder / "activity.jsonl").read_text().splitlines()]


def types(folder: Path) -> list[str]:
    return [event["type"] for event in events(folder)]


async def done(log: ActivityLog, folder: Path, agent: str, result: RunResult = OK) -> None:
    run = await FollowedRun.open(log, folder, agent, "p")
    await run.end(result)


@pytest.mark.parametrize(
    ("agent", "first"), [("claude", "Write"), ("codex", "shell"), ("opencode", "write"), ("gemini", "write_file")]
)
def test_two_tools_of_each_program_are_between_one_start_and_one_end(tmp_path: Path, agent: str, first: str) -> None:
    folder = a_folder(tmp_path, (SAMPLES / f"{agent}-twotools.jsonl").read_text())
    asyncio.run(done(a_log(tmp_path), folder, agent))
    assert types(folder)[0] == "AGENT_START"
    assert types(folder)[-1] == "AGENT_END"
    assert types(folder).count("AGENT_END") == 1
    assert "UNKNOWN" not in types(folder)
    begun = [event for event in events(folder) if event["type"] == "TOOL_CALL_START"]
    over = [event for event in events(folder) if event["type"] == "TOOL_CALL_END"]
    assert begun[0]["data"]["toolName"] == first
    assert [event["parentId"] for event in over] == [event["id"] for event in begun]
    assert [event["data"]["success"] for event in over] == [True, True]
    assert [event["seq"] for event in events(folder)] == list(range(1, len(events(folder)) + 1))


def process(started_at: datetime) -> dict[str, Any]:
    me = Process(pid=1, started="1")
    return {"run": RUN, "supervisor": me, "agent": me, "started_at": started_at}


def test_the_start_has_the_time_at_which_the_program_was_started_however_late_it_is_seen(tmp_path: Path) -> None:
    begun = NOW - timedelta(seconds=3)
    folder = a_folder(tmp_path, "")
    (folder / run_folder.SUPERVISOR).write_bytes(run_folder.encode(ProcessWatch(**process(begun))))
    asyncio.run(done(a_log(tmp_path), folder, "command"))

    assert [event["timestamp"] for event in events(folder)] == [record.unix_ms(begun), record.unix_ms(NOW)]


def test_a_start_is_not_later_than_it_was_seen_whatever_another_machines_clock_says(tmp_path: Path) -> None:
    ahead = NOW + timedelta(hours=1)
    folder = a_folder(tmp_path, "")
    ended = ProcessExit(code=0, ended_by="exit", started_at=ahead, ended_at=ahead, duration_ms=0)
    (folder / run_folder.EXIT).write_bytes(run_folder.encode(ended))
    asyncio.run(done(a_log(tmp_path), folder, "command"))

    assert [event["timestamp"] for event in events(folder)] == [record.unix_ms(NOW)] * 2


@pytest.mark.parametrize("kept", [1, 2, 3, 5])
def test_after_a_crash_at_any_line_nothing_is_written_twice_and_nothing_is_missing(tmp_path: Path, kept: int) -> None:
    folder = a_folder(tmp_path, (SAMPLES / "claude-twotools.jsonl").read_text())
    asyncio.run(done(a_log(tmp_path), folder, "claude"))
    whole, file = events(folder), folder / "activity.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:kept]) + lines[kept][:20])
    asyncio.run(done(a_log(tmp_path), folder, "claude"))
    assert events(folder) == whole


def test_a_run_whose_end_is_written_gets_no_second_one(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, (SAMPLES / "claude-twotools.jsonl").read_text())
    for _ in range(2):
        asyncio.run(done(a_log(tmp_path), folder, "claude"))
    assert types(folder).count("AGENT_START") == types(folder).count("AGENT_END") == 1


def test_a_tool_call_that_is_open_at_the_end_ends_with_the_run(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, (SAMPLES / "codex-sleep-kill-SIGKILL.jsonl").read_text().split('{"type":"item.comp')[0])
    line = {"type": "item.started", "item": {"id": "i", "type": "command_execution", "command": "sleep 9"}}
    (folder / run_folder.OUTPUT).write_text(json.dumps(line) + "\n")
    asyncio.run(done(a_log(tmp_path), folder, "codex", RunResult(status="interrupted", trouble="lost")))
    end, over = events(folder)[-2:]
    assert (end["type"], end["data"]["error"]) == ("TOOL_CALL_END", "the run ended")
    assert over["data"]["status"] == "interrupted"
    assert over["data"]["interrupted"] is True


@pytest.mark.parametrize("status", get_args(RunOutcome))
def test_a_run_has_one_end_however_it_ended(tmp_path: Path, status: RunOutcome) -> None:
    folder = a_folder(tmp_path, "")
    asyncio.run(done(a_log(tmp_path), folder, "claude", RunResult(status=status)))
    assert types(folder) == ["AGENT_START", "AGENT_END"]


@pytest.mark.parametrize("trouble", ["timeout", "silence"])
def test_a_run_that_took_too_long_has_timed_out(tmp_path: Path, trouble: Any) -> None:
    folder = a_folder(tmp_path, "")
    asyncio.run(done(a_log(tmp_path), folder, "claude", RunResult(status="failed", trouble=trouble, error="late")))
    assert events(folder)[-1]["data"]["status"] == "timed_out"


def test_a_program_that_could_not_be_started_has_neither_start_nor_end(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, None)
    asyncio.run(done(a_log(tmp_path), folder, "claude", RunResult(status="failed", trouble="start")))
    assert not (folder / "activity.jsonl").exists()


def test_calls_of_prlooms_own_server_are_omitted(tmp_path: Path) -> None:
    output = (SAMPLES / "codex-mcp.jsonl").read_text().replace('"server":"stub"', '"server":"prloom"')
    folder = a_folder(tmp_path, output)
    asyncio.run(done(a_log(tmp_path), folder, "codex"))
    assert types(folder) == ["AGENT_START", "AGENT_END"]


def test_lines_that_nobody_knows_are_kept_as_unknown_and_end_nothing(tmp_path: Path) -> None:
    output = 'a banner\n{"type":"new"}\n{"type":"item.started","item":{"type":"command_execution"}}\n{"type":"tur'
    folder = a_folder(tmp_path, output)
    asyncio.run(done(a_log(tmp_path), folder, "codex"))
    assert types(folder) == ["AGENT_START", *["UNKNOWN"] * 4, "AGENT_END"]
    assert events(folder)[1]["data"] == {"line": "a banner"}


def test_a_command_prints_its_own_activity_and_everything_else_is_its_answer(tmp_path: Path) -> None:
    lines = [
        {"activity": "TOOL_CALL_START", "data": {"toolCallId": "1", "toolName": "lint", "arguments": {}}},
        {"activity": "TOOL_CALL_END", "data": {"toolCallId": "1", "result": "fine", "success": True}},
        {"activity": "AGENT_END", "data": {}},
        {"answer": 42},
    ]
    folder = a_folder(tmp_path, "".join(f"{json.dumps(line)}\n" for line in lines) + "It is fine.\n")
    asyncio.run(done(a_log(tmp_path), folder, "command"))
    assert types(folder) == ["AGENT_START", "TOOL_CALL_START", "TOOL_CALL_END", "UNKNOWN", "AGENT_END"]


async def test_events_are_written_while_the_program_still_runs(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, (SAMPLES / "claude-twotools.jsonl").read_text())

    log, seen = a_log(tmp_path), asyncio.Event()

    def note(event: ActivityEvent) -> None:
        seen.set()

    log.publisher.subscribe(["TOOL_CALL_END"], note)
    run = await FollowedRun.open(log, folder, "claude", "p")
    run.begin()
    await asyncio.wait_for(seen.wait(), 60)
    assert "AGENT_END" not in types(folder)
    await run.end(OK)

    assert types(folder)[-1] == "AGENT_END"


def test_the_next_dispatcher_writes_the_end_of_a_run_that_nobody_waits_for(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, (SAMPLES / "claude-twotools.jsonl").read_text())

    async def killed() -> None:
        log = a_log(tmp_path)
        heard = asyncio.Event()
        log.publisher.subscribe(["AGENT_START"], lambda _: heard.set())
        run = await FollowedRun.open(log, folder, "claude", "p")
        run.begin()
        await asyncio.wait_for(heard.wait(), 60)

    asyncio.run(killed())
    assert "AGENT_END" not in types(folder)
    log = a_log(tmp_path)
    assert asyncio.run(UnendedRuns(log).end_those_over()) == ()
    assert types(folder).count("AGENT_END") == 1
    assert log.unended() == {}


async def test_a_run_that_another_machine_has_done_has_its_start_and_its_end(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, None)
    run = await FollowedRun.open(a_log(tmp_path), folder, "claude", "p")
    await run.end(OK, machine="other")

    assert types(folder) == ["AGENT_START", "AGENT_END"]


def a_call(log: ActivityLog, kind: str, **data: Any) -> None:
    log.record(kind, {"toolCallId": "1", "toolName": "prloom_plan", **data}, plan_id="p", run_id=RUN, stage="worker")


async def test_a_tool_call_that_comes_before_anybody_saw_the_program_start_comes_after_the_start(
    tmp_path: Path,
) -> None:
    folder = a_folder(tmp_path, None)
    log = a_log(tmp_path)
    run = await FollowedRun.open(log, folder, "claude", "p")
    a_call(log, "TOOL_CALL_START", arguments={})
    a_call(log, "TOOL_CALL_END", success=True)
    (folder / run_folder.SUPERVISOR).write_text("{}")
    run.begin()
    await run.end(OK)

    assert types(folder) == ["AGENT_START", "TOOL_CALL_START", "TOOL_CALL_END", "AGENT_END"]


async def test_calls_and_requests_that_the_end_of_a_run_has_ended_are_not_ended_again_after_it(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, "")
    log = a_log(tmp_path)
    run = await FollowedRun.open(log, folder, "claude", "p")
    a_call(log, "TOOL_CALL_START", arguments={})
    a_call(log, "PERMISSION_REQUEST", requestId="ask-1")
    run.break_off()
    a_call(log, "PERMISSION_RESPONSE", requestId="ask-1", choice="deny", by="timeout")
    a_call(log, "TOOL_CALL_END", success=False, error="the call was cancelled")

    _, _, _, response, end, over = events(folder)
    assert [each["type"] for each in (response, end, over)] == ["PERMISSION_RESPONSE", "TOOL_CALL_END", "AGENT_END"]
    assert (response["data"]["choice"], end["data"]["error"]) == ("deny", "the run ended")


@pytest.mark.parametrize("mark", [run_folder.SUPERVISOR, run_folder.OUTPUT, run_folder.LOCK])
async def test_a_run_that_is_broken_off_before_anybody_saw_its_program_start_has_its_start_and_its_end(
    tmp_path: Path, mark: str
) -> None:
    folder = a_folder(tmp_path, None)
    (folder / mark).touch()

    run = await FollowedRun.open(a_log(tmp_path), folder, "claude", "p")
    run.begin()
    run.break_off()

    assert types(folder) == ["AGENT_START", "AGENT_END"]
    assert events(folder)[-1]["data"]["status"] == "interrupted"


async def test_a_run_that_is_broken_off_before_its_program_was_started_has_neither_start_nor_end(
    tmp_path: Path,
) -> None:
    folder = a_folder(tmp_path, None)
    run = await FollowedRun.open(a_log(tmp_path), folder, "claude", "p")
    run.begin()
    run.break_off()

    assert not (folder / "activity.jsonl").exists()


@pytest.mark.parametrize("started", [True, False])
def test_a_run_of_a_dispatcher_killed_before_it_saw_the_program_start_has_a_start_if_it_has_an_end(
    tmp_path: Path, *, started: bool
) -> None:
    folder = a_folder(tmp_path, None)

    async def killed() -> None:
        (await FollowedRun.open(a_log(tmp_path), folder, "claude", "p")).begin()

    asyncio.run(killed())
    if started:
        a_folder(tmp_path, "")
    log, now = a_log(tmp_path), [0.0]
    runs = UnendedRuns(log, lambda: now[0])
    now[0] += QUEUED_FOR
    assert asyncio.run(runs.end_those_over()) == ()
    assert (folder / "activity.jsonl").exists() == started
    if started:
        assert types(folder) == ["AGENT_START", "AGENT_END"]
    assert log.unended() == {}


def test_a_run_that_is_begun_after_its_dispatcher_was_killed_and_then_cancelled_has_its_start_and_its_end(
    tmp_path: Path,
) -> None:
    folder = a_folder(tmp_path, None)

    async def killed() -> None:
        (await FollowedRun.open(a_log(tmp_path), folder, "claude", "p")).begin()

    asyncio.run(killed())
    log = a_log(tmp_path)
    runs = UnendedRuns(log)
    assert asyncio.run(runs.end_those_over()) == (RUN,)  # the next pool may begin it before it is cancelled
    (folder / run_folder.LOCK).touch()
    a_folder(tmp_path, "")
    assert asyncio.run(runs.end_those_over()) == ()
    assert types(folder) == ["AGENT_START", "AGENT_END"]
    assert events(folder)[-1]["data"]["status"] == "interrupted"
    assert log.unended() == {}
