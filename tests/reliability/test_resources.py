"""What a machine runs out of: room, quota, permission to write, open files, watches, a lock, memory, time.

Each time there is one clear line in `prloom status`, nothing is lost, and where the cause goes away the dispatcher goes
on without being started anew. PRLOOM_ALL_MEMORY=1 tries the memory with a million events (minutes); else with fewer.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from faulty_disks import WatchedDisk
from real_command import Repository
from small_disk import small_disk
from stage import Clock, Stage, said
from stage import until as until_true
from stage_parts import handling
from waiting import until

from prloom.engine.file_watcher import FileWatcher
from prloom.engine.views import status
from prloom.engine.views.status_schema import StatusDocument
from prloom.model import record
from prloom.storage import envelope
from prloom.storage.disk import Disk

MANY = 1_000_000 if os.environ.get("PRLOOM_ALL_MEMORY", "0") not in {"", "0"} else 5_000
MEMORY = 256 * 1024 * 1024
NAMESPACE = ("unshare", "--user", "--map-root-user")

ROOM = frozenset({"create", "write", "mkdir"})
ANYTHING = ROOM | {"truncate", "fdatasync", "fsync", "rename", "link", "unlink", "touch"}


class RefusingDisk(WatchedDisk):
    """A disk that refuses some operations for as long as it is told to."""

    def __init__(self, error: int, operations: frozenset[str]) -> None:
        self.error = error
        self.operations = operations
        self.refuses = False

    def about_to(self, operation: str) -> None:
        if self.refuses and operation in self.operations:
            raise OSError(self.error, os.strerror(self.error))


class SlowDisk(WatchedDisk):
    """A disk each flush of which takes seconds, by a clock of the test's own."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.slow = True

    def about_to(self, operation: str) -> None:
        if self.slow and operation in {"fsync", "fdatasync"}:
            self.clock.advance(seconds=3)


class HastyDisk(Disk):
    """A disk of somebody who does not wait long for a lock."""

    patience = 0.05


def shown(stage: Stage) -> StatusDocument:
    return status.read(stage.paths, stage.clock())


def trouble(stage: Stage) -> str | None:
    return shown(stage).dispatcher.trouble or None


def error(stage: Stage, plan_id: str = "pr-7") -> str:
    return next(plan.last_error for plan in shown(stage).plans if plan.id == plan_id) or ""


# ---- a disk that takes nothing


@pytest.mark.parametrize(
    ("number", "operations", "says"),
    [
        (errno.ENOSPC, ROOM, "No space left on device; free some space and try again"),
        (errno.EDQUOT, ROOM, "Disk quota exceeded; free some of your quota and try again"),
        (errno.EROFS, ANYTHING, "Read-only file system; make the file system writable"),
        (errno.EACCES, ANYTHING, "Permission denied; check who owns it and its permissions"),
    ],
    ids=["full", "quota", "read-only", "forbidden"],
)
async def test_a_disk_that_takes_nothing_is_told_and_work_goes_on_by_itself_once_it_does(
    stage: Stage, caplog: pytest.LogCaptureFixture, number: int, operations: frozenset[str], says: str
):
    stage.adopt()
    stage.plugin("note", handling("noted {id}"))
    disk = RefusingDisk(number, operations)
    stage.disk = disk
    stage.append(said("c1"))

    async with stage.running():
        await stage.until(lambda: stage.bridge.said == ["noted c1"])
        disk.refuses = True
        stage.append(said("c2"))
        await stage.until(lambda: says in (trouble(stage) or ""))
        told = trouble(stage)
        assert "c2" not in stage.open()
        assert shown(stage).totals.pending == 1  # it stands in the journal, and is counted
        stage.clock.advance(minutes=2)  # the bridge is asked again, which would be told in a file
        await stage.until(lambda: "bridges.json" in " ".join(caplog.messages))
        caplog.clear()
        for _ in range(100):  # many ticks
            await asyncio.sleep(0.001)
        repeated = [text for text in caplog.messages if "bridges.json" in text]
        disk.refuses = False
        stage.clock.advance(minutes=6)
        await stage.until(lambda: stage.bridge.said == ["noted c1", "noted c2"])
        await stage.until(lambda: trouble(stage) is None)

    assert told is not None
    assert told.count("\n") == 0
    assert len(repeated) <= 1
    assert stage.fate("c2") == ["pending", "handled"]
    assert error(stage) == ""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    """Have a repository on a small disk, with a plugin that answers at length."""
    (tmp_path / "home").mkdir()
    with small_disk(tmp_path / "disk", 24) as disk:
        yield prepared(disk / "project", tmp_path / "home")


def prepared(root: Path, home: Path) -> Repository:
    made = Repository(root, home)
    made.isolate()
    made.configure('[plugins]\nenabled = ["long"]\n[dispatcher]\ntick_interval = "100ms"\n')
    made.plugin(
        "long",
        """
def register(ctx):
    @ctx.hook("beforeTriage")
    def answer(plan, triage):
        for event in triage.events:
            triage.emit_comment(event.reply_to, "x" * 20_000)
            triage.mark_event_handled(event.id)
        return plan
""",
    )
    made.run("adopt", "--branch", "work")
    return made


@contextmanager
def running(made: Repository, *before: str) -> Iterator[None]:
    """Have the real dispatcher at work."""
    process = subprocess.Popen(
        [*before, *made.command("start")], cwd=made.root, env=made.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        yield
    finally:
        process.terminate()
        process.communicate(timeout=60)


def trouble_told(made: Repository) -> str:
    """Return what the real dispatcher tells of its trouble: on a busy machine, that a tick took long as well."""
    return str(made.json("status")["dispatcher"].get("trouble") or "")


def test_the_real_dispatcher_goes_on_when_a_full_disk_has_room_again(repository: Repository):
    made, filling = repository, repository.root.parent / "filling"

    def handled() -> int:
        return int(made.plan()["events"]["handled"])

    with running(made):
        made.run("emit", "work", "--body", "first", "--id", "c1")
        until(lambda: handled() == 1)
        fill(filling)
        made.run("emit", "work", "--body", "second", "--id", "c2")  # a line in a page that has room for it
        until(lambda: "free some space" in trouble_told(made))
        told = made.run("status", "--all").stdout
        filling.unlink()
        until(lambda: handled() == 2)
        until(lambda: not trouble_told(made))

    assert "free some space" in " ".join(told.split())
    decisions = (made.local / "bus/decisions.jsonl").read_text().splitlines()
    assert sum('"handled"' in line for line in decisions) == 2


def fill(filling: Path) -> None:
    """Write until there is no room left."""
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def test_on_a_file_system_that_is_read_only_each_command_says_so_in_one_line(repository: Repository):
    made = repository
    made.run("emit", "work", "--body", "first", "--id", "c1")
    remount(made, "ro")

    refused = made.run("start", "--once", code=1)
    also = made.run("emit", "work", "--body", "second", "--id", "c2", code=1)
    looked = made.run("status", "--all").stdout
    remount(made, "rw")
    made.run("start", "--once")

    assert refused.stderr.strip().endswith("Read-only file system; make the file system writable")
    assert also.stderr.strip().endswith("Read-only file system; make the file system writable")
    assert len(also.stderr.strip().splitlines()) == 1
    assert "1 pending" in looked
    assert made.plan()["events"]["handled"] == 1


def remount(made: Repository, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", made.root.parent], check=True, timeout=60)


# ---- open files, and watches


@contextmanager
def open_files_limited(more: int) -> Iterator[None]:
    """Let this process have only so many more open files than it has.

    The limit is one of their numbers, so the numbers below it that are free, because an earlier test has closed them,
    are used up first.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    gc.collect()  # what earlier tests have left would be closed at any time
    highest = max(map(int, os.listdir("/dev/fd")))
    fillers = [os.dup(0)]
    while fillers[-1] < highest:
        fillers.append(os.dup(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (fillers[-1] + 1 + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for filler in fillers:
            os.close(filler)


async def test_plans_for_which_there_are_too_few_open_files_wait_and_the_others_are_worked_on(stage: Stage):
    plans = [f"pr-{number}" for number in range(1, 61)]
    for number, plan_id in enumerate(plans, 1):
        stage.adopt(plan_id, pr=number)
        stage.append(said(f"c-{plan_id}", pr=number), plan_id=plan_id)
    stage.plugin("note", handling("noted {id}"))

    async with stage.running():
        with open_files_limited(160):
            await stage.until(lambda: 0 < len(stage.bridge.said) < 60 and "unreadable" in told_of_plans(stage))
            waiting = stage.published("unreadable")
            await stage.until(lambda: len(stage.bridge.said) == 60 - len(stage.published("unreadable")))
        await stage.until(lambda: len(stage.bridge.said) == 60)

    assert waiting
    assert set(waiting.values()) == {"there are too many plans for the limit of open files; raise it (`ulimit -n`)"}
    assert len(set(stage.bridge.said)) == 60


async def test_the_files_of_plans_that_are_gone_are_closed_at_once(stage: Stage):
    async def come_and_go(numbers: range) -> int:
        """Have plans come, be worked on and go; return how many files were open at most."""
        plans = [f"pr-{number}" for number in numbers]
        for number, plan_id in zip(numbers, plans, strict=True):
            stage.adopt(plan_id, pr=number)
            stage.append(said(f"c-{plan_id}", pr=number), plan_id=plan_id)
        await stage.until(lambda: {f"re c-{plan_id}" for plan_id in plans} <= set(stage.bridge.said))
        most = opened()
        for plan_id in plans:
            shutil.rmtree(stage.paths.worktree(plan_id))
        await stage.until(lambda: not dispatcher.registry.runtimes)
        return most

    def opened() -> int:
        return len(os.listdir("/dev/fd"))

    gc.collect()
    gc.disable()  # it may be hours before a quiet dispatcher's objects are looked through
    try:
        async with stage.running() as dispatcher:
            await come_and_go(range(1, 2))
            before = opened()
            most = await come_and_go(range(2, 7))
            await stage.until(lambda: opened() <= before)
    finally:
        gc.enable()

    assert most >= before + 5


def told_of_plans(stage: Stage) -> str:
    file = stage.root / "prloom/.local/bus/state/plans.json"
    return file.read_text() if file.exists() and '"unreadable": {}' not in file.read_text() else ""


def test_the_real_command_takes_as_many_open_files_as_it_may(tmp_path: Path):
    script = (
        "import resource\nfrom prloom.storage import disk\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096))\ndisk.allow_many_files()\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert ran.stdout.strip() == "(4096, 4096)"


async def test_a_watch_that_the_system_refused_is_said_and_had_as_soon_as_there_is_one(tmp_path: Path):
    FileWatcher().close()  # what is imported once needs no file any more
    with open_files_limited(0):
        watcher = FileWatcher(retry_after=0.01)
    told = watcher.problem

    notices = watcher.changes()
    first = asyncio.ensure_future(anext(notices))
    await until_true(lambda: watcher.problem is None)
    watcher.follow([tmp_path])
    (tmp_path / "events.jsonl").write_text("{}\n")
    heard = await first
    watcher.close()

    assert told is not None
    assert told.startswith("files cannot be watched (Too many open files), so prloom sees new events only at the next")
    assert heard == (tmp_path, "events.jsonl")


def test_without_a_watch_the_real_dispatcher_says_so_and_finds_everything_by_its_ticks(tmp_path: Path):
    limit = "/proc/sys/user/max_inotify_instances"
    set_it = f'echo 0 > {limit} && exec "$@"'
    if subprocess.run([*NAMESPACE, "sh", "-c", set_it, "sh", "true"], check=False, timeout=60).returncode != 0:
        pytest.skip("no namespace of its own may be had here")
    (tmp_path / "home").mkdir()
    made = prepared(tmp_path / "project", tmp_path / "home")

    with running(made, *NAMESPACE, "sh", "-c", set_it, "sh"):
        until(lambda: "cannot be watched" in trouble_told(made))
        told = made.run("status", "--all").stdout
        made.run("emit", "work", "--body", "first", "--id", "c1")
        until(lambda: bool(made.plan()["events"]["handled"]))

    assert "files cannot be watched (Too many open files)" in " ".join(told.split())


# ---- a lock that its holder does not give back


HOLDER = """
import fcntl, os, signal, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


@contextmanager
def holding(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Have a process that is stopped while it holds a folder's lock."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        os.waitpid(holder.pid, os.WUNTRACED)
        try:
            yield holder
        finally:
            holder.send_signal(signal.SIGCONT)


async def test_a_lock_that_a_stopped_process_holds_is_its_plans_trouble_and_names_the_process(stage: Stage):
    stage.plugin("note", handling("noted {id}"))
    stage.disk = HastyDisk()
    for number in (7, 8):
        stage.adopt(f"pr-{number}", pr=number)
    bus = stage.local() / "bus"
    stage.append(said("c7"), plan_id="pr-7")
    with holding(bus) as holder:
        async with stage.running():
            await stage.until(lambda: "locked" in json.dumps(told_by_plans(stage)))
            told = told_by_plans(stage)
            stage.append(said("c8", pr=8), plan_id="pr-8")
            await stage.until(lambda: stage.bridge.said == ["noted c8"])
            holder.send_signal(signal.SIGCONT)
            await asyncio.to_thread(holder.wait)
            stage.clock.advance(minutes=6)
            await stage.until(lambda: stage.bridge.said == ["noted c8", "noted c7"])

    assert told["pr-7"] == (
        f"{bus} has been locked by process {holder.pid}, which is stopped, for more than 0.05 s; "
        f"continue it with `kill -CONT {holder.pid}`, or end it"
    )
    assert stage.fate("c7") == ["pending", "handled"]


def told_by_plans(stage: Stage) -> dict[str, str | None]:
    return {plan.id: plan.last_error for plan in shown(stage).plans}


# ---- memory


def test_a_long_bus_is_told_of_and_worked_off_in_little_memory(tmp_path: Path):
    (tmp_path / "home").mkdir()
    made = Repository(tmp_path / "project", tmp_path / "home")
    made.isolate()
    made.configure('[plugins]\nenabled = ["all"]\nhook_timeout = "10m"\n')
    made.plugin(
        "all",
        """
def register(ctx):
    @ctx.hook("beforeTriage")
    def answer(plan, triage):
        for event in triage.events:
            triage.mark_event_handled(event.id)
        return plan
""",
    )
    made.run("adopt", "--branch", "work")
    now = "2026-01-01T12:00:00.000Z"
    with (made.local / "bus/events.jsonl").open("ab") as journal:
        for number in range(MANY):
            event = record.to_wire(said(f"c{number}", "please have a look at this " * 4, pr=None, reply_to=None))
            journal.write(envelope.encode("event", event, now) + b"\n")

    before = limited(made, "status", "--json")
    limited(made, "start", "--once")
    after = limited(made, "status", "--json")

    assert [json.loads(text)["plans"][0]["events"]["pending"] for text in (before, after)] == [MANY, 0]
    assert json.loads(after)["plans"][0]["events"]["handled"] == MANY


def limited(made: Repository, *args: str) -> str:
    """Run a command that may have 256 MB, as may each process that it starts."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    ran = subprocess.run(
        made.command(*args),
        cwd=made.root,
        env=made.env,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        timeout=3600,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout


# ---- a disk that is slow


async def test_a_slow_disk_is_said_and_costs_nothing_but_time(stage: Stage):
    stage.adopt()
    stage.plugin("note", handling("noted {id}"))
    disk = SlowDisk(stage.clock)
    stage.disk = disk
    stage.append(*(said(f"c{number}") for number in range(1, 6)))

    async with stage.running():
        await stage.until(lambda: "slows down the disk" in (trouble(stage) or ""))
        told = trouble(stage) or ""
        await stage.until(lambda: len(stage.bridge.said) == 5)
        disk.slow = False
        await stage.until(lambda: trouble(stage) is None)

    assert told.startswith("the last tick took ")
    assert told.endswith(" s; check what slows down the disk or the machine")
    assert sorted(stage.bridge.said) == [f"noted c{number}" for number in range(1, 6)]
    assert {tuple(stage.fate(f"c{number}")) for number in range(1, 6)} == {("pending", "handled")}
    assert error(stage) == ""
