"""Builds that are weakened in one place; each must fail the crash matrix: one that cannot fail says nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
NEEDED = ("prloom", "tests/reliability", "tests/engine")


class Weakening(NamedTuple):
    """One careless change: `strong` in `file` becomes `weak`, and the part of the matrix that `args` name fails."""

    what: str
    file: str
    strong: str
    weak: str
    args: tuple[str, ...]


WEAKENINGS = (
    Weakening(
        "the order of writes swapped: a bridge's cursor before its events",
        "prloom/engine/polling/poll.py",
        "        counts = dict(zip(routed, await asyncio.gather(*jobs), strict=True))\n",
        '        self._cursor.save({"state": polled.state})\n'
        "        counts = dict(zip(routed, await asyncio.gather(*jobs), strict=True))\n",
        ("once", "--protocol", "append a batch", "--fault", "kill"),
    ),
    Weakening(
        "the order of writes swapped: the effects of a decision before the decision",
        "prloom/engine/bus/event_store.py",
        """            position = self._decisions.append([line])
            self._take_effect(decision, now, _behind(position, line, self.state.log))
""",
        """            before = self.state
            self._take_effect(decision, now, before.log)
            position = self._decisions.append([line])
            self.state = replace(self.state, log=_behind(position, line, before.log))
""",
        ("once", "--protocol", "plugin state", "--fault", "kill", "--each", "6"),
    ),
    Weakening(
        "a flush left out: of the lines that were appended to a journal",
        "prloom/storage/journal.py",
        "            self.folder.disk.fdatasync(fd)\n        except OSError:\n",
        "            pass\n        except OSError:\n",
        ("power", "--protocol", "cursor", "--fault", "cut 0"),
    ),
    Weakening(
        "a flush left out: of a new file before it takes the place of the old one",
        "prloom/storage/safe_dir.py",
        "                self.disk.fsync(fd)\n            except BaseException:\n",
        "                pass\n            except BaseException:\n",
        ("power", "--protocol", "plan and status", "--fault", "cut 1", "--each", "12"),
    ),
    Weakening(
        "a flush left out: of the name that a new journal has in its folder",
        "prloom/storage/safe_dir.py",
        "            self.sync()  # or a crash of the machine could take the name away, and with it what was flushed\n",
        "            pass\n",
        ("power", "--protocol", "decision", "--fault", "cut 0", "--each", "6"),
    ),
    Weakening(
        "the look-up of markers off: what may have been posted is posted again",
        "prloom/engine/plan/delivery.py",
        "    return begun is not None or receipts.in_doubt(state, queued)\n",
        "    return begun is not None and receipts.in_doubt(state, queued)\n",
        ("once", "--protocol", "receipt", "--fault", "kill"),
    ),
    Weakening(
        "the repair of torn lines turned off",
        "prloom/storage/torn_tail.py",
        "    if start == size:\n",
        "    if start <= size:\n",
        ("once", "--protocol", "decision", "--fault", "torn", "--each", "6"),
    ),
    Weakening(
        "the lock of a folder off: two writers at once",
        "prloom/storage/locks.py",
        "            fcntl.flock(fd, kind | fcntl.LOCK_NB)\n",
        "            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)\n",
        ("once", "--protocol", "locks"),
    ),
    Weakening(
        "the lock of a repository off: two dispatchers at once",
        "prloom/engine/plan_registry.py",
        "        self._lock.acquire()\n",
        "",
        ("once", "--protocol", "locks"),
    ),
)


def fails(weakening: Weakening, folder: Path) -> str | None:
    """Try a weakened build in an empty folder; return the first thing that goes wrong with it, None if nothing does."""
    for each in NEEDED:
        shutil.copytree(ROOT / each, folder / each, ignore=shutil.ignore_patterns(".local", "*.pyc.*"))
    file = folder / weakening.file
    text = file.read_text()
    assert text.count(weakening.strong) == 1, f"{weakening.file} has changed: mend the row {weakening.what!r}"
    file.write_text(text.replace(weakening.strong, weakening.weak))
    program = folder / "tests/reliability/crash_matrix.py"
    ended = subprocess.run(
        [sys.executable, str(program), *weakening.args, "--stop", "--jobs", "1"],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode in {0, 1}, ended.stderr
    wrong = json.loads(ended.stdout)["wrong"]
    return wrong[0] if wrong else None


def main() -> None:
    """Try all weakened builds, and print what went wrong with each."""
    outcomes = []
    for row in WEAKENINGS:
        with TemporaryDirectory() as folder:
            outcomes.append((row.what, fails(row, Path(folder))))
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
