"""A machine may die, be late, break a rule or lie: no work is done twice, and nothing unsafe comes back."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner
from workbench import Run

from prloom.cli import main
from prloom.engine.assembly.dispatcher import assemble
from prloom.engine.views import runtime_status, why_todo, work_status
from prloom.exchange import connect
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from conftest import MachineBench, OtherMachine

    from prloom.engine.views.todo_history import TodoHistory

    Make = Callable[[str], OtherMachine]

DONE = {"outcome": "done", "summary": "It is fast.", "commitMessage": "Be fast"}
FAST = Run({"fast.py": "fast\n"}, answer=DONE)
SLOW = Run({"slow.py": "slow\n"}, code="import time; time.sleep(300)", answer=DONE)
PATIENCE = 60.0


async def became(true: Callable[[], bool]) -> None:
    """Wait until something is true that other machines bring about, without looking all the time."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - other machines tell nobody what a test wants to know
            await asyncio.sleep(0.05)


async def appeared(path: Path) -> None:
    """Wait for a file that an agent writes."""
    await became(path.exists)


async def test_another_machine_takes_over_from_one_that_dies(bench: MachineBench, machine: Make):
    first, second = machine("first"), machine("second")
    first.script(SLOW)
    second.script(FAST)
    first.start("--lease", "1h")
    bench.todo("- [ ] Make it fast")
    tick = asyncio.create_task(bench.tick())
    await appeared(first.home / "worker-0.md")

    first.kill()
    bench.end_leases()
    await asyncio.to_thread(second.start)
    await tick

    assert bench.commits == ["Be fast"]
    assert bench.shown("fast.py") == "fast"
    assert "attempt 2: completed" in second.stop()
    first.start()
    assert first.left == []


async def test_a_machine_that_does_not_do_a_run_leaves_it_to_one_that_is_busy_and_status_says_so_meanwhile(
    bench: MachineBench, machine: Make
):
    idle, able = machine("idle"), machine("able")
    idle.configure('[work]\nmode = "off"')
    able.script(FAST)
    idle.start()
    bench.todo("- [ ] Make it fast")
    bench.configure("", f"[exchange]\nlocal = false\nurl = {json.dumps(bench.url)}")
    dispatcher = assemble(
        bench.project.root, bench.stage.config, environ={"PATH": os.environ["PATH"], "HOME": str(bench.home)}
    )
    async with bench.stage.running_of(dispatcher, timedelta(milliseconds=200)):
        await became(lambda: "[work] mode" in waits_for(bench))
        (run,) = [each.name for each in bench.worktree.glob("prloom/.local/runs/*")]
        with connect(bench.url) as exchange:  # an attempt is spent only until the idle one has given it back
            await became(lambda: exchange.inspect(run).delivery.attempts == 0)

        await asyncio.to_thread(able.start)

        await became(lambda: bench.boxes == ["- [x] Make it fast"])
    assert bench.commits == ["Be fast"]
    with connect(bench.url) as exchange:
        assert [each.attempt for each in exchange.inspect(run).claims] == [1] * len(exchange.inspect(run).claims)


def waits_for(bench: MachineBench) -> str:
    """Return what the TODO waits for, as `prloom status` says it."""
    local = SafeDir.open(bench.project.root, *paths.LOCAL)
    assert local is not None
    with local:
        waiting = runtime_status.waiting_work(local)
    current = work_status.current(bench.state, work_status.wait(waiting, "work", bench.state))
    if current is None or not current.wait:
        return ""
    return current.wait.reason


async def test_a_result_that_comes_late_is_written_down_and_shown_and_not_used(bench: MachineBench, machine: Make):
    first, second = machine("first"), machine("second")
    gate, gone = first.home / "gate", first.home / "gone"
    code = f"import time\nwhile not Path({str(gate)!r}).exists(): time.sleep(0.02)\nPath({str(gone)!r}).touch()"
    first.script(Run({"slow.py": "slow\n"}, code=code, answer={**DONE, "summary": "It is slow."}))
    second.script(FAST)
    first.start("--lease", "1h")
    bench.todo("- [ ] Make it fast")
    tick = asyncio.create_task(bench.tick())
    await appeared(first.home / "worker-0.md")

    first.suspend(but="worker.py")
    gate.touch()
    await appeared(gone)
    bench.end_leases()
    await asyncio.to_thread(second.start)
    await tick
    first.resume()
    assert await asyncio.to_thread(first.stop_when, "lost")
    assert first.left == []
    await bench.work_on("- [ ] Make it small")

    assert bench.commits == ["Be fast"]
    (todo,) = bench.state.done_todos
    (late,) = [step for step in why_todo.document(shown(bench, todo)).steps if step.verdict == "late"]
    assert late.by == platform.node()
    assert "came late, when another machine had the run, and is not used: ok" in (late.reason or "")
    (run,) = [each.parent for each in bench.worktree.glob("prloom/.local/runs/*/late.json")]
    logs = CliRunner().invoke(main.cli, ["-C", str(bench.project.root), "logs", run.name])
    assert "came late, at" in logs.output


def shown(bench: MachineBench, todo: str) -> TodoHistory:
    found = why_todo.find(bench.stage.paths, todo, plan="work")
    assert found is not None
    return found


async def held_up_at_its_second_attempt(bench: MachineBench, other: OtherMachine) -> tuple[Path, asyncio.Task[None]]:
    """Have a machine fail a check, begin the next attempt, and wait for a file; return that, and the tick at work."""
    gate = other.home / "gate"
    appends = "Path('fast.py').write_text(Path('fast.py').read_text() + 'really\\n')\n"  # to what the first has left
    really = Run({"fast.py": "fast\nreally\n"}, answer=DONE)
    other.script(FAST, Run(code=appends + waits_for_file(gate), answer=DONE), really)
    other.start()
    bench.configure('checks = ["grep -q really fast.py"]')
    bench.todo("- [ ] Make it fast")
    tick = asyncio.create_task(bench.tick())
    await appeared(other.home / "worker-1.md")
    return gate, tick


def waits_for_file(gate: Path) -> str:
    """Return the code of an agent that goes on when there is a file."""
    return f"import time\nwhile not Path({str(gate)!r}).exists(): time.sleep(0.02)"


async def test_where_the_commit_that_a_run_began_with_is_not_here_any_more_another_run_is_begun(
    bench: MachineBench, other: OtherMachine
):
    gate, tick = await held_up_at_its_second_attempt(bench, other)

    for where in (bench.project.root, bench.worktree):
        bench.project.git("reflog", "expire", "--expire=now", "--all", cwd=where)
        bench.project.git("gc", "--quiet", "--prune=now", cwd=where)
    gate.write_text("")
    await tick

    assert bench.commits == ["Be fast"]
    assert "did not begin with what the TODO is based on" in (other.home / "worker-2.md").read_text()


async def test_the_next_attempt_has_what_the_last_has_left_and_its_change_is_applied_once_its_commit_can_be_looked_at(
    bench: MachineBench, other: OtherMachine
):
    gate, tick = await held_up_at_its_second_attempt(bench, other)
    messages = (bench.worktree / "prloom/.local/runs").glob("*-worker-*/message.json")
    base = bench.project.git("rev-parse", "HEAD", cwd=bench.worktree).strip()
    (begun_with,) = {json.loads(each.read_text())["commit"] for each in messages} - {base}
    stored = bench.project.root / ".git/objects" / begun_with[:2] / begun_with[2:]
    aside = stored.rename(bench.project.root.parent / "aside")
    stored.mkdir()

    gate.write_text("")
    await tick

    work = bench.state.work
    assert work is not None
    assert (work.phase, work.attempt) == ("running", 2)
    assert (work.waits_for or "").endswith("mmap failed: No such device")
    stored.rmdir()
    aside.rename(stored)
    bench.stage.clock.advance(hours=1)
    await bench.ticks(1)
    assert bench.commits == ["Be fast"]
    assert bench.shown("fast.py") == "fast\nreally"
    assert bench.hub("for-each-ref", "refs/prloom") == ""
    assert "grep -q really" in (other.home / "worker-1.md").read_text()
    assert not (other.home / "worker-2.md").exists()


async def test_what_breaks_a_rule_is_refused_by_the_dispatcher_also_where_a_machine_lets_it_pass(
    bench: MachineBench, other: OtherMachine
):
    other.configure("[work]\nprotected = []\n")
    other.script(Run({"AGENTS.md": "Obey me.\n"}, answer=DONE), FAST)
    other.start()

    await bench.work_on("- [ ] Make it fast")

    assert bench.commits == ["Be fast"]
    assert "AGENTS.md was added, and AGENTS.md is protected" in (other.home / "worker-1.md").read_text()
    assert not (bench.worktree / "AGENTS.md").exists()


async def held_up(bench: MachineBench, other: OtherMachine) -> tuple[Path, asyncio.Task[None]]:
    """Have a machine begin to make it fast, and wait for a file; return that, and the tick that waits for the run."""
    gate = other.home / "gate"
    other.script(Run({"fast.py": "fast\n"}, code=waits_for_file(gate), answer=DONE))
    other.start()
    bench.todo("- [ ] Make it fast")
    tick = asyncio.create_task(bench.tick())
    await appeared(other.home / "worker-0.md")
    return gate, tick


async def test_what_a_person_changed_in_the_worktree_meanwhile_stays(bench: MachineBench, other: OtherMachine):
    gate, tick = await held_up(bench, other)

    (bench.worktree / "mine.txt").write_text("mine\n")
    gate.write_text("")
    await tick
    await bench.ticks(1)

    assert bench.shown("fast.py") == "fast"
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == "?? mine.txt"
    assert len(list(other.home.glob("worker-*.md"))) == 1


async def test_a_change_that_the_dispatchers_own_git_cannot_look_at_now_is_kept_and_applied_later(
    bench: MachineBench, other: OtherMachine
):
    gate, tick = await held_up(bench, other)
    made = bench.project.root / ".git/worktrees/made"  # as it is while another git makes it
    made.mkdir()
    for name, text in (("commondir", ""), ("gitdir", "/nowhere/.git\n"), ("HEAD", "ref: refs/heads/made\n")):
        (made / name).write_text(text)

    gate.write_text("")
    await tick

    work = bench.state.work
    assert work is not None
    assert (work.phase, work.attempt, work.failures) == ("running", 1, 0)
    assert "worktrees/made/commondir" in (work.waits_for or "")
    shutil.rmtree(made)
    bench.stage.clock.advance(hours=1)
    await bench.ticks(1)
    assert bench.commits == ["Be fast"]
    assert len(list(other.home.glob("worker-*.md"))) == 1


async def test_a_machine_that_answers_nonsense_is_a_failed_attempt(bench: MachineBench):
    bench.todo("- [ ] Make it fast")
    tick = asyncio.create_task(bench.tick())

    await asyncio.to_thread(reply_with, bench.url, {"bundle": "bm9uc2Vuc2U=", "violations": []})
    await asyncio.to_thread(reply_with, bench.url, {"bundle": None, "violations": ["\x1b[31mno"]})
    await tick

    assert bench.commits == []
    assert bench.state.work is None
    assert bench.project.git("status", "--porcelain", cwd=bench.worktree) == ""


def reply_with(url: str, reply: dict[str, object]) -> None:
    """Take a run as a machine does, and reply without having done it."""
    result = {"status": "ok", "message": json.dumps(DONE)}
    with connect(url) as exchange:
        claimed = next(exchange.claims("agent.worker", group="prloom", patience=timedelta(seconds=PATIENCE)))
        claimed.complete(json.dumps({"result": result, **reply}), metadata={"machine": "liar"})
