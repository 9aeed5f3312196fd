"""The story of a plan's work: a comment becomes a TODO, a person adds another, and both become commits on a remote.

Others push to the branch just before prloom does, each time; a check fails once. Git, the agent and the checks are
programs of their own, and outlive the dispatcher that is killed.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import calls
from calls import Call
from story import START, Story, clear, json_of, play, rebuilt

from prloom.agents import registry, run_folder, run_message, run_status, runner
from prloom.agents.run_folder import ProcessExit
from prloom.agents.run_message import RunReply
from prloom.config import loading
from prloom.core.work import commit_message
from prloom.engine import configured_bridges
from prloom.engine.adoption import adopt
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.agents import AgentTriager
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.rules import rules
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.runs.run_end import RunEnd
from prloom.engine.views import doctor
from prloom.engine.work.todo_worker import TodoWorker
from prloom.extensions.bridges import LoadedBridges
from prloom.storage.paths import RepositoryPaths
from prloom.workspace import repository

AGENT = "agent"
"""The protocol of the starts of programs; that of a command of git is `git` and its name."""

_LOOKS = frozenset(
    ("cat-file", "config", "diff-tree", "for-each-ref", "log", "ls-files", "ls-tree", "merge-base", "remote")
) | {"rev-list", "rev-parse", "status", "var"}
"""The commands of git that change nothing."""

ROUNDS = 20
MOST_RUNS = 6
"""Runs of the worker: three, and one more for each kill that leaves it unknown whether one was started."""

AGENT_PROGRAM = """
prompt=$(cat)
case $PRLOOM_STAGE in
triage)
    id=$(printf '%s\\n' "$prompt" | sed -n '/BEGIN facts of event/{n;s/^id: //p;}')
    printf '{"items": [{"eventId": %s, "verdict": "todo"}], ' "$id"
    printf '"todos": [{"title": "Make it fast", "eventIds": [%s]}]}' "$id" ;;
worker)
    case $prompt in
    *'Make it small'*) echo small >small.py; did='Be small' ;;
    *'the check'*failed*) echo fast >fast.py; did='Be fast' ;;
    *) echo slow >fast.py; did='Be fast' ;;
    esac
    printf '{"outcome": "done", "summary": "It is done.", "commitMessage": "%s"}' "$did" ;;
esac
"""
CONFIG = """base_branch = "main"
[bridges.github]
enabled = false
[stages]
default = "command"
[agents.command]
argv = ["sh", "{agent}"]
[work]
checks = ["! test -e fast.py || grep fast fast.py"]
"""
SUPERVISOR = """
folder=$1 form=$2
cd "$3" || exit
shift 3
"$@"
printf "$form" $? >"$folder/.exit"
mv "$folder/.exit" "$folder/exit.json"
"""
"""Runs an agent and says how it ended, as a worker of the exchange does, which takes a Python to start."""

_CODE = 4242
_ENDED = ProcessExit(code=_CODE, ended_by="exit", started_at=START, ended_at=START, duration_ms=1)


class ShellPool(AgentPool):
    """Real runs of real programs, but for their worker, which is a few lines of shell."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.runs = ShellRuns(self.environ)


class ShellRuns:
    """Does runs, each once, that go on without the dispatcher."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    async def start(self) -> None:
        """Return: there is nothing that could be missing."""

    async def outcome(self, folder: Path, *, found: bool = False) -> RunEnd:
        child = None
        if not run_status.was_begun(folder):
            child = self._start(folder)
        lock = os.open(folder / run_folder.LOCK, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_SH)
        os.close(lock)
        if child is not None:
            os.waitpid(child, 0)  # noqa: ASYNC222 - it is over
        asked = run_message.read_message((folder / run_folder.MESSAGE).read_text())
        return RunEnd(
            RunReply(result=runner.conclude(folder, registry.runnable(asked.agent), run_status.inspect(folder)))
        )

    async def cancel(self, run: str, reason: str) -> bool:
        return False

    async def close(self) -> None:
        return

    def _start(self, folder: Path) -> int:
        calls.tell(Call("start", str(folder), AGENT))
        spec = json.loads((folder / run_folder.INVOCATION).read_text())
        form = run_folder.encode(_ENDED).decode().replace(str(_CODE), "%d")
        lock = run_folder.open_new(folder, run_folder.LOCK)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            made = os.O_WRONLY | os.O_CREAT
            actions = [
                (os.POSIX_SPAWN_OPEN, 0, str(folder / run_folder.PROMPT), os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(folder / run_folder.OUTPUT), made, 0o600),
                (os.POSIX_SPAWN_OPEN, 2, str(folder / run_folder.STDERR), made, 0o600),
                (os.POSIX_SPAWN_DUP2, lock, 3),
            ]
            argv = ["sh", "-c", SUPERVISOR, "sh", str(folder), form, spec["cwd"], *spec["argv"]]
            environ = {**self._environ, "PRLOOM_STAGE": spec["stage"]}
            return os.posix_spawn("/bin/sh", argv, environ, file_actions=actions, setsid=True)
        finally:
            os.close(lock)


class WatchedPopen(subprocess.Popen[bytes]):
    """Tells of every process of prloom's git before it is started; before one that pushes, the person does."""

    person: Person

    def __init__(self, argv: Sequence[Any], *args: Any, **more: Any) -> None:
        if more.get("cwd") != self.person.clone:
            command = _command([str(word) for word in argv])
            if command == "push":
                self.person.push()
            calls.tell(Call("start", "", f"git {command}"))
        super().__init__(argv, *args, **more)


def _command(argv: Sequence[str]) -> str:
    """Return git's command, which stands after its options."""
    words = iter(argv[1:])
    for word in words:
        if word == "-c":
            next(words)
        elif not word.startswith("-"):
            return word
    return ""


def _git(cwd: Path, *argv: str) -> str:
    names = {f"GIT_{role}_{what}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    ended = subprocess.run(
        ["git", *argv], cwd=cwd, env={**os.environ, **names}, check=True, capture_output=True, text=True
    )
    return ended.stdout.strip()


class Person:
    """Somebody who works on the same branch in a clone: one commit before the first push of each of prloom's."""

    def __init__(self, base: Path) -> None:
        self.clone = base / "clone"

    @property
    def made(self) -> list[str]:
        """The commits that the person has made, by their subjects."""
        file = self.clone / ".git/made"
        return file.read_text().splitlines() if file.exists() else []

    def push(self) -> None:
        """Push, if prloom has pushed since the last time; nobody is told of that."""
        told = calls.layer()
        calls.put(None)
        try:
            self._push()
        finally:
            calls.put(told)

    def _push(self) -> None:
        _git(self.clone, "fetch", "--quiet")
        prlooms = len(_git(self.clone, "log", "--grep=Prloom-Plan", "--format=%H", "origin/work").splitlines())
        if len(self.made) > min(prlooms, 1):
            return
        _git(self.clone, "reset", "--quiet", "--hard", "origin/work")
        name = f"theirs{len(self.made)}.py"
        (self.clone / name).write_text("theirs\n")
        _git(self.clone, "add", name)
        _git(self.clone, "commit", "--quiet", "-m", f"Add {name}")
        _git(self.clone, "push", "--quiet", "origin", "work")
        with (self.clone / ".git/made").open("a") as file:
            file.write(_git(self.clone, "rev-parse", "HEAD") + "\n")


def is_look(call: Call) -> bool:
    """Whether a call changes nothing."""
    return call.protocol.removeprefix("git ") in _LOOKS


# ---- the story


def paths(base: Path) -> RepositoryPaths:
    """Return the paths of the repository."""
    root = base / "project"
    return RepositoryPaths(root, root / "prloom/.local/worktrees")


def worktree(base: Path) -> Path:
    """Return the plan's worktree."""
    return paths(base).worktree("work")


def make_project(base: Path) -> None:
    """Make a repository with a branch `work`, a remote, a clone of that, an agent and a configuration."""
    root, bare = base / "project", base / "remote.git"
    root.mkdir()
    _git(root, "init", "--quiet", "--template=", "--initial-branch=main")
    _git(root, "config", "user.name", "Ada")
    _git(root, "config", "user.email", "ada@example.org")
    _git(root, "commit", "--quiet", "--allow-empty", "--message=begin")
    _git(root, "branch", "work")
    _git(root, "init", "--quiet", "--bare", "--template=", str(bare))
    _git(bare, "config", "core.logAllRefUpdates", "always")
    _git(root, "remote", "add", "origin", str(bare))
    _git(root, "push", "--quiet", "origin", "main", "work")
    _git(root, "clone", "--quiet", "--template=", "--branch", "work", str(bare), str(base / "clone"))
    (base / "agent.sh").write_text(AGENT_PROGRAM)
    (root / "prloom.toml").write_text(CONFIG.format(agent=base / "agent.sh"))


def _prepare() -> Path:
    base = Path(mkdtemp(prefix="prloom-work-")).resolve()
    make_project(base)
    root = base / "project"
    config = loading.load(root, {})
    adopt.adopt_branch(repository.find(root), config, "work", plan_id=None, preset=None, now=START)
    asyncio.run(tick(base, START))  # so that there is a review.md
    local = worktree(base) / "prloom/.local"
    before, heading, after = (local / "review.md").read_text().partition("## ready\n")
    (local / "review.md").write_text(f"{before}{heading}\n- [ ] It is slow\n{after}")
    with (local / "plan.md").open("a") as file:
        file.write("- [ ] Make it small\n")
    return base


def _tell(base: Path, telling: int) -> None:
    WatchedPopen.person = Person(base)
    real, subprocess.Popen = subprocess.Popen, WatchedPopen  # type: ignore[misc, assignment]
    try:
        play(ROUNDS, START + timedelta(days=1 + telling), lambda now: tick(base, now), lambda: _quiet(base))
    finally:
        subprocess.Popen = real  # type: ignore[misc]


async def tick(base: Path, now: datetime, bridges: LoadedBridges | None = None) -> None:
    """Do one full tick at that time, with the configured bridges or these."""
    where = paths(base)
    config = loading.load(where.root, {})
    general = rules(config)
    plan_registry = PlanRegistry(where, general, lambda: now)
    environ = {"PATH": os.environ["PATH"], "HOME": str(base)}
    pool = ShellPool(root=where.root, environ=environ, parallel=1, workers=1)
    dispatcher = Dispatcher(
        plan_registry,
        plugin_set=PluginSet([]),
        bridges=bridges or configured_bridges.load(where.root, config),
        triager=AgentTriager(pool, plan_registry.read_plan),
        todo_worker=TodoWorker(pool),
        rules=general,
        clock=lambda: now,
    )
    await dispatcher.once()


def state_of(base: Path) -> Mapping[str, Any]:
    """Return what the plan's decisions amount to."""
    return json_of(worktree(base) / "prloom/.local/bus/state/dispatcher.json")


def _quiet(base: Path) -> bool:
    state = state_of(base)
    at_work = state.get("open") or state.get("queue") or state.get("work")
    return len(state.get("doneTodos", ())) == 2 and not at_work


# ---- what is wrong


def _wrong(base: Path) -> list[str]:
    state = state_of(base)
    return [
        *_commits(base, state),
        *_pushes(base),
        *_told(base, state),
        *_left_behind(base),
        *rebuilt(worktree(base) / "prloom/.local", state),
    ]


def _commits(base: Path, state: Mapping[str, Any]) -> Iterator[str]:
    """Each TODO has one commit with its trailers, here and on the remote, and what the person made is as it was."""
    root = base / "project"
    done = {todo: each.get("commit") for todo, each in state.get("doneTodos", {}).items()}
    if len(done) != 2 or state.get("work") or state.get("block"):
        yield f"the work is not done: {done}, {state.get('work')}, {state.get('block')}"
    local, remote = (_git(place, "rev-parse", "work") for place in (root, base / "remote.git"))
    if local != remote:
        yield f"the branch is at {local} here and at {remote} on the remote"
    shas = _git(root, "rev-list", "--reverse", "main..work").splitlines()
    messages = {sha: _git(root, "show", "-s", "--format=%B", sha) for sha in shas}
    subjects = sorted(each.partition("\n")[0] for each in messages.values())
    if subjects != ["Add theirs0.py", "Add theirs1.py", "Be fast", "Be small"]:
        yield f"the branch has {subjects}"
    by_todo = {sha: commit_message.read(text) for sha, text in messages.items() if commit_message.is_prlooms(text)}
    if {each[commit_message.TODO][0]: sha for sha, each in by_todo.items()} != done or len(by_todo) != 2:
        yield f"the commits {by_todo} are not those of the TODOs {done}"
    events = [each.get(commit_message.EVENT, ()) for each in by_todo.values()]
    if sorted(len(each) for each in events) != [0, 1]:
        yield f"the commits name the events {events}"
    gone = [sha for sha in Person(base).made if sha not in shas]
    if gone or len(Person(base).made) != 2:
        yield f"of the person's commits {Person(base).made}, the branch has not {gone}"
    files = {name: _git(root, "show", f"work:{name}") for name in _git(root, "ls-tree", "--name-only", "work").split()}
    if files != {"fast.py": "fast", "small.py": "small", "theirs0.py": "theirs", "theirs1.py": "theirs"}:
        yield f"the branch has the files {files}"


def _pushes(base: Path) -> Iterator[str]:
    """The remote's branch moved four times, once for each commit, and never back."""
    bare = base / "remote.git"
    tips = [line.split()[:2] for line in (bare / "logs/refs/heads/work").read_text().splitlines()]
    forced = [new for old, new in tips if set(old) != {"0"} and _git(bare, "merge-base", old, new) != old]
    if forced:
        yield f"the remote's branch was moved back: {forced}"
    if len(tips) != 5:
        yield f"the remote's branch was pushed {len(tips) - 1} times"


def _told(base: Path, state: Mapping[str, Any]) -> Iterator[str]:
    """The comment has one reply, with a commit that is on the branch; the boxes are ticked; no kill was a failure."""
    local = worktree(base) / "prloom/.local"
    review = (local / "review.md").read_text()
    fast = _git(base / "project", "log", "--format=%H", "--grep=Be fast", "work")[:12]
    if review.count("Done in") != 1 or review.count(f"Done in {fast}") != 1:
        yield f"the replies are {review!r}, where {fast} is to be named once"
    lines = [line.partition(" <!--")[0] for line in (local / "plan.md").read_text().splitlines()]
    boxes = sorted(line for line in lines if line.startswith("- ["))
    if boxes != ["- [x] Make it fast", "- [x] Make it small"]:
        yield f"the boxes are {boxes}"
    steps = [each["work"]["verdict"] for each in _decisions(local) if each.get("work")]
    counts = Counter(steps)
    if counts["failed"] != 1 or counts["parked"] or counts["violated"] or counts["started"] > MOST_RUNS:
        yield f"the steps of the work are {dict(counts)}"


def _decisions(local: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line)["data"] for line in (local / "bus/decisions.jsonl").read_text().splitlines()]


def _left_behind(base: Path) -> Iterator[str]:
    """The worktree is clean, nothing is kept beside the branch, and doctor finds nothing wrong."""
    status = _git(worktree(base), "status", "--porcelain")
    if status:
        yield f"the worktree is not clean: {status}"
    kept = _git(base / "project", "for-each-ref", "--format=%(refname)", "refs/prloom/kept")
    if kept:
        yield f"changes are kept that are committed: {kept}"
    findings = doctor.findings(paths(base), datetime.now(UTC) + timedelta(hours=2))
    yield from (f"doctor: {each.what} ({each.where})" for each in findings if each.severity == "error")


WORK = Story(_prepare, _tell, _wrong, clear)
