"""Kill the making of a plan before each call that renames a file or runs git; print what is wrong after the next try.

`python activation_crashes.py FOLDER FIRST STEP` kills before call FIRST and each STEP-th after it. It runs in a process
of its own, which forks: an audit hook cannot be removed, and a process that is killed must not be the one that reports.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from prloom.config import loading
from prloom.core.plans import plan_file
from prloom.engine.adoption import activate
from prloom.engine.bus import inbox
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import repository

TEXT = "---\nstatus: queued\n---\n# Fast\n\n## TODO\n- [ ] Drop the sleep\n"
CHANGES = {"os.rename", "os.remove", "os.link"}
READS = {"rev-parse", "ls-files", "ls-tree", "cat-file", "for-each-ref", "remote", "rev-list", "status", "show-ref"}
"""Commands of git that change nothing."""
NOW = datetime(2026, 1, 1, tzinfo=UTC)
KILLED = 9
AGAIN = 7
"""After each so many calls, the second attempt is killed too."""


def kill_before(number: int) -> None:
    """End this process before the call of this number that changes something."""
    seen = 0

    def hook(event: str, args: tuple[object, ...]) -> None:
        nonlocal seen
        is_git = event == "subprocess.Popen" and isinstance(args[1], list) and not READS & set(map(str, args[1]))
        if event in CHANGES or is_git:
            seen += 1
            if seen == number:
                os._exit(KILLED)

    sys.addaudithook(hook)


def make_plan(root: Path) -> None:
    with SafeDir.make(root, "prloom", ".local") as local, inbox.folder(local) as drafts:
        activate.forget_ended(local)
        draft = inbox.read(drafts, "fast")
    if draft is not None:
        activate.activate(repository.find(root), loading.load(root, {}), draft, NOW)


def ended(job: Callable[[], None]) -> int:
    """Run a job in a process of its own, and return how that ended."""
    child = os.fork()
    if child == 0:
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - it is printed
            print(f"{type(error).__name__}: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def attempt(root: Path, number: int | None) -> int:
    def job() -> None:
        if number is not None:
            kill_before(number)
        make_plan(root)

    return ended(job)


def problems(root: Path) -> list[str]:
    local = root / "prloom/.local/worktrees/fast/prloom/.local"
    found = []
    if list((root / "prloom/.local/inbox").iterdir()) or list((root / "prloom/.local/activations").glob("*.json")):
        found.append("something is left of the draft")
    if not (local / "state.json").exists() or not (local / "review.md").exists():
        found.append("the plan is not whole")
    elif [todo.title for todo in plan_file.todos((local / "plan.md").read_text())] != ["Drop the sleep"]:
        found.append("the TODO is not in the plan")
    heads = subprocess.run(
        ["git", "for-each-ref", "--format=%(refname)", "refs/heads"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    if sorted(heads) != ["refs/heads/fast", "refs/heads/main", "refs/heads/work"]:
        found.append(f"the branches are {heads}")
    return found


def main() -> None:
    template = Path(sys.argv[1])
    with SafeDir.make(template, "prloom", ".local") as local, inbox.folder(local) as drafts:
        inbox.put(drafts, "fast", TEXT)
    rehearsal = shutil.copytree(template, template.parent / "rehearsal", symlinks=True)
    make_plan(rehearsal)  # it imports much where it needs it, which would take each fork longer than all else
    first_call, step = int(sys.argv[2]), int(sys.argv[3])
    for number in range(first_call, 1000, step):
        root = template.parent / f"try-{number}"
        shutil.copytree(template, root, symlinks=True)
        first = attempt(root, number)
        second = attempt(root, number if number % AGAIN == 0 else None) if first == KILLED else 0
        last = attempt(root, None)
        for wrong in problems(root):
            print(f"killed before call {number}: {wrong}")
        if last or second not in {0, KILLED} or first not in {0, KILLED}:
            print(f"killed before call {number}: it ended with {first}, {second}, {last}")
        shutil.rmtree(root)
        if first == 0:
            print(f"calls: {number - 1}")
            return


if __name__ == "__main__":
    main()
