"""Break a story's calls from outside: a process of its own under strace, which lets one of its calls end badly."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import calls
import injectors
import matrix
from calls import Call
from matrix import Cell
from stories import STORIES

CALLS = {
    "openat": "open",
    "write": "write",
    "fdatasync": "fdatasync",
    "fsync": "fsync",
    "rename": "rename",
    "renameat": "rename",
    "renameat2": "rename",
    "linkat": "link",
    "link": "link",
    "unlink": "unlink",
    "unlinkat": "unlink",
    "mkdir": "mkdir",
    "mkdirat": "mkdir",
    "ftruncate": "truncate",
    "utimensat": "utime",
}
"""The system's calls on Linux, and what they are in the matrix."""

INJECTIONS = {"kill": "signal=SIGKILL", "EIO": "error=EIO", "ENOSPC": "error=ENOSPC", "short": "retval=0"}
"""What strace makes of a call; a short write takes nothing at all, for what the program is told must be true."""

_LINE = re.compile(r"(\w+)\((.*)")
_PLACE = re.compile(r"\d+<(/[^>]*)>|AT_FDCWD<(/[^>]*)>")
_NAME = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


def installed() -> bool:
    """Whether strace is here, and may trace."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, check=False).returncode == 0


def cells(stories: Sequence[str] = ()) -> list[Cell]:
    """Return all ways to break some stories, or all, from outside; `at` counts the calls of the system of one name."""
    return [cell for name in stories or ("life", "init") for cell in _cells(name)]


def _cells(name: str) -> Iterator[Cell]:
    root = STORIES[name].prepare()
    _, trace = _told(name, root)
    STORIES[name].clear(root)
    counts: Counter[str] = Counter()
    for system, path in _lines(trace):
        counts[system] += 1
        if path.startswith(f"{root}/") and path != f"{root}/remote":
            call = Call(CALLS[system], system, calls.protocol(path[len(str(root)) :]))
            wanted = (fault for fault in INJECTIONS if fault in injectors.faults_of(call.name))
            yield from (Cell(name, call, counts[system], fault) for fault in wanted)


def broken(cell: Cell) -> list[str]:
    """Break a story from outside, go on until nothing is left to do, and return all that is wrong then."""
    story = STORIES[cell.story]
    root = story.prepare()
    try:
        said, trace = _told(cell.story, root, f"inject={cell.call.path}:{INJECTIONS[cell.fault]}:when={cell.at}")
        found = [line for line in said.splitlines() if "a bug" in line or "Traceback" in line]
        if "INJECTED" not in trace and "killed by SIGKILL" not in trace:
            found.append("nothing was injected")
        return found + matrix.ended(story, root)
    finally:
        story.clear(root)


def _told(name: str, root: Path, injection: str | None = None) -> tuple[str, str]:
    """Tell a story under strace; return what it said, and the trace."""
    with TemporaryDirectory() as folder:
        trace = Path(folder, "trace")
        inject = [] if injection is None else ["-e", injection]
        command = ["strace", "-y", "-s", "300", "-o", str(trace), "-e", f"trace={','.join(CALLS)}", *inject]
        teller = [sys.executable, __file__, name, str(root)]
        ended = subprocess.run(
            [*command, *teller], env=_ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
        )
        return ended.stderr, trace.read_text(errors="replace")


def _lines(trace: str) -> Iterator[tuple[str, str]]:
    """Yield each call, and the path of what it changes; an empty one where it changes nothing."""
    for line in trace.splitlines():
        found = _LINE.match(line)
        if found is not None and found[1] in CALLS:
            yield found[1], _path(found[1], found[2])


def _path(system: str, rest: str) -> str:
    if system == "openat" and "O_CREAT" not in rest:
        return ""
    places = [one or other for one, other in _PLACE.findall(rest)]
    if system in {"write", "fsync", "fdatasync", "ftruncate"}:
        return places[0] if places else ""
    names = _NAME.findall(rest)
    name = (names[0] if names[0].startswith(".") and names[0].endswith(".tmp") else names[-1]) if names else ""
    return name if name.startswith("/") else f"{places[0] if places else ''}/{name}"


def main(name: str, root: str) -> None:
    """Tell a story; what is a bug is said on stderr."""
    print("\n".join(matrix.told(STORIES[name], Path(root), None, 0)), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
