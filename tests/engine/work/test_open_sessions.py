"""`prloom open`: while a person has the worktree of a plan, prloom does not work there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import executable
import pytest
from workbench import Run, Workbench

from prloom.agents import interactive, registry
from prloom.engine.bus import plans
from prloom.engine.operator import sandboxed_command, session
from prloom.engine.views import status
from prloom.errors import AgentError, PrloomError, StorageError
from prloom.storage import plan_session
from prloom.storage.paths import RepositoryPaths

ADDING = Run({"fast.py": "fast\n"}, answer={"outcome": "done", "summary": "s", "commitMessage": "Add fast"})


@pytest.fixture
def where(bench: Workbench) -> RepositoryPaths:
    bench.script(ADDING)
    return plans.locate(bench.project.root, bench.stage.config.worktrees_dir)


async def test_no_todo_is_worked_on_until_the_session_ends(bench: Workbench, where: RepositoryPaths):
    bench.todo("- [ ] first")

    with plan_session.reserved(where.root, "work", "shell", bench.stage.clock()):
        await bench.tick()
        (plan,) = status.read(where, bench.stage.clock()).plans
        assert (bench.runs(), bench.boxes) == (0, ["- [ ] first"])
        assert plan.session
        assert (plan.session.kind, plan.session.pid) == ("shell", os.getpid())

    await bench.tick()
    assert bench.commits == ["Add fast"]
    assert not status.read(where, bench.stage.clock()).plans[0].session


def test_a_session_that_was_killed_holds_nothing(bench: Workbench, where: RepositoryPaths):
    code = (
        "import sys, time, datetime, pathlib\nfrom prloom.storage import plan_session\n"
        "with plan_session.reserved(pathlib.Path(sys.argv[1]), 'work', 'agent', datetime.datetime.now(datetime.UTC)):\n"
        "    print('open', flush=True)\n    time.sleep(300)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(where.root)], stdout=subprocess.PIPE, text=True) as opened:
        assert opened.stdout is not None
        assert opened.stdout.readline() == "open\n"
        assert plan_session.take_for_work(where.root, "work") is None
        opened.send_signal(signal.SIGKILL)

    assert plan_session.sessions(where.root) == {}
    fd = plan_session.take_for_work(where.root, "work")
    assert fd is not None
    os.close(fd)


def test_a_session_is_refused_while_prloom_works_there_and_in_a_second_terminal(
    bench: Workbench, where: RepositoryPaths
):
    held = plan_session.take_for_work(where.root, "work")
    assert held is not None
    with pytest.raises(StorageError, match=r"prloom works on plan work just now; wait .*`prloom pause work`"):
        session.run(where, "work", "shell", ["true"])
    os.close(held)

    opened = plan_session.reserved(where.root, "work", "shell", bench.stage.clock())
    with opened, pytest.raises(StorageError, match=rf"plan work is open in a shell by process {os.getpid()} since"):
        session.run(where, "work", "shell", ["true"])


def test_the_program_runs_in_the_worktree(bench: Workbench, where: RepositoryPaths):
    code = session.run(where, "work", "shell", [sys.executable, "-c", "open('mine.txt', 'w').close(); exit(3)"])

    assert code == 3
    assert (bench.worktree / "mine.txt").exists()
    with pytest.raises(PrloomError, match="/nowhere cannot be started: No such file or directory"):
        session.run(where, "work", "shell", ["/nowhere"])


@pytest.mark.parametrize(
    ("name", "resumed"),
    [
        ("claude", ["claude", "--resume", "s-1", "--model", "m"]),
        ("codex", ["codex", "--model", "m", "resume", "s-1"]),
        ("opencode", ["opencode", "--session", "s-1", "--model", "m"]),
        ("gemini", ["gemini", "--resume", "s-1", "--model", "m"]),
    ],
)
def test_an_agent_goes_on_with_a_session_in_its_interactive_mode(name: str, resumed: list[str]):
    assert interactive.argv(registry.get(name), session="s-1", model="m") == resumed
    assert interactive.argv(registry.get(name), prompt="Go on.")[-1] == "Go on."


def test_an_agent_without_an_interactive_mode_is_refused(bench: Workbench, where: RepositoryPaths):
    with pytest.raises(AgentError, match="prloom knows no interactive mode of the agent command"):
        session.agent(where, bench.stage.config, "work", {})


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Put a program of this name on PATH, and return the environment."""

    def make(name: str) -> dict[str, str]:
        file = executable.write(tmp_path / "bin" / name, "#!/bin/sh\n")
        return {"PATH": str(file.parent)}

    return make


def test_the_last_session_of_the_worker_is_the_one_to_go_on_with(
    bench: Workbench, where: RepositoryPaths, program: Callable[[str], dict[str, str]]
):
    environ = program("claude")
    bench.stage.configure('[stages]\nworker = "claude"\n')
    work = {"id": "t-1", "title": "t", "agent": "claude", "session": "s-7"}
    line = {
        "ts": "2026-11-23T00:00:00.000Z",
        "kind": "decision",
        "schemaVersion": 1,
        "data": {
            "seq": 1,
            "stage": "work",
            "by": "claude",
            "work": {"todoId": "t-1", "verdict": "failed", "work": work},
        },
    }
    (bench.worktree / "prloom/.local/bus/decisions.jsonl").write_text(json.dumps(line, separators=(",", ":")) + "\n")

    found = session.agent(where, bench.stage.config, "work", environ)

    assert found.argv == [f"{environ['PATH']}/claude", "--resume", "s-7"]
    with pytest.raises(AgentError, match="claude is not on PATH; install it, or use --shell"):
        session.agent(where, bench.stage.config, "work", {"PATH": "/nowhere"})


def test_what_an_agent_changes_for_a_person_is_in_the_worktree_or_kept(
    bench: Workbench, where: RepositoryPaths, tmp_path: Path
):
    program = executable.write(tmp_path / "bin/claude", "#!/bin/sh\necho by the agent >> readme.txt\n")
    environ = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    bench.stage.configure('[stages]\nworker = "claude"\n[sandbox]\nmode = "off"\n')

    assert sandboxed_command.run_agent(where, bench.stage.config, "work", environ) == (0, True)
    assert (bench.worktree / "readme.txt").read_text().endswith("by the agent\n")
    assert sandboxed_command.run_agent(where, bench.stage.config, "work", {**environ, "PATH": f"{idle(tmp_path)}"}) == (
        0,
        False,
    )

    (bench.worktree / "readme.txt").write_text("mine\n")
    with pytest.raises(PrloomError, match="is not in its worktree, but kept as commit") as raised:
        sandboxed_command.run_agent(where, bench.stage.config, "work", environ)

    (kept,) = re.findall(r"kept as commit (\w+):", str(raised.value))
    assert bench.project.git("show", f"{kept}:readme.txt").endswith("by the agent")
    assert (bench.worktree / "readme.txt").read_text() == "mine\n"


@pytest.mark.parametrize("is_switched", [True, False])
def test_what_cannot_be_brought_into_the_worktree_is_named_and_stays(
    bench: Workbench, where: RepositoryPaths, tmp_path: Path, *, is_switched: bool
):
    named = "-c user.name=a -c user.email=a"
    script, told = f"git init -q new; git -C new {named} commit -qm a --allow-empty", "git cannot keep new"
    if is_switched:
        script, told = "echo x > new", "the worktree is not on the plan's branch"
        bench.project.git("-C", str(bench.worktree), "switch", "-qc", "other")
    program = executable.write(tmp_path / "bin/claude", f"#!/bin/sh\n{script}\n")
    environ = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    bench.stage.configure('[stages]\nworker = "claude"\n[sandbox]\nmode = "off"\n')

    with pytest.raises(PrloomError, match=rf"is not in its worktree, but kept as commit \w+: .*{told}"):
        sandboxed_command.run_agent(where, bench.stage.config, "work", environ)

    assert (where.clone("work") / "new").exists()


def idle(tmp_path: Path) -> str:
    """Return a PATH with an agent that changes nothing."""
    return f"{executable.write(tmp_path / 'idle/claude', '#!/bin/sh').parent}:{os.environ['PATH']}"
