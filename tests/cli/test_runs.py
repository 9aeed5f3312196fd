"""`prloom runs`, `logs`, `costs` and `stop`, with runs of real processes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest
import started_runs
from command_line import Prloom, Refusal
from operator_scene import OperatorScene
from stage import Stage
from started_runs import StartedRun

from prloom import flock
from prloom.agents import run_folder, run_spec, runner
from prloom.agents.agent import RunRequest, RunResult, TokenUsage
from prloom.agents.programs import command
from prloom.agents.registry import AGENTS
from prloom.agents.run_spec import RunLimits
from prloom.cli import logs, runs
from prloom.engine.activity.activity_log import ActivityLog
from prloom.engine.activity.followed_run import FollowedRun
from prloom.engine.runs import activity, records
from prloom.engine.runs.plan_activity import PlanActivity
from prloom.engine.runs.steps import RunSteps

Launch = Callable[..., StartedRun]

QUICK = "print('I fixed it \\x1b[31m\\nand more')"
REPORTING = """print('{"activity": "THOUGHT_COMPLETE", "data": {"thinking": "hm"}}')"""
MANY = 20
SLOW = "import time; print('working', flush=True); time.sleep(600)"


@pytest.fixture
async def launch(stage: Stage) -> AsyncIterator[Launch]:
    """Start a Python program as the agent of a plan; whatever still runs at the end of the test is stopped."""
    started: list[StartedRun] = []

    def start(program: str, *, plan: str = "pr-7", at: datetime | None = None) -> StartedRun:
        runs = stage.paths.worktree(plan) / "prloom" / ".local" / "runs"
        runs.mkdir(exist_ok=True)
        request = RunRequest(
            prompt="Go.",
            stage="worker",
            cwd=stage.paths.worktree(plan),
            root=stage.root,
            rights="work",
            plan=plan,
            todo="t-1",
            attempt=2,
            plugin="ci",
            model="big",
            argv=(sys.executable, "-c", program),
        )
        folder = runs / run_spec.new_id(at or datetime.now(UTC), "worker")
        started.append(
            started_runs.start(
                folder,
                AGENTS["command"],
                request,
                environ=os.environ,
                limits=RunLimits(grace_seconds=0.3),
                exchange=stage.root / "prloom/.local/exchange.db",
            )
        )
        return started[-1]

    yield start
    for run in started:
        await started_runs.end(run)


async def ended(stage: Stage, run: StartedRun, *, usage: TokenUsage | None = None, cost: float | None = None) -> None:
    """Wait for a run as the dispatcher does, and have its record say what it used."""
    result = await started_runs.result(run)
    result = RunResult(status=result.status, message=result.message, error=result.error, usage=usage, cost_usd=cost)
    records.save(stage.root, run.folder, "pr-7", result, datetime.now(UTC))


async def says(run: StartedRun) -> None:
    """Wait until a run has said something, and its supervisor who it is."""
    async with asyncio.timeout(60):
        # Files of another process: there is no event to wait for.
        while not all(  # noqa: ASYNC110
            run_folder.read(run.folder, name) for name in (run_folder.OUTPUT, run_folder.SUPERVISOR)
        ):
            await asyncio.sleep(0.01)


async def test_runs_shows_what_runs_were_for_and_what_they_came_to(
    stage: Stage, prloom: Prloom, launch: Launch, pr_7: Path
) -> None:
    run = launch(QUICK)
    await ended(stage, run, usage=TokenUsage(input_tokens=1000, output_tokens=20, cached_tokens=5), cost=0.25)

    (shown,) = json.loads(prloom("runs", "--json").out)["runs"]

    times = {name: shown.pop(name) for name in ("startedAt", "endedAt", "seconds", "machine", "retryAt")}
    assert shown == {
        "id": run.id,
        "plan": "pr-7",
        "stage": "worker",
        "todo": "t-1",
        "agent": "command",
        "model": "big",
        "status": "ok",
        "attempt": 2,
        "usage": {"inputTokens": 1000, "outputTokens": 20, "cachedTokens": 5},
        "costUsd": 0.25,
        "error": None,
        "refused": False,
        "plugin": "ci",
    }
    assert times["startedAt"] <= times["endedAt"]
    assert times["seconds"] >= 0
    assert times["retryAt"] is None
    head, line = prloom("runs").out.splitlines()
    assert head.split()[:6] == ["RUN", "PLAN", "STAGE", "TODO", "AGENT", "STATUS"]
    assert line.split()[:6] == [run.id, "pr-7", "worker", "t-1", "command", "ok"]
    assert line.split()[-3:] == ["1,020", "0.2500", "USD"]


async def test_a_run_that_goes_on_is_shown_and_can_be_stopped(stage: Stage, prloom: Prloom, launch: Launch) -> None:
    stage.adopt()
    run = launch(SLOW)
    await says(run)
    (shown,) = json.loads(prloom("runs", "7", "--json").out)["runs"]
    assert (shown["status"], shown["endedAt"]) == ("running", None)

    out = prloom("stop", run.id).out

    assert out == f"Paused: pr-7.\nStopping {run.id}. To continue: prloom resume pr-7\n"
    await ended(stage, run)
    (shown,) = json.loads(prloom("runs", "--json").out)["runs"]
    assert shown["status"] == "interrupted"
    assert stage.state("pr-7")["paused"]
    assert prloom("stop", run.id).out == f"Run {run.id} has ended already.\n"


async def test_a_run_that_no_worker_has_begun_is_queued_and_not_interrupted(stage: Stage, prloom: Prloom) -> None:
    runs = stage.adopt() / "runs"
    runs.mkdir()
    request = RunRequest(
        prompt="", stage="worker", cwd=stage.root, root=stage.root, rights="work", plan="pr-7", argv=("true",)
    )
    folder = runs / run_spec.new_id(datetime.now(UTC), "worker")
    runner.prepare(folder, command, request, environ=os.environ, limits=RunLimits())

    (shown,) = json.loads(prloom("runs", "--json").out)["runs"]

    assert (shown["status"], shown["endedAt"]) == ("queued", None)


async def test_a_plan_that_is_gone_is_known_by_its_runs(stage: Stage, prloom: Prloom, launch: Launch) -> None:
    stage.adopt()
    run = launch(QUICK)
    await ended(stage, run)
    stage.paths.worktree("pr-7").rename(stage.root / "elsewhere")

    assert [each["id"] for each in json.loads(prloom("runs", "pr-7", "--json").out)["runs"]] == [run.id]
    assert prloom("costs", "pr-7").code == 0
    assert prloom("costs", "pr-8").code == 1


async def test_the_newest_runs_are_listed_last_and_old_ones_on_demand(
    stage: Stage, prloom: Prloom, launch: Launch, pr_7: Path
) -> None:
    now = datetime.now(UTC)
    runs = [launch(QUICK, at=now - timedelta(days=days)) for days in (9, 2, 1, 0)]
    for run in runs[:-1]:
        await ended(stage, run)
    await started_runs.wait(runs[-1])  # which is not in the log

    def ids(*args: str) -> list[str]:
        return [each["id"] for each in json.loads(prloom("runs", "--json", *args).out)["runs"]]

    assert ids() == [run.id for run in runs]
    assert ids("--limit", "2") == [run.id for run in runs[-2:]]
    assert ids("--limit", "1") == [runs[-1].id]
    assert ids("--since", "3d") == [run.id for run in runs[1:]]


async def test_costs_add_up_and_name_what_was_not_measured(stage: Stage, prloom: Prloom, launch: Launch) -> None:
    stage.adopt()
    for cost in (0.25, 0.5, None):
        usage = None
        if cost is not None:
            usage = TokenUsage(input_tokens=1000, output_tokens=20, cached_tokens=0)
        await ended(stage, launch(QUICK), usage=usage, cost=cost)

    document = json.loads(prloom("costs", "--json").out)

    (group,) = document["groups"]
    assert document["since"] is None
    assert (group["key"]["plan"], group["key"]["agent"], group["key"]["model"]) == ("pr-7", "command", "big")
    assert (group["runs"], group["inputTokens"], group["outputTokens"]) == (3, 2000, 40)
    assert (group["costUsd"], group["unmeasuredRuns"]) == (0.75, 1)
    (plan,) = json.loads(prloom("status", "--json").out)["plans"]
    assert plan["spent"] == {key: group[key] for key in group if key != "key"}
    shown = prloom("costs", "pr-7", "--since", "1h").out.splitlines()
    assert [line.split()[0] for line in shown if line and not line.startswith(" ")][:1] == ["PLAN"]
    assert shown[-1].split()[-4:] == ["40", "0.7500", "USD", "1"]
    (by_plugin,) = json.loads(prloom("costs", "--by", "plugin", "--json").out)["groups"]
    assert (by_plugin["key"], by_plugin["runs"]) == ("ci", 3)
    (by_stage,) = json.loads(prloom("costs", "--by", "stage", "--json").out)["groups"]
    assert (by_stage["runs"], by_stage["costUsd"]) == (3, 0.75)
    heads = [line.split()[0] for line in prloom("costs", "--by", "model").out.splitlines() if line]
    assert heads == ["MODEL", "command", "TOTAL", "3"]


async def test_costs_fit_a_narrow_terminal(stage: Stage, launch: Launch, on_terminal: Callable[..., list[str]]) -> None:
    stage.adopt()
    await ended(stage, launch(QUICK), usage=TokenUsage(input_tokens=1000, output_tokens=20, cached_tokens=0), cost=0.25)

    assert max(map(len, on_terminal(40, "costs"))) <= 40
    assert max(map(len, on_terminal(80, "costs"))) <= 80
    text = " ".join(" ".join(on_terminal(40, "costs", "--by", "plan")).split())
    assert re.search(r"PLAN pr-7 1 run, [^,]+, 1,000 tokens in, 20 tokens out, 0\.2500 USD TOTAL 1 run, ", text)


def test_without_runs_that_is_said(stage: Stage, prloom: Prloom, pr_7: Path) -> None:
    assert prloom("runs").out == prloom("costs").out == "No runs yet.\n"
    assert prloom("logs", "pr-7").err == (
        "prloom: plan pr-7 has no runs yet; `prloom logs pr-7 --follow` waits for one\n"
    )
    assert json.loads(prloom("costs", "--json").out) == {"since": None, "groups": []}


@pytest.mark.parametrize("run", ["20261121T201532299Z-worker-29119d7c", "../../x", "--x"])
def test_a_run_that_there_is_not_is_no_path(stage: Stage, refused: Refusal, run: str, pr_7: Path) -> None:
    assert "in the worktrees; `prloom runs` lists the runs there are" in refused("stop", "--", run)


async def test_logs_of_a_plan_shows_the_latest_run_of_an_agent_and_not_a_later_check(
    stage: Stage, prloom: Prloom, launch: Launch, pr_7: Path
) -> None:
    run = launch(QUICK)
    await ended(stage, run)
    (run.folder.parent / "20991231T235959000Z-check-29119d7c").mkdir()

    assert prloom("logs", "pr-7").out.startswith(f"{run.id}: worker")


async def test_logs_shows_a_run_without_what_a_terminal_would_obey(
    stage: Stage, prloom: Prloom, launch: Launch, pr_7: Path
) -> None:
    run = launch(QUICK)
    await ended(stage, run)

    first, *said, last = prloom("logs", "pr-7").out.splitlines()

    assert first.startswith(f"{run.id}: worker, command, big, TODO t-1, attempt 2, began ")
    assert said == ["I fixed it \\x1b[31m", "and more"]
    assert last.startswith("It ended after ")
    assert last.endswith(": ok")
    assert prloom("logs", run.id, "--follow").out == prloom("logs", run.id).out


async def test_logs_prints_the_activity_of_a_run_as_lines_of_json(stage: Stage, prloom: Prloom, launch: Launch) -> None:
    stage.adopt()
    run = launch(REPORTING)
    await ended(stage, run)
    log = ActivityLog(stage.paths, lambda: datetime.now(UTC), {})
    followed = await FollowedRun.open(log, run.folder, "command", "pr-7")
    await followed.end(RunResult(status="ok", message="Done."))

    printed = prloom("logs", run.id, "--json").out

    events = [json.loads(line) for line in printed.splitlines()]
    assert [event["type"] for event in events] == ["AGENT_START", "THOUGHT_COMPLETE", "AGENT_END"]
    assert [event["seq"] for event in events] == [1, 2, 3]
    assert events[1]["data"] == {"thinking": "hm"}
    assert prloom("logs", "pr-7", "--json").out == printed
    assert prloom("logs", run.id, "--follow", "--json").out == printed


async def test_logs_of_a_plan_shows_what_has_happened_beside_its_runs_since_the_last_one_began(
    stage: Stage, prloom: Prloom, launch: Launch, pr_7: Path
) -> None:
    start = datetime.now(UTC) - timedelta(hours=1)
    earlier = ActivityLog(stage.paths, lambda: start, {})
    earlier.record("PLUGIN_MESSAGE_RECEIVED", {"pluginName": "old", "role": "user", "depth": 1}, plan_id="pr-7")
    assert "# " in prloom("logs", "pr-7").out
    run = launch(QUICK)
    await ended(stage, run)
    log = ActivityLog(stage.paths, lambda: datetime.now(UTC), {})
    log.record("PLUGIN_MESSAGE_RECEIVED", {"pluginName": "notes", "role": "user", "depth": 1}, plan_id="pr-7")
    log.record("TODO_UPDATE", {"todos": []}, plan_id="pr-7")

    *_, over, beside = prloom("logs", "pr-7").out.splitlines()

    assert over.startswith("It ended after ")
    assert re.fullmatch(r"# [-0-9]{10} [:0-9]{8}  plugin notes: message received: role user", beside)
    told = [json.loads(line) for line in prloom("logs", "pr-7", "--json").out.splitlines()]
    assert [each["type"] for each in told] == ["PLUGIN_MESSAGE_RECEIVED", "TODO_UPDATE"]
    assert "plugin notes" not in prloom("logs", run.id).out


def test_what_happens_in_a_plan_beside_its_runs_is_shown_once(stage: Stage, pr_7: Path) -> None:
    log = ActivityLog(stage.paths, stage.clock, {})
    beside = PlanActivity(stage.paths, "pr-7")

    told = []
    for name in ("one", "two"):
        log.record("PLUGIN_ACTION_REQUESTED", {"pluginName": name}, plan_id="pr-7")
        told.append([each.event.data["pluginName"] for each in beside.new()])

    assert told == [["one"], ["two"]]
    assert beside.new() == ()


async def test_logs_says_in_one_line_that_a_run_has_no_activity(stage: Stage, prloom: Prloom, launch: Launch) -> None:
    stage.adopt()
    run = launch(QUICK)
    await ended(stage, run)

    said = prloom("logs", run.id, "--json")

    assert said.out == ""
    assert said.err == (
        f"run {run.id} has no recorded activity: its program was not started, or an earlier version of prloom has done"
        f" the run; `prloom logs {run.id}` shows its output\n"
    )


async def test_logs_says_that_a_run_goes_on(stage: Stage, prloom: Prloom, launch: Launch, pr_7: Path) -> None:
    run = launch(SLOW)
    await says(run)

    *_, said, last = prloom("logs", run.id).out.splitlines()

    assert said == "working"
    assert last.endswith("--follow shows the rest.")


async def test_a_run_is_followed_until_it_ends(stage: Stage, launch: Launch, tmp_path: Path, pr_7: Path) -> None:
    go = tmp_path / "go"
    program = f"import os, time\nprint('one', flush=True)\nwhile not os.path.exists({str(go)!r}): time.sleep(.01)\n"
    run = launch(f"{program}print('two')")
    await says(run)
    waits: list[None] = []

    def wait() -> None:
        waits.append(None)
        go.touch()
        lock = os.open(run.folder / run_folder.LOCK, os.O_RDONLY)
        flock.wait_and_lock(lock)
        os.close(lock)

    lines = list(logs.lines(RunSteps(run.folder), wait=wait))

    assert lines == ["one", "two"]
    assert len(waits) == 1


@pytest.fixture
async def unbegun(stage: Stage, launch: Launch) -> Path:
    """Return the folder of a run that no worker of this machine has begun, and that another one has printed in."""
    stage.adopt()
    run = launch(QUICK)
    await ended(stage, run)
    for name in (run_folder.LOCK, run_folder.EXIT, run_folder.RESULT):
        (run.folder / name).unlink()
    return run.folder


@pytest.mark.parametrize(
    ("elsewhere", "said"),
    [(True, "; --follow shows the rest."), (False, "It waits for a worker; --follow shows what it does then.")],
)
async def test_logs_says_of_a_run_that_is_not_begun_here_whether_it_waits(
    unbegun: Path, prloom: Prloom, said: str, *, elsewhere: bool
) -> None:
    if elsewhere:
        (unbegun / run_folder.ELSEWHERE).write_text("other")

    assert prloom("logs", unbegun.name).out.splitlines()[-1].endswith(said)


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_a_run_that_no_worker_of_this_machine_has_begun_is_followed_until_it_ends(
    unbegun: Path, *, elsewhere: bool
) -> None:
    if elsewhere:
        (unbegun / run_folder.ELSEWHERE).write_text("other")
    waits: list[None] = []

    def wait() -> None:
        waits.append(None)
        if len(waits) == MANY:
            run_folder.write_result(unbegun, RunResult(status="ok", message="Done."))

    lines = list(logs.lines(RunSteps(unbegun), wait=wait))

    assert len(waits) == MANY
    assert lines == ["I fixed it \\x1b[31m", "and more"]
    (unbegun / run_folder.RESULT).unlink()
    waits.clear()
    assert list(activity.events(unbegun, wait=wait)) == []
    assert len(waits) > MANY


def test_pieces_of_a_text_are_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    spec = run_spec.RunSpec(argv=("gemini",), cwd="/", environment=(), limits=RunLimits(), agent="gemini")
    run_folder.write_new(folder, run_folder.INVOCATION, run_folder.encode(spec))
    said = [{"type": "message", "role": "assistant", "content": text, "delta": True} for text in ("Do", "ne", ".")]
    used = {"type": "tool_use", "tool_name": "run_shell_command", "parameters": {"command": "make\ntest"}}
    events = [*said[:2], used, said[2]]
    run_folder.write_new(folder, run_folder.OUTPUT, "\n".join(map(json.dumps, events)).encode())

    lines = list(logs.lines(RunSteps(folder), wait=None))

    assert lines[0] == "Done"
    assert lines[1].endswith("(and 1 more line)\x1b[0m")
    assert lines[2] == "."


def test_the_machines_of_runs_are_shown_where_they_are_several(stage: Stage, prloom: Prloom) -> None:
    scene = OperatorScene(stage.root, datetime(2026, 1, 1, 12, tzinfo=UTC))
    stage.adopt()
    scene.ended_run(1, machine="m1")
    assert "MACHINE" not in prloom("runs").out

    scene.ended_run(2, machine="m2")
    head, *rows = prloom("runs").out.splitlines()

    place = head.index("MACHINE")
    assert [row[place:].split()[0] for row in rows] == ["m1", "m2"]


@pytest.mark.parametrize(("width", "gone"), [(None, set()), (100, {"TODO"}), (80, {"TODO", "TOKENS", "AGENT", "COST"})])
def test_a_narrow_terminal_goes_without_columns(width: int | None, gone: set[str]) -> None:
    row = ["20261123T020343-worker-1a2b3c", "faster-greeting", "worker", "t-0123456789ab", "claude", "m2"]
    rows = [[*row, "limited", "12 min ago", "4 min 10 s", "not reported", "0.2500 USD"]]

    lines = [click.unstyle(line) for line in runs._lines(rows, width)]

    assert all(width is None or len(line) <= width for line in lines)
    assert {"RUN", "STATUS", "BEGAN"} <= set(lines[0].split())
    assert gone.isdisjoint(lines[0].split())
    assert lines[1].startswith(row[0])
