"""A stage on a real git repository with a real worker: a program that does what the test has scripted, run by run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import environment
from project import Project
from run_pools import KeptPools
from stage import Stage

from prloom.core.commands.requests import RequestVerb
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.work.todo_worker import TodoWorker
from prloom.model import record
from prloom.model.state import DispatchState
from prloom.model.work import Block

PROGRAM = """
import json, os, sys
from pathlib import Path

home = Path({home!r})
prompt = sys.stdin.read()
stage = "review" if '"verdict"' in prompt else "worker"
number = len(list(home.glob(f"{{stage}}-*.md")))
(home / f"{{stage}}-{{number}}.md").write_text(prompt)
script = json.loads((home / f"{{stage}}.json").read_text())
run = script[min(number, len(script) - 1)]
for name, content in run["files"].items():
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
exec(run["code"])
if run["answer"] is not None:
    print(json.dumps(run["answer"]))
sys.exit(run["code_of_exit"])
"""


@dataclass(frozen=True)
class Run:
    """What one run of the worker does: files it writes, Python that it executes, its answer and its exit code."""

    files: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    answer: Mapping[str, Any] | None = field(default_factory=lambda: {"outcome": "done", "summary": "It is done."})
    code_of_exit: int = 0


FAST = Run({"fast.py": "fast\n"}, answer={"outcome": "done", "summary": "It is fast.", "commitMessage": "Be fast"})
"""What a worker does that makes it fast."""


def write_script(home: Path, stage: str, runs: Iterable[Run]) -> None:
    """Write what the program there does in the runs of a stage."""
    (home / f"{stage}.json").write_text(json.dumps([asdict(run) for run in runs]))


class Workbench:
    """A plan for the branch `work` of a project, whose TODOs a scripted worker does."""

    def __init__(self, project: Project, home: Path) -> None:
        self.project = project
        self.stage = Stage(project.root)
        self.home = home
        programs = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self._environ = {"PATH": programs, "HOME": str(home)}
        self.pools = KeptPools(self._environ)
        home.mkdir()
        (home / "worker.py").write_text(PROGRAM.format(home=str(home)))
        self.configure()
        self.worktree = self.stage.paths.worktree("work")
        if not self.worktree.exists():
            for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
                project.git("config", name, value)
            project.adopt(self.stage)

    def configure(self, work: str = "", rest: str = "") -> None:
        """Write prloom.toml with these keys of [work], and other tables."""
        argv = json.dumps([*environment.AGENT_PYTHON, str(self.home / "worker.py")])
        self.stage.configure(
            f'[stages]\ndefault = "command"\n[agents.command]\nargv = {argv}\n[work]\n{work}\n{rest}\n'
        )

    def script(self, *runs: Run, stage: str = "worker") -> None:
        """Say what the runs do, one after the other; the last one is repeated."""
        write_script(self.home, stage, runs)

    def todo(self, *lines: str) -> None:
        """Add lines to the plan, as a person does."""
        with self.plan.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    async def tick(self, *, workers: int = 1) -> None:
        """Do one full tick, with so many workers at once, which know nothing of an earlier one."""
        self.employ(workers=workers)
        await self.stage.tick()

    def employ(self, *, workers: int = 1) -> None:
        """Give the stage a worker that knows nothing of an earlier one."""
        environ = self._environ
        pool = AgentPool(root=self.project.root, environ=environ, parallel=1, workers=workers, start_pool=self.pools)
        self.stage.todo_worker = TodoWorker(pool)

    async def ticks(self, count: int) -> None:
        """Do so many full ticks."""
        for _ in range(count):
            await self.tick()

    async def work_on(self, *lines: str, ticks: int = 1) -> None:
        """Add lines to the plan, as a person does, and do so many full ticks."""
        self.todo(*lines)
        await self.ticks(ticks)

    async def make_it_fast(self, *, ticks: int = 1) -> None:
        """Add the TODO to make it fast, which the worker does, and do so many full ticks."""
        self.script(FAST)
        await self.work_on("- [ ] Make it fast", ticks=ticks)

    async def carry_out(self, verb: RequestVerb, *ids: str, ticks: int = 1, **about: Any) -> None:
        """Write a request down, as a command does, and do so many full ticks."""
        self.stage.ask(verb, *ids, **about)
        await self.ticks(ticks)

    @property
    def plan(self) -> Path:
        """The plan's text."""
        return self.worktree / "prloom/.local/plan.md"

    @property
    def boxes(self) -> list[str]:
        """The boxes of the plan with their titles, without marks."""
        lines = self.plan.read_text().splitlines()
        return [line.partition(" <!--")[0] for line in lines if line.startswith("- [")]

    @property
    def state(self) -> DispatchState:
        """The state that the decisions amount to."""
        return record.from_wire(DispatchState, self.stage.state("work"))

    @property
    def status(self) -> str:
        """The stored status of the plan."""
        return str(json.loads((self.worktree / "prloom/.local/state.json").read_text())["status"])

    @property
    def block(self) -> Block:
        """The block of the plan, which has one."""
        block = self.state.block
        assert block is not None
        return block

    @property
    def commits(self) -> list[str]:
        """The subjects of the commits that the plan has made, oldest first."""
        return self.project.git("log", "--reverse", "--format=%s", "main..work").splitlines()

    def prompt(self, number: int, stage: str = "worker") -> str:
        """Return the prompt of a run; 0 is the first."""
        return (self.home / f"{stage}-{number}.md").read_text()

    def runs(self, stage: str = "worker") -> int:
        """Return how many runs there were."""
        return len(list(self.home.glob(f"{stage}-*.md")))

    def shown(self, path: str, commit: str = "work") -> str:
        """Return a file as a commit has it."""
        return self.project.git("show", f"{commit}:{path}")
