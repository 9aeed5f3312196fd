"""Make what is measured: events, repositories with plans and their history, and dispatchers at work on them."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests" / "kit"))

from msgspec.structs import replace
from stage import Stage

from prloom.api import Author, Event, Target
from prloom.engine.bus import plans
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.plan import admission
from prloom.engine.plan.rules import rules
from prloom.engine.plan.runtime import PlanRuntime
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.polling import poll
from prloom.model import record
from prloom.model.decision import Change
from prloom.model.plan import Plan
from prloom.storage import envelope
from prloom.storage.safe_dir import SafeDir

PLAN = "work"
PRLOOM = (sys.executable, "-m", "prloom")
AT = "2026-01-01T00:00:00.000Z"
BATCH = 2_000
BODY = "Could you look at this line again, please? It seems to be off by one when the list is empty."
_GIT = ("git", "-c", "user.name=b", "-c", "user.email=b@example.invalid", "-c", "gc.auto=0")


def comments(numbers: range) -> list[Event]:
    """Return comments as a forge gives them, by somebody who is trusted."""
    return [
        Event(
            id=f"github:comment:{number}",
            source="forge",
            type="pr_comment",
            title="a comment",
            body=BODY,
            reply_to=Target("forge", {"pr": 7, "comment": number}),
            context={"remoteId": number},
            author=Author("ann", "write"),
            url=f"https://forge.example/ada/engine/pull/7#comment-{number}",
            created_at="2026-01-01T00:00:00Z",
            pr=7,
        )
        for number in numbers
    ]


def lines(numbers: range) -> list[bytes]:
    """Return the comments as lines of a journal, without their newlines."""
    return [envelope.encode("event", record.to_wire(event), AT) for event in comments(numbers)]


def slices(count: int, size: int = BATCH, start: int = 0) -> Iterator[range]:
    """Cut numbers into ranges."""
    for first in range(start, start + count, size):
        yield range(first, min(first + size, start + count))


def write_events(file: Path, count: int) -> None:
    """Write a journal of new events, as another program would."""
    with file.open("wb") as out:
        for numbers in slices(count):
            out.write(b"".join(line + b"\n" for line in lines(numbers)))


def repository(root: Path, ids: Sequence[str] = (PLAN,), config: str = "", **plugins: str) -> Path:
    """Make a git repository with a plan for each branch, and plugins of the project's own; return its root."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main", ".")
    git(root, "commit", "-q", "--allow-empty", "-m", "begin")
    enabled = ", ".join(f'"{name}"' for name in plugins)
    (root / "prloom.toml").write_text(f"[plugins]\nenabled = [{enabled}]\n{config}")
    (root / "prloom/plugins").mkdir(parents=True)
    for name, code in plugins.items():
        (root / f"prloom/plugins/{name}.py").write_text(code)
    _adopt(root, ids)
    return root


def git(root: Path, *args: str) -> None:
    """Run git."""
    subprocess.run([*_GIT, *args], cwd=root, check=True, capture_output=True)


def _adopt(root: Path, ids: Sequence[str]) -> None:
    """Adopt the first branch as the command does, and make the others like it: git takes its time for hundreds."""
    from prloom.engine.adoption import adopt  # noqa: PLC0415 - not all that is measured has a repository
    from prloom.workspace import repository as repositories  # noqa: PLC0415

    git(root, "branch", ids[0])
    adopt.adopt_branch(
        repositories.find(root), Stage(root).config, ids[0], plan_id=ids[0], preset=None, now=datetime.now(UTC)
    )
    for plan in ids[1:]:
        _copy(root / ".git", root / "prloom/.local/worktrees", ids[0], plan)


def _copy(git_dir: Path, home: Path, first: str, plan: str) -> None:
    shutil.copy(git_dir / "refs/heads" / first, git_dir / "refs/heads" / plan)
    shutil.copytree(git_dir / "worktrees" / first, git_dir / "worktrees" / plan)
    shutil.copytree(home / first, home / plan)
    for file in (git_dir / f"worktrees/{plan}/HEAD", git_dir / f"worktrees/{plan}/gitdir", home / plan / ".git"):
        text = file.read_text().replace(f"/{first}\n", f"/{plan}\n").replace(f"/{first}/.git", f"/{plan}/.git")
        file.write_text(text)
    state = home / plan / "prloom/.local/state.json"
    with SafeDir.make(state.parent) as local:
        state.unlink()
        plans.save(local, Plan(id=plan, branch=plan))


def choose_preset(root: Path, preset: str, plan: str = PLAN) -> None:
    """Have a plan use a preset, as if it had been adopted with it."""
    with SafeDir.make(root / "prloom/.local/worktrees" / plan / "prloom/.local") as local:
        plans.save(local, replace(plans.load(local), preset=preset))


def bus(root: Path, plan: str = PLAN) -> Path:
    """Return the folder of a plan's bus."""
    return root / f"prloom/.local/worktrees/{plan}/prloom/.local/bus"


def append(root: Path, numbers: range, plan: str = PLAN) -> None:
    """Append comments to a plan's bus in one write, as another program would."""
    with (bus(root, plan) / "events.jsonl").open("ab", buffering=0) as file:
        file.write(b"".join(line + b"\n" for line in lines(numbers)))


@contextmanager
def runtime(root: Path, plan: str = PLAN) -> Iterator[PlanRuntime]:
    """Have a plan open as the dispatcher has it."""
    stage = Stage(root)
    general = rules(stage.config)
    board = PlanRegistry(stage.paths, general, stage.clock)
    board.update(general)
    try:
        yield board.runtimes[plan]
    finally:
        board.close()


def history(root: Path, count: int, plan: str = PLAN) -> None:
    """Have a plan take in events and be done with them, as a dispatcher is: what it leaves is what it would leave."""
    with runtime(root, plan) as at_work:
        for numbers in slices(count):
            poll._append(at_work, comments(numbers))  # noqa: SLF001 - it is what a poll does with a page
            while admission.take_in(at_work, lambda _: None):
                pass
            done = tuple(Change(event_id=i, verdict="handled", state="handled") for i in at_work.event_store.state.open)
            at_work.event_store.commit("beforeTriage", "bench", changes=done)
            at_work.event_store.save()


async def one_round(dispatcher: Dispatcher) -> float:
    """Tick, do all that there is to do by then, and return how long that took in seconds."""
    begun = time.perf_counter()
    dispatcher.tick()
    while dispatcher._tasks or dispatcher._queue:  # noqa: SLF001 - no command does one round of a dispatcher that goes on
        if not dispatcher._queue:  # noqa: SLF001
            await dispatcher._tasks.wait()  # noqa: SLF001
        dispatcher._work_through(dispatcher._queue.drain())  # noqa: SLF001
        await asyncio.sleep(0)
    return time.perf_counter() - begun


class Looping:
    """An event loop that goes on from one measure to the next."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - whatever the work returns
        """Run something in it."""
        return self.loop.run_until_complete(work)

    def close(self) -> None:
        """End it."""
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


@contextmanager
def started(root: Path, *launcher: str) -> Iterator[subprocess.Popen[bytes]]:
    """Have the real dispatcher at work; `launcher` is a command that runs it in its own way."""
    with (root / "log").open("ab") as log:
        process = subprocess.Popen([*launcher, *PRLOOM, "start"], cwd=root, stdout=log, stderr=log, env=environ(root))
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def environ(root: Path) -> dict[str, str]:
    """Return the environment of a command: nothing of this machine's own configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PRLOOM_", "GITHUB_", "GH_"))}
    return {**kept, "PRLOOM_HOME": str(root.with_name(f"{root.name}-home"))}
