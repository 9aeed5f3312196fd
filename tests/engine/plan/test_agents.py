"""Agents deal with events: real runs of small programs, and what their ends come to."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import textwrap
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import environment
import pytest
from run_pools import StartForked
from stage import Stage, said

from prloom.agents import run_folder, run_spec, runner
from prloom.agents.agent import RunRequest
from prloom.agents.programs import command
from prloom.agents.run_spec import RunLimits
from prloom.api import PluginContext, Target, TriageContext
from prloom.engine.activity.started_runs import StartedRuns
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.agents import AgentTriager
from prloom.engine.plan.rules import rules
from prloom.engine.runs import listing
from prloom.engine.runs.run_exchange import RunExchange
from prloom.engine.views import status, why
from prloom.errors import AgentError
from prloom.model import record
from prloom.model.decision import Change

HELPERS = """
import json, os, re, sys
prompt = sys.stdin.read()
ids = [json.loads(found) for found in re.findall(r"BEGIN facts of event .*\\nid: (.*)", prompt)]
open(os.path.join(HERE, "runs"), "a").write(" ".join(ids) + "\\n")
def answer(*ids, **more):
    items = [{"eventId": i, "verdict": "answered", "reply": f"On {i}."} for i in ids]
    return json.dumps({"items": items, "todos": [], "rebaseRequested": False} | more)
"""


class Bench:
    """A stage whose agent is a program of the test's, which runs as a real agent does."""

    def __init__(self, stage: Stage, tmp_path: Path) -> None:
        self.stage = stage
        self.home = tmp_path / "home"
        self.home.mkdir()
        self.environ: Mapping[str, str] = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        stage.clock.now = datetime.now(UTC)

    def plays(self, program: str, config: str = "", parallel: int = 4) -> None:
        """Have this program be the agent; `ids` are the events that it is asked about, `answer` answers some."""
        file = self.home / "agent.py"
        file.write_text(f"HERE = {str(self.home)!r}\n" + HELPERS + textwrap.dedent(program))
        argv = json.dumps([*environment.AGENT_PYTHON, str(file)])
        self.stage.configure(f'{config}\n[stages]\ndefault = "command"\n[agents.command]\nargv = {argv}\n')
        self.stage.triager = AgentTriager(  # type: ignore[assignment]
            AgentPool(
                root=self.stage.root,
                environ=self.environ,
                parallel=parallel,
                workers=1,
                start_pool=StartForked(self.environ),
            ),
            lambda plan_id: "",
        )

    @property
    def asked(self) -> list[list[str]]:
        """The events of each run."""
        file = self.home / "runs"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def signal(self, name: str) -> Path:
        return self.home / name


@pytest.fixture
def bench(stage: Stage, tmp_path: Path) -> Bench:
    stage.adopt()
    return Bench(stage, tmp_path)


def waits(bench: Bench) -> dict[str, Any]:
    return {event["id"]: event.get("deferral") for event in bench.stage.open().values()}


def verdict(stage: Stage, event_id: str) -> str:
    """Return the last word about an event in the decision log."""
    changes = [change for decision in stage.decisions() for change in decision.get("changes", ())]
    return [change["verdict"] for change in changes if change["eventId"] == event_id][-1]


# ---- answers


async def test_the_last_object_of_the_final_message_is_the_answer(bench: Bench, stage: Stage):
    bench.plays('print("I thought {about} it.\\n" + answer(*ids))')

    await stage.take_in(said("a"), said("b"))

    assert bench.asked == [["a", "b"]]
    assert stage.bridge.said == ["On a.", "On b."]


@pytest.mark.parametrize("words", ["", "print('I wrote it down.')"], ids=["silent", "with a word"])
async def test_the_file_that_the_prompt_names_is_the_answer(bench: Bench, stage: Stage, words: str):
    bench.plays(f"""
        path = re.search(r"/\\S*/answer\\.json", prompt)[0]
        open(path, "w").write(answer(*ids))
        {words}
    """)

    await stage.take_in(said("a"))

    assert stage.bridge.said == ["On a."]


ASKS_FOR_A_REBASE = """
    items = [{"eventId": i, "verdict": "acknowledged", "reply": None} for i in ids]
    print(answer(items=items, rebaseRequested=True))
"""


def plan_shown(stage: Stage) -> Mapping[str, Any]:
    (plan,) = [plan for plan in status.read(stage.paths, stage.clock()).plans if plan.id]
    return record.to_wire(plan)


async def test_a_rebase_that_is_acknowledged_only_leaves_a_todo_a_reason_and_a_status(bench: Bench, stage: Stage):
    bench.plays(ASKS_FOR_A_REBASE)

    await stage.take_in(said("a"))

    assert "- [ ] Rebase the branch onto its base" in (stage.local() / "plan.md").read_text()
    steps = why.document(why.find(stage.paths, "a")).steps
    assert "the agent requests a rebase of the branch; the plan has a TODO for it" in [step.reason for step in steps]
    assert plan_shown(stage)["rebaseRequested"] is True


@pytest.mark.parametrize("end", ["ticked", "taken out"])
async def test_a_rebase_is_asked_for_until_its_todo_is_ticked_or_taken_out(bench: Bench, stage: Stage, end: str):
    bench.plays(ASKS_FOR_A_REBASE)
    await stage.take_in(said("a"))
    file = stage.local() / "plan.md"
    again = {"ticked": file.read_text().replace("- [ ] Rebase", "- [x] Rebase"), "taken out": "# The plan"}[end]
    file.write_text(again)

    await stage.tick()
    over = plan_shown(stage).get("rebaseRequested")
    await stage.take_in(said("b"))

    assert over is None
    assert file.read_text().count("- [ ] Rebase the branch onto its base") == 1
    assert plan_shown(stage)["rebaseRequested"] is True


async def test_a_rebase_that_an_older_prloom_has_only_noted_becomes_a_todo(bench: Bench, stage: Stage):
    bench.plays("print(answer(*ids))")
    runtime = stage.dispatcher().registry
    runtime.update(rules(stage.config))
    runtime.runtimes["pr-7"].event_store.commit("triage", "claude", rebase_requested=True)
    runtime.close()

    await stage.tick()
    await stage.tick()

    assert (stage.local() / "plan.md").read_text().count("- [ ] Rebase the branch onto its base") == 1


async def test_an_event_that_was_superseded_during_the_run_is_not_answered_by_it(bench: Bench, stage: Stage):
    go, begun = bench.signal("go"), bench.signal("begun")
    bench.plays(f"""
        open({str(begun)!r}, "w")
        while "old" in ids and not os.path.exists({str(go)!r}): import time; time.sleep(0.01)
        print(answer(*ids))
    """)
    stage.append(said("old"))
    async with stage.running():
        await stage.until(begun.exists)
        stage.append(said("new", context={"supersedes": "old"}))
        await stage.until(lambda: "superseded" in stage.fate("old"))
        go.touch()

        await stage.until(lambda: stage.bridge.said == ["On new."])
    assert bench.asked == [["old"], ["new"]]


async def test_an_event_whose_text_is_lost_during_the_run_needs_a_person(bench: Bench, stage: Stage):
    go, begun = bench.signal("go"), bench.signal("begun")
    bench.plays(f"""
        open({str(begun)!r}, "w")
        while not os.path.exists({str(go)!r}): import time; time.sleep(0.01)
        print(answer(*ids))
    """)
    stage.append(said("a", "first"), said("b", "second"))
    async with stage.running() as dispatcher:
        await stage.until(begun.exists)
        journal = stage.local() / "bus/events.jsonl"
        journal.write_bytes(journal.read_bytes().replace(b"second", b"SECOND"))
        dispatcher.registry.runtimes["pr-7"].event_store.texts.clear()
        go.touch()

        await stage.until(lambda: stage.open().get("b", {}).get("state") == "parked")
        await stage.until(lambda: stage.bridge.said == ["On a."])


# ---- runs that fail


async def test_a_run_that_fails_is_tried_again_by_the_backoff_and_parked_in_the_end(bench: Bench, stage: Stage):
    bench.plays("sys.exit('no model today')", "[backoff]\nmax_attempts = 2")
    await stage.take_in(said("a"))
    wait = waits(bench)["a"]
    assert wait["attempts"] == 1
    assert "no model today" in wait["reason"]
    assert "(run " in wait["reason"]

    await stage.tick_after(minutes=5)

    assert stage.open()["a"]["state"] == "parked"
    assert stage.open()["a"]["reason"].startswith("triage failed 2 times; the last error: command: ")


async def test_the_text_that_runs_fail_on_does_not_go_on_spoiling_those_of_its_neighbours(bench: Bench, stage: Stage):
    bench.plays('sys.exit("refused") if "poison" in ids else print(answer(*ids))')
    await stage.take_in(said("a"), said("poison"), said("b"))
    assert stage.bridge.said == []

    await stage.tick_after(minutes=1)

    assert sorted(stage.bridge.said) == ["On a.", "On b."]
    assert list(stage.open()) == ["poison"]


async def test_what_no_text_is_to_blame_for_keeps_the_batch_together(bench: Bench, stage: Stage):
    bench.plays("""
        broken = os.path.join(HERE, "broken")
        if not os.path.exists(broken):
            open(broken, "w")
            sys.exit("connection refused")
        print(answer(*ids))
    """)
    await stage.take_in(said("a"), said("b"))

    await stage.tick_after(minutes=1)

    assert bench.asked == [["a", "b"], ["a", "b"]]


async def test_all_runs_of_a_program_wait_for_its_usage_limit(bench: Bench, stage: Stage):
    stage.adopt("pr-8", pr=8)
    bench.plays('sys.exit("usage limit reached; try again in 3 hours")')
    await stage.take_in(said("a"))

    stage.append(said("b"))
    await stage.take_in(said("c"), plan_id="pr-8")

    assert bench.asked == [["a"]]
    due = waits(bench)["a"]["deferredUntil"]
    other = stage.open("pr-8")["c"]
    assert (waits(bench)["b"]["deferredUntil"], other["deferral"]["deferredUntil"]) == (due, due)
    assert verdict(stage, "b") == "limited"
    assert "usage limit reached; try again in 3 hours (run " in other["reason"]


async def test_a_usage_limit_holds_the_programs_runs_after_a_restart_too(bench: Bench, stage: Stage):
    program = 'sys.exit("usage limit reached; try again in 3 hours")'
    bench.plays(program)
    await stage.take_in(said("a"))
    due = waits(bench)["a"]["deferredUntil"]

    bench.plays(program)  # by a pool of agents that knows nothing yet
    await stage.take_in(said("b"))

    assert bench.asked == [["a"]]
    assert waits(bench)["b"]["deferredUntil"] == due


async def test_a_usage_limit_without_an_end_is_a_wait_of_its_own_that_keeps_the_batch_together(
    bench: Bench, stage: Stage
):
    bench.plays('sys.exit("You exceeded your current quota")')

    await stage.take_in(said("a"), said("b"))

    wait = waits(bench)["a"]
    due = datetime.fromisoformat(wait["deferredUntil"])
    assert (verdict(stage, "a"), wait["attempts"]) == ("quota", 0)
    assert timedelta(minutes=59) < due - stage.clock() < timedelta(minutes=65)
    assert "does not say when the limit is reset, so prloom tries again in an hour" in wait["reason"]
    stage.clock.now = due + timedelta(minutes=1)
    await stage.tick()
    assert bench.asked == [["a", "b"], ["a", "b"]]


async def test_a_retry_that_somebody_asks_for_does_not_wait_for_the_usage_limit(bench: Bench, stage: Stage):
    bench.plays("""
        limited = len(open(os.path.join(HERE, "runs")).readlines()) == 1
        sys.exit("usage limit reached; try again in 3 hours") if limited else print(answer(*ids))
    """)
    await stage.take_in(said("a"))

    await stage.take_in(said("r", body="/prloom retry"))
    await stage.take_in(said("b"))

    assert bench.asked == [["a"], ["a"], ["b"]]


async def test_a_hooks_run_waits_for_the_usage_limit_too(bench: Bench, stage: Stage):
    bench.plays('sys.exit("usage limit reached; try again in 3 hours")')
    await stage.take_in(said("a"))

    async def look(plan: str, triage: TriageContext) -> str:
        await triage.run_agent("Look.", stage="triage")
        return plan

    stage.plugin("looks", lambda ctx: ctx.register_hook("beforeTriage", look))
    await stage.take_in(said("b"))

    assert bench.asked == [["a"]]
    assert "usage limit reached; try again in 3 hours (run " in waits(bench)["b"]["reason"]
    assert "prloom tries again at 20" in waits(bench)["b"]["reason"]


async def test_a_run_that_says_nothing_for_too_long_is_ended(bench: Bench, stage: Stage):
    bench.plays("import time; time.sleep(60)", '[agents]\nsilence = "300ms"\n')

    await stage.take_in(said("a"))

    assert "the run printed nothing for longer than the limit" in waits(bench)["a"]["reason"]


async def test_without_any_agent_on_the_machine_every_event_waits_and_says_what_to_do(bench: Bench, stage: Stage):
    bench.environ = {"PATH": str(bench.home), "HOME": str(bench.home)}
    bench.plays("")
    stage.configure("")

    await stage.take_in(said("a"))

    assert "no agent program on PATH" in waits(bench)["a"]["reason"]


async def test_the_end_of_a_run_is_one_line_of_the_log(bench: Bench, stage: Stage, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "prloom")
    bench.plays("sys.exit('no such model')")

    await stage.take_in(said("a"))

    (run,) = (stage.local() / "runs").iterdir()
    (line,) = [message for message in caplog.messages if "has ended" in message]
    assert line.startswith(f"plan pr-7: run {run.name} of command has ended: failed (")


# ---- the end of the dispatcher


async def test_an_event_that_a_daily_limit_holds_back_is_looked_at_when_a_person_resumes_the_plan(
    bench: Bench, stage: Stage
):
    bench.plays("print(answer(*ids))", config="[limits]\nmax_runs_per_day = 1\n")
    await stage.take_in(said("a"))
    await stage.take_in(said("b"))
    assert stage.open()["b"]["state"] == "deferred"
    assert stage.open()["b"]["reason"].startswith("the brake max_runs_per_day = 1 is on")

    await stage.carry_out("resume", "pr-7")

    assert stage.bridge.said == ["On a.", "On b."]


async def test_a_daily_limit_holds_for_plans_whose_events_are_triaged_at_the_same_time(bench: Bench, stage: Stage):
    stage.adopt("pr-8", pr=8)
    bench.plays("print(answer(*ids))", config="[limits]\nmax_runs_per_day = 1\n", parallel=2)
    stage.append(said("a"))

    await stage.take_in(said("b", pr=8), plan_id="pr-8")

    assert len(bench.asked) == 1
    held = [event for plan in ("pr-7", "pr-8") for event in stage.open(plan).values()]
    assert [event["deferral"]["reason"].partition(" is on")[0] for event in held] == ["the brake max_runs_per_day = 1"]


async def test_a_daily_limit_counts_the_runs_that_an_earlier_dispatcher_began_and_nobody_waits_for_yet(
    bench: Bench, stage: Stage
):
    StartedRuns(stage.root).add("20261121T065450Z-triage-abcdef", "pr-8")
    bench.plays("print(answer(*ids))", config="[limits]\nmax_runs_per_day = 1\n")

    await stage.take_in(said("a"))

    assert bench.asked == []
    assert stage.open()["a"]["reason"].startswith("the brake max_runs_per_day = 1 is on: 1 runs today")


async def test_a_run_that_prlooms_own_end_cut_short_is_ended_and_counts_as_no_attempt(bench: Bench, stage: Stage):
    begun = bench.signal("begun")
    bench.plays(f"""
        if not os.path.exists({str(begun)!r}):
            open({str(begun)!r}, "w")
            import time; time.sleep(600)
        print(answer(*ids))
    """)
    stage.append(said("a"))
    async with stage.running():
        await stage.until(begun.exists)
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - began < 120  # its agent takes ten minutes
    assert stage.open()["a"]["run"]

    await stage.tick()

    assert stage.bridge.said == ["On a."]
    verdicts = [change["verdict"] for decision in stage.decisions() for change in decision.get("changes", ())]
    assert verdicts == ["admitted", "started", "cut_short", "started", "answered"]


async def test_a_run_that_kills_its_processes_while_prloom_goes_on_is_a_failed_attempt(bench: Bench, stage: Stage):
    bench.plays("""
        import subprocess, time
        pool = subprocess.check_output(["ps", "-o", "ppid=", "-p", str(os.getppid())], text=True)
        for each in (int(pool), os.getppid()):
            os.kill(each, 9)
        time.sleep(600)
    """)
    stage.append(said("a"))

    await stage.tick()

    event = stage.open()["a"]
    assert (event["state"], event["deferral"]["attempts"]) == ("deferred", 1)
    assert event["reason"].startswith("command: the run's worker was killed")


async def test_a_run_whose_folder_was_removed_after_prlooms_end_is_a_failed_attempt(bench: Bench, stage: Stage):
    begun = bench.signal("begun")
    bench.plays(f"""
        if not os.path.exists({str(begun)!r}):
            open({str(begun)!r}, "w")
            import time; time.sleep(600)
        print(answer(*ids))
    """)
    stage.append(said("a"))
    async with stage.running():
        await stage.until(begun.exists)
    await stage.until(lambda: not list((stage.local() / "runs").glob("*/running.lock")) or over(stage))
    (run,) = (stage.local() / "runs").iterdir()
    run.rename(stage.root / "gone")

    await stage.tick()

    wait = waits(bench)["a"]
    assert (wait["attempts"], wait["reason"]) == (1, f"command: the run's folder {run} is missing (run {run.name})")
    await stage.tick_after(minutes=1)
    assert stage.bridge.said == ["On a."]


async def begun_by_a_dispatcher_that_ended(stage: Stage, agent: str, before: Callable[[], object] = str) -> None:
    """Have a dispatcher decide on a run of an agent, and end before the run is started."""

    class Ended(AgentTriager):
        async def triage(self, runtime: Any, step: Any) -> None:
            before()
            changes = tuple(Change(event_id=i, verdict="started", state="pending") for i in step.event_ids)
            runtime.event_store.commit("triage", agent, changes=changes, run="run-x")
            await asyncio.Event().wait()

    real = stage.triager
    stage.triager = Ended(AgentPool(root=stage.root, environ={}, parallel=1, workers=1), str)  # type: ignore[assignment]
    async with stage.running():
        await stage.until(lambda: any(d.get("run") == "run-x" for d in stage.decisions()))
    stage.triager = real


async def test_a_run_that_was_never_started_because_prloom_ended_counts_as_no_attempt(bench: Bench, stage: Stage):
    bench.plays("print(answer(*ids))")
    stage.append(said("a"))
    (stage.local() / "runs").mkdir()

    await begun_by_a_dispatcher_that_ended(
        stage, "command", lambda: run_folder.create(stage.local() / "runs/run-x", {})
    )

    await stage.tick()

    assert stage.bridge.said == ["On a."]


@pytest.mark.parametrize("replacement", ["", "os.symlink(folder + '.away', folder)", "open(folder, 'w')"])
async def test_a_run_whose_folder_disappears_is_a_failed_attempt_and_holds_up_nothing_else(
    bench: Bench, stage: Stage, replacement: str
):
    bench.plays(f"""
        folder = os.path.dirname(re.search(r"/\\S*/answer\\.json", prompt)[0])
        if "bad" in ids:
            os.rename(folder, folder + ".away")
            {replacement}
        print(answer(*ids))
    """)
    stage.adopt("pr-8", pr=8)
    stage.append(said("bad"), said("good"))

    await stage.take_in(said("other", pr=8), plan_id="pr-8")
    first = waits(bench)
    await stage.tick_after(minutes=1)

    assert {name: wait["attempts"] for name, wait in first.items()} == {"bad": 1, "good": 1}
    assert "the run's folder" in first["bad"]["reason"]
    assert bench.asked[2:] in ([["bad"], ["good"]], [["good"], ["bad"]], [["bad"]], [["good"]])
    await stage.tick_after(minutes=3)
    assert sorted(stage.bridge.said) == ["On good.", "On other."]
    assert waits(bench)["bad"]["attempts"] >= 2
    assert json.loads((stage.local() / "state.json").read_text()).get("lastError") is None


async def test_a_run_that_cannot_have_its_folder_is_a_failed_attempt_and_no_trouble_of_the_plan(
    bench: Bench, stage: Stage
):
    bench.plays("print(answer(*ids))")
    (stage.local() / "runs").symlink_to(stage.root)

    await stage.take_in(said("a"))

    assert waits(bench)["a"]["attempts"] == 1
    assert "could not be started" in waits(bench)["a"]["reason"]
    assert json.loads((stage.local() / "state.json").read_text()).get("lastError") is None


def over(stage: Stage) -> bool:
    """Whether the supervisor of the only run has said how it ended."""
    return bool(list((stage.local() / "runs").glob("*/exit.json")))


async def test_a_run_of_an_agent_that_this_prloom_does_not_know_is_begun_again(bench: Bench, stage: Stage):
    bench.plays("print(answer(*ids))")
    stage.append(said("a"))

    await begun_by_a_dispatcher_that_ended(stage, "an-agent-of-the-future")

    await stage.tick()

    assert stage.bridge.said == ["On a."]


async def test_a_hooks_run_that_outlived_its_dispatcher_is_ended_for_nobody_waits_for_it(bench: Bench, stage: Stage):
    begun = bench.signal("begun")
    bench.plays(f"open({str(begun)!r}, 'w'); import time; time.sleep(600)")
    (stage.local() / "runs").mkdir()
    argv = stage.config.agents.command.argv
    request = RunRequest(prompt="Look.", rights="work", stage="worker", cwd=stage.root, root=stage.root, argv=argv)
    folder = stage.local() / "runs" / run_spec.new_id(stage.clock(), "worker")
    runner.prepare(folder, command, request, environ=bench.environ, limits=RunLimits())
    earlier = RunExchange(str(stage.root / "prloom/.local/exchange.db"), 1, StartForked(bench.environ))
    orphan = asyncio.create_task(earlier.run(folder))
    await stage.until(begun.exists)

    await stage.tick()

    assert (await orphan).trouble == "stopped"
    await earlier.close()
    assert json.loads((folder / "exit.json").read_text())["endedBy"] == "terminated"


# ---- surroundings


async def test_the_agent_gets_what_the_configuration_allows_of_the_environment_and_no_forges_token(
    bench: Bench, stage: Stage
):
    bench.environ = {
        **bench.environ,
        "MY_SETTING": "1",
        "MY_SECRET": "2",
        "GITHUB_TOKEN": "3",
        "DISGUISED": "ghp_0123456789abcdef",
    }
    bench.plays(
        'open(os.path.join(HERE, "env"), "w").write(json.dumps(dict(os.environ))); print(answer(*ids))',
        '[agents]\nenv = ["MY_SETTING", "DISGUISED"]\n',
    )

    await stage.take_in(said("a"))

    env = json.loads(bench.signal("env").read_text())
    assert env["MY_SETTING"] == "1"
    assert not {"MY_SECRET", "GITHUB_TOKEN", "DISGUISED"} & env.keys()


async def test_the_agent_works_in_the_plans_worktree_and_reads_the_operators_own_words(bench: Bench, stage: Stage):
    (stage.root / "prloom").mkdir(exist_ok=True)
    (stage.root / "prloom/planner.md").write_text("We use tabs here.")
    bench.plays("""
        open(os.path.join(HERE, "seen"), "w").write(os.getcwd() + "\\n" + prompt)
        print(answer(*ids))
    """)

    await stage.take_in(said("a"))

    cwd, _, prompt = bench.signal("seen").read_text().partition("\n")
    assert Path(cwd) == stage.paths.worktree("pr-7").resolve()
    assert "We use tabs here." in prompt


async def test_no_more_agents_run_at_once_than_is_allowed(bench: Bench, stage: Stage):
    stage.adopt("pr-8", pr=8)
    bench.plays(
        """
        import time
        mine = os.path.join(HERE, "at-work-" + ids[0])
        open(mine, "w")
        others = [name for name in os.listdir(HERE) if name.startswith("at-work")]
        open(os.path.join(HERE, "most"), "a").write(f"{len(others)}\\n")
        time.sleep(0.1)
        os.unlink(mine)
        print(answer(*ids))
        """,
        parallel=1,
    )
    stage.append(said("a"))

    await stage.take_in(said("b", pr=8), plan_id="pr-8")

    assert sorted(bench.asked) == [["a"], ["b"]]
    assert bench.signal("most").read_text() == "1\n1\n"


async def test_a_hook_may_run_an_agent_and_gets_its_final_message(bench: Bench, stage: Stage):
    bench.plays('print(len(prompt), "letters about", re.findall("[a-z]+[.]py", prompt))')

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        async def ask(plan: str, triage: TriageContext) -> None:
            message = await triage.run_agent("Look.", files=["app.py"], stage="worker")
            triage.emit_comment(Target("forge", {}), message)
            triage.mark_event_handled(triage.events[0].id)

    stage.plugin("asker", register)

    await stage.take_in(said("a"))

    assert stage.bridge.said == ["33 letters about ['app.py']"]
    (run,) = listing.spent(stage.paths, stage.clock())
    assert (run.stage, run.plugin) == ("worker", "asker")


async def test_an_agents_run_that_fails_fails_the_hook_that_asked_for_it(bench: Bench, stage: Stage):
    bench.plays("sys.exit(3)")

    def register(ctx: PluginContext) -> None:
        @ctx.hook("beforeTriage")
        async def ask(plan: str, triage: TriageContext) -> None:
            await triage.run_agent("Look.")

    stage.plugin("asker", register)

    await stage.take_in(said("a"))

    assert waits(bench)["a"]["owner"] == "asker"
    assert "the program ended with exit code 3" in waits(bench)["a"]["reason"]


async def test_a_daily_limit_holds_for_plugins_runs_of_several_plans_that_begin_at_the_same_time(
    bench: Bench, stage: Stage
):
    stage.adopt("pr-8", pr=8)
    bench.plays("print('seen')", config="[limits]\nmax_runs_per_day = 1\n", parallel=2)
    dispatcher = stage.dispatcher()

    async with stage.rounds_of(dispatcher) as again:
        await again()
        runs = [stage.triager.run_named(plan, "worker", "Look.") for plan in dispatcher.registry.runtimes.values()]
        ends = await asyncio.gather(*runs, return_exceptions=True)

    assert len(listing.spent(stage.paths, stage.clock())) == 1
    (refused,) = [str(end) for end in ends if isinstance(end, AgentError)]
    assert refused.startswith("the brake max_runs_per_day = 1 is on: 1 runs today")


# ---- an exchange that is away


async def test_events_of_a_run_whose_exchange_is_away_wait_with_the_reason_and_are_answered_once(
    bench: Bench, stage: Stage
):
    bench.plays("print(answer(*ids))")
    database = stage.root / "prloom/.local/exchange.db"
    database.mkdir(parents=True)
    stage.append(said("a"))
    for _ in range(2):  # the second dispatcher finds the run of the first
        await stage.tick()
        error = json.loads((stage.local() / "state.json").read_text())["lastError"]
        assert "the exchange of the runs cannot be opened" in error
        assert stage.open()["a"]["state"] == "pending"

    database.rmdir()
    for _ in range(2):
        await stage.tick()

    assert bench.asked == [["a"]]
    assert stage.bridge.said == ["On a."]
    assert "lastError" not in json.loads((stage.local() / "state.json").read_text())


async def test_what_is_no_file_among_the_notes_of_started_runs_stops_no_run(bench: Bench, stage: Stage):
    stage.root.joinpath("prloom/.local/started-runs/x").mkdir(parents=True)
    bench.plays("print(answer(*ids))")

    await stage.take_in(said("a"))

    assert stage.bridge.said == ["On a."]
