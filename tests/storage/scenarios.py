"""Crash every write before each of its changes, once and twice, and look at what is left.

Run as a program, the crash is a real SIGKILL of a forked child.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import faulty_disks as faulty
from faulty_disks import Crash, CrashingDisk, NotingDisk

from prloom.model.record import START
from prloom.storage import repair
from prloom.storage.disk import Disk
from prloom.storage.document import Document
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from collections.abc import Callable

OLD = [b'{"old":1}', b'{"old":2}']
NEW = b'{"new":"' + b"x" * 600 + b'"}'
SNAPSHOT = b'{"snapshot":1}'
LAST = b'{"last":1}'
TORN = b'{"torn":"'
NAME = "decisions.jsonl"


@dataclass(frozen=True)
class Scenario:
    """A write: what was there, what is done, and what may be there after crashes."""

    prepare: Callable[[SafeDir], object]
    act: Callable[[SafeDir], object]
    check: Callable[[SafeDir], None]


def lines(folder: SafeDir) -> list[bytes]:
    """Read all lines by cursor, and hold them against a scan."""
    journal = Journal(folder, NAME)
    batch = journal.read(START)
    assert not batch.gap
    assert not batch.skipped
    found = [entry.line for entry in batch.entries]
    assert found == [entry.line for entry in journal.scan()]
    return found


def append_old(folder: SafeDir, *, tail: bytes = b"") -> None:
    """Fill a journal, perhaps with a torn tail."""
    Journal(folder, NAME).append(OLD)
    if tail:
        with (Path(folder.path) / NAME).open("ab") as file:
            file.write(tail)


def check_append(folder: SafeDir, *, torn: bytes = b"") -> None:
    """Old lines, then the new one as often as it was tried, at most; the next append goes well."""
    attempts = lines(folder)[len(OLD) :]
    assert lines(folder)[: len(OLD)] == OLD
    assert attempts in ([], [NEW], [NEW, NEW])
    Journal(folder, NAME).append([LAST])
    after = lines(folder)[len(OLD) :]
    assert after[-1] == LAST
    assert after[:-1] in ([], [NEW], [NEW, NEW])
    assert len(after) - 1 >= len(attempts)  # a line that only lacked its newline counts
    if torn:
        kept = [(Path(folder.path) / name).read_bytes() for name in folder.names() if ".torn-" in name]
        assert torn in kept


def check_whole_tail(folder: SafeDir) -> None:
    """A tail that is a whole object only lacked its newline."""
    Journal(folder, NAME).append([LAST])
    found = lines(folder)
    assert found[:3] == [*OLD, b'{"whole":1}']
    assert found[3:-1] in ([], [NEW], [NEW, NEW])
    assert not [name for name in folder.names() if b".torn-" in name.encode() and not _is_half(folder, name)]


def _is_half(folder: SafeDir, name: str) -> bool:
    return NEW.startswith((Path(folder.path) / name).read_bytes())


def check_rotate(folder: SafeDir) -> None:
    """Every old line once, then one snapshot for each rotation that came through; appending and rotating go on."""
    journal = Journal(folder, NAME)
    rotations = len(journal.segments()) - 1
    assert lines(folder) == OLD + [SNAPSHOT] * rotations
    assert rotations in (0, 1, 2)
    Journal(folder, NAME).append([LAST])
    Journal(folder, NAME).rotate([SNAPSHOT])
    assert lines(folder) == OLD + [SNAPSHOT] * rotations + [LAST, SNAPSHOT]
    assert len(Journal(folder, NAME).segments()) == rotations + 2
    check_swept(folder)


def check_save(folder: SafeDir, *, first: bool = False) -> None:
    """The old document or the new one, whole; and no litter."""
    found = Document(folder, "state.json").load()
    assert found.reason is None
    assert found.value in ((None if first else {"n": 0}), {"n": 1}, {"n": 2})
    check_swept(folder)


def check_corrupt(folder: SafeDir) -> None:
    """What could not be read is kept, in place or aside, exactly once."""
    kept = [name for name in folder.names() if (Path(folder.path) / name).read_bytes() == b'{"n":']
    found = Document(folder, "state.json").load()
    assert found.reason is not None or found.value in (None, {"n": 1})
    assert len(kept) == 1


def check_swept(folder: SafeDir) -> None:
    """Temporary files of crashes can be told and removed."""
    repair.sweep(folder, older_than=-1)
    assert not [name for name in folder.names() if name.endswith(".tmp")]


def count_up(folder: SafeDir) -> None:
    """Add one to the number in the document."""
    Document(folder, "state.json").update(lambda found: {"n": (found.value or {"n": 0})["n"] + 1})


def nothing(_: SafeDir) -> None:
    """Begin with an empty folder."""


SCENARIOS = {
    "append": Scenario(append_old, lambda f: Journal(f, NAME).append([NEW]), check_append),
    "append to a torn tail": Scenario(
        partial(append_old, tail=TORN), lambda f: Journal(f, NAME).append([NEW]), partial(check_append, torn=TORN)
    ),
    "append to a tail without newline": Scenario(
        partial(append_old, tail=b'{"whole":1}'), lambda f: Journal(f, NAME).append([NEW]), check_whole_tail
    ),
    "rotate": Scenario(append_old, lambda f: Journal(f, NAME).rotate([SNAPSHOT]), check_rotate),
    "save": Scenario(lambda f: Document(f, "state.json").save({"n": 0}), count_up, check_save),
    "save for the first time": Scenario(nothing, count_up, partial(check_save, first=True)),
    "set aside": Scenario(
        lambda f: (Path(f.path) / "state.json").write_bytes(b'{"n":'),
        lambda f: Document(f, "state.json").update(lambda _: {"n": 1}),
        check_corrupt,
    ),
}


@dataclass(frozen=True)
class Step:
    """Before which change a writer ends, and whether it gets half of a write out first."""

    before: int
    torn: bool = False


def survived(act: Callable[[SafeDir], object], root: str, step: Step) -> bool:
    """Act on a disk that crashes, by an exception; tell whether there was no crash."""
    try:
        with SafeDir.make(root, "bus", disk=CrashingDisk(step.before, torn=step.torn)) as folder:
            act(folder)
    except Crash:
        return False
    return True


def survived_kill(act: Callable[[SafeDir], object], root: str, step: Step) -> bool:
    """Act in a forked child that is killed for real; tell whether it was not."""
    pid = os.fork()
    if pid == 0:
        disk: Disk = CrashingDisk(step.before, torn=step.torn, crash=faulty.kill)
        act(SafeDir.make(root, "bus", disk=disk))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return False
    assert os.WEXITSTATUS(status) == 0
    return True


def steps(scenario: Scenario, root: str) -> tuple[list[Step], list[Step]]:
    """Return the steps at which the write can be crashed, and those of a second try, which has to mend things too."""
    begin(scenario, root)
    disk = NotingDisk()
    with SafeDir.make(root, "bus", disk=disk) as folder:
        scenario.act(folder)
    first = [Step(number) for number, _ in enumerate(disk.done, 1)]
    first += [Step(number, torn=True) for number, change in enumerate(disk.done, 1) if change == "write"]
    second = [Step(number, torn=torn) for number in range(1, len(disk.done) + 7) for torn in (False, True)]
    return first, second


def begin(scenario: Scenario, root: str) -> None:
    """Make the folder as it is before the write."""
    shutil.rmtree(Path(root) / "bus", ignore_errors=True)
    with SafeDir.make(root, "bus") as folder:
        scenario.prepare(folder)


def crash_everywhere(scenario: Scenario, survives: Callable[..., bool] = survived, *, every: int = 1) -> int:
    """Crash once and twice at every step (the second time: `every` so many) and check; return the count of crashes."""
    crashes = 0
    with tempfile.TemporaryDirectory() as root:
        once, twice = steps(scenario, root)
        for first, second in product(once, (None, *twice[::every])):
            begin(scenario, root)
            assert not survives(scenario.act, root, first)
            if second is not None:
                survives(scenario.act, root, second)
            crashes += 1 if second is None else 2
            with SafeDir.make(root, "bus") as folder:
                scenario.check(folder)
    return crashes


if __name__ == "__main__":
    for name, case in SCENARIOS.items():
        sys.stdout.write(f"{name}: {crash_everywhere(case, survived_kill, every=15)}\n")
