"""Let simulated days go by: plans, people, bots, CI that fails, usage limits and conflicts, checked after every hour.

`python tests/reliability/soak.py --plans 50 --days 28 --seed 1`; the seed makes all that happens, and is printed.
"""

# ruff: noqa: E402 - prloom is to be that of this tree, and not one that is installed

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "kit"), str(HERE.parents[1])]

import memory
import soak_checks
from played_runs import played_pool
from project import Project
from soak_agents import BAD, SHARED, Agents
from soak_forge import SoakForge
from soak_git import git, refs
from soak_people import People
from stage import Stage

from prloom.engine.plan.agents import AgentTriager
from prloom.engine.work.todo_worker import TodoWorker

DAY = 24
WIDE = 7
WINDING_DOWN = 30
"""Times, at most, that people answer what still waits, some hours apart."""

CONFIG = f"""
[stages]
default = "claude"
[work]
checks = ["! grep -rqs {BAD} work"]
rebase = "auto"
[limits]
max_runs_per_plan_per_day = 12
max_runs_per_day = 150
"""


class Soak:
    """A repository with a remote and a forge, in which plans begin day by day."""

    def __init__(self, folder: Path, *, seed: int, plans: int, days: int) -> None:
        self.hours = days * 24
        self._chance = random.Random(f"{seed}/soak")
        self._starts = sorted(self._chance.randrange(max(1, self.hours * 2 // 3)) for _ in range(plans))
        self.project = Project(folder / "project")
        self.root = self.project.root
        self.bare = folder / "remote.git"
        self._prepare(folder)
        self.stage = Stage(self.root)
        self.stage.configure(CONFIG)
        self.forge = SoakForge(str(seed))
        self.stage.bridge, self.stage.bridges = self.forge, [self.forge]
        self.people = People(str(seed), self.stage, self.forge, self.bare, folder / "clone")
        self.agents = Agents(str(seed), self.stage.clock, self.people.meanwhile)
        self._environ = {"PATH": f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)}
        self.begun: list[str] = []
        self.wrong: list[str] = []
        self.checks = soak_checks.Checks(self)

    def _prepare(self, folder: Path) -> None:
        for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
            self.project.git("config", name, value)
        (self.root / SHARED).write_text("base\n")
        git(self.root, "add", SHARED)
        git(self.root, "commit", "--quiet", "-m", "Share")
        git(self.root, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(self.bare))
        git(self.bare, "config", "core.logAllRefUpdates", "always")
        git(self.root, "remote", "add", "origin", str(self.bare))
        git(self.root, "push", "--quiet", "origin", "main")
        (folder / "bin").mkdir()
        (folder / "bin/claude").write_text("#!/bin/sh\nexit 1\n")
        (folder / "bin/claude").chmod(0o755)

    # ---- time goes by

    async def run(self) -> None:
        """Let all days go by, wind down, and check everything; each day has a dispatcher of its own."""
        for day in range(self.hours // DAY):
            async with self._dispatcher() as work:
                for hour in range(day * DAY, (day + 1) * DAY):
                    self._begin_due(hour)
                    self.people.hour(self.begun)
                    await self._after(work, hours=1)
        await self._wind_down()
        self.wrong += self.checks.at_the_end()

    def _begin_due(self, hour: int) -> None:
        while self._starts and self._starts[0] <= hour:
            self._starts.pop(0)
            self._begin()

    def _begin(self) -> None:
        """Put a new plan into the inbox."""
        plan = f"plan-{len(self.begun) + 1}"
        todos = "".join(f"- [ ] {plan} step {n + 1}\n" for n in range(self._chance.randint(1, 5)))
        inbox = self.root / "prloom/.local/inbox"
        inbox.mkdir(parents=True, exist_ok=True)
        (inbox / f"{plan}.md").write_text(f"---\nstatus: queued\n---\n# {plan}\n\nWhat for.\n\n## TODO\n{todos}")
        self.begun.append(plan)

    def _dispatcher(self) -> AbstractAsyncContextManager[Callable[[], Awaitable[None]]]:
        """Have a dispatcher that knows nothing of an earlier one, and a pool that does not either."""
        self.pool = played_pool(
            self.agents.play, self.stage.clock, root=self.root, environ=self._environ, parallel=4, workers=4
        )
        self.stage.triager = AgentTriager(self.pool, self._text)  # type: ignore[assignment]
        self.stage.todo_worker = TodoWorker(self.pool)
        return self.stage.rounds()

    async def _after(self, work: Callable[[], Awaitable[None]], *, hours: int) -> None:
        await work()
        self.forge.see(refs(self.bare))
        self.wrong += self.checks.hourly()
        self.stage.clock.advance(hours=hours)

    def _text(self, plan: str) -> str:
        return (self.stage.local(plan) / "plan.md").read_text()

    async def _wind_down(self) -> None:
        """Nothing new happens; people let go on what is stopped, and merge what is ready, and then leave it alone.

        What they have let go on last takes its time: a plan that goes on has not ended.
        """
        self.forge.down = self.forge.lossy = False
        async with self._dispatcher() as work:
            for _ in range(WINDING_DOWN):
                await self._after(work, hours=WIDE)
                self.people.answer(self.begun)
                if self.checks.all_ended():
                    break
            for _ in range(WINDING_DOWN):
                await self._after(work, hours=WIDE)
                if not self.checks.unended():
                    break

    def forge_state(self, plan: str) -> str:
        """Return what became of the pull request of a plan that prloom has given up."""
        states = [pull.state for pull in self.forge.pulls.values() if pull.branch == plan]
        return states[-1] if states else "unended: gone"

    def report(self) -> dict[str, Any]:
        """Return what happened, in numbers."""
        steps = self.checks.verdicts
        return {
            "plans": len(self.begun),
            "hours": self.hours,
            "ends": dict(Counter(self.checks.ends().values())),
            "steps": dict(steps),
            "runs": self.agents.totals.runs,
            "behaviours": dict(self.agents.totals.behaviours),
            "pull requests": len(self.forge.pulls),
            "posts": len(self.forge.posts),
            "events": len(self.forge.news),
            "commits of people": len(self.people.pushed.commits),
        }


class Bugs(logging.Handler):
    """Collects what prloom calls a bug, and every traceback."""

    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.found = found

    def emit(self, entry: logging.LogRecord) -> None:
        if entry.exc_info is not None or "a bug" in entry.getMessage():
            self.found.append(f"a bug: {entry.getMessage()} {entry.exc_info[1] if entry.exc_info else ''!r}")


def played(folder: Path, *, seed: int, plans: int, days: int) -> Soak:
    """Let the days go by in a folder, and return what there is then; `wrong` is all that went wrong."""
    made = Soak(folder.resolve(), seed=seed, plans=plans, days=days)
    bugs = Bugs(made.wrong)
    logging.root.addHandler(bugs)
    try:
        asyncio.run(made.run())
    finally:
        logging.root.removeHandler(bugs)
    return made


def main(argv: Sequence[str]) -> int:
    """Let the days go by, and print one JSON document; the exit code says whether anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=50)
    parser.add_argument("--days", type=int, default=28)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args(argv)
    logging.lastResort = None
    memory.keep_temporary_files()
    begun = time.monotonic()
    with TemporaryDirectory(prefix="prloom-soak-") as folder:
        made = played(Path(folder), seed=given.seed, plans=given.plans, days=given.days)
        report = made.report()
    told = {"seed": given.seed, **report, "seconds": round(time.monotonic() - begun, 1), "wrong": made.wrong}
    print(json.dumps(told, indent=1))
    return 1 if made.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
