"""What commands cost as whole processes, beside the smallest program that has click."""

from __future__ import annotations

import compileall
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import rig  # which makes the modules of tests/kit importable
from harness import Figure, Row, Sizes, alternate, blank, compared, timed

import prloom

import git_folder  # isort: skip

YARDSTICK = (sys.executable, "-c", "import click")
_LIMITS = {100: 2.5, 300: 3.0}
_ROUNDS = 21


def measure(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure `prloom --help`, and `prloom status` with many plans."""
    compileall.compile_dir(Path(prloom.__file__).parent, quiet=1)  # as in a wheel, also where nothing writes it
    command = str(Path(sys.executable).with_name("prloom"))
    rounds = _ROUNDS if sizes.rounds > 1 else 1
    yard = '`python -c "import click"`'
    empty = prepared(folder / "empty", 0)
    yield _figure(blank("help", "`prloom --help`", yard, 1.3), (command, "--help"), empty, rounds)
    for plans in sizes.plans:
        root = prepared(folder / str(plans), plans)
        figure = blank(f"status {plans}", f"`prloom status` with {plans} plans", yard, _LIMITS.get(plans, 3.0))
        yield _figure(figure, (command, "status"), root, rounds)
    most = max(sizes.plans)
    name = f"`prloom status` with {most} plans and {sizes.saved:,} events"
    root = prepared(folder / "events", most, events=sizes.saved)
    yield _figure(blank(f"status {most} {sizes.saved}", name, yard, 3.0), (command, "status"), root, rounds)


def _figure(figure: Figure, command: Sequence[str], cwd: Path, rounds: int) -> Figure:
    paired = alternate(timed(lambda: _run(command, cwd)), timed(lambda: _run(YARDSTICK, cwd)), rounds)
    return compared(figure, paired)


def _run(command: Sequence[str], cwd: Path) -> None:
    subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, check=True, env=rig.environ(cwd))


def prepared(root: Path, plans: int, *, events: int = 0) -> Path:
    """Make a repository with many plans, each with a deferred event, as a dispatcher leaves it.

    The plans share so many events that were taken in and are done.
    """
    git_folder.make(root / ".git")
    lines = b"".join(line + b"\n" for line in rig.lines(range(events // max(plans, 1))))
    state = {"seq": 0, "cursor": [1, len(lines), 0], "done": {"handled": events // max(plans, 1)}}
    for number in range(plans):
        local = root / f"prloom/.local/worktrees/pr-{number}/prloom/.local"
        (local / "bus/state").mkdir(parents=True)
        plan = {"id": f"pr-{number}", "branch": f"b{number}", "title": "A title", "status": "active", "pr": number}
        (local / "state.json").write_text(json.dumps(plan))
        (local / "plan.md").write_text("# A title\n\n## TODO\n\n- [x] one\n- [ ] two\n")
        (local / "bus/events.jsonl").write_bytes(lines)
        (local / "bus/decisions.jsonl").write_text("")
        (local / "bus/state/dispatcher.json").write_text(json.dumps({**state, "open": {"e": _deferred()}}))
    return root


def _deferred() -> Mapping[str, object]:
    """Return an open event that waits."""
    times = dict.fromkeys(("firstDeferredAt", "deferredUntil", "deadline"), rig.AT)
    wait = {"owner": "quiet_period", "reason": "waiting", "attempts": 1, "onExpire": "park", **times}
    event = {"id": "e", "state": "deferred", "position": [1, 0], "type": "pr_comment", "source": "github", "digest": ""}
    return {**event, "since": rig.AT, "deferral": wait}


ROWS = (Row("commands", measure),)
