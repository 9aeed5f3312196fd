"""Measure what commands cost as whole processes, as ratios to `python -c "import click"` in the same run.

The limits of the design: `prloom --help` 1.5, `prloom status` with 100 plans 3.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

YARDSTICK = (sys.executable, "-c", "import click")
RUNS = 21
PLANS = 100


def prepare(root: Path) -> None:
    """Make a repository with many plans, each with a deferred event, as a dispatcher leaves it."""
    (root / ".git").mkdir()
    for number in range(PLANS):
        local = root / f"prloom/.local/worktrees/pr-{number}/prloom/.local"
        (local / "bus/state").mkdir(parents=True)
        plan = {"id": f"pr-{number}", "branch": f"b{number}", "title": "A title", "status": "active", "pr": number}
        (local / "state.json").write_text(json.dumps(plan))
        (local / "plan.md").write_text("# A title\n\n## TODO\n\n- [x] one\n- [ ] two\n")
        (local / "bus/events.jsonl").write_text("")
        (local / "bus/decisions.jsonl").write_text("")
        (local / "bus/state/dispatcher.json").write_text(json.dumps({"seq": 0, "open": {"e": deferred()}}))


def deferred() -> Mapping[str, object]:
    """Return an open event that waits."""
    times = dict.fromkeys(("firstDeferredAt", "deferredUntil", "deadline"), "2026-01-01T00:00:00.000Z")
    wait = {"owner": "quiet_period", "reason": "waiting", "attempts": 1, "onExpire": "park", **times}
    return {
        "id": "e",
        "state": "deferred",
        "position": [1, 0],
        "type": "pr_comment",
        "source": "github",
        "digest": "",
        "since": "2026-01-01T00:00:00.000Z",
        "deferral": wait,
    }


def ratios(commands: Mapping[str, Sequence[str]], cwd: Path) -> dict[str, float]:
    """Return each command's median cost in terms of the yardstick's, run in turn so that both meet the same machine."""
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(RUNS):
        unit = seconds(YARDSTICK, cwd)
        for name, command in commands.items():
            taken[name].append(seconds(command, cwd) / unit)
    return {name: statistics.median(values[1:]) for name, values in taken.items()}


def seconds(command: Sequence[str], cwd: Path) -> float:
    """Return the wall time of one run of a command, which must succeed."""
    begun = time.perf_counter()
    subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def main() -> None:
    """Print the ratios."""
    prloom = str(Path(sys.executable).with_name("prloom"))
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        found = ratios({"--help": (prloom, "--help"), "status": (prloom, "status")}, Path(folder))
    print(f"prloom --help: {found['--help']:.2f} times the yardstick (limit 1.5)")
    print(f"prloom status, {PLANS} plans: {found['status']:.2f} times the yardstick (limit 3)")


if __name__ == "__main__":
    main()
