"""Measure how long an event that another process appends takes to reach a plugin's hook.

On the way the dispatcher takes the event in and commits that (one flushed append); the hook runs in the plugin's own
process. The yardstick of the same run is one flushed append on the same disk.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLUGIN = """
import pathlib, time

def register(ctx):
    @ctx.hook("onEvent")
    def seen(event, hook):
        with open(hook.repo_root / "seen", "a") as file:
            file.write(f"{event.id} {time.time()}\\n")

    @ctx.hook("beforeTriage")
    def done(plan, triage):
        for event in triage.events:
            triage.mark_event_handled(event.id)
"""

PRLOOM = (sys.executable, "-m", "prloom")


def prepare(root: Path) -> Path:
    """Make a repository with one plan and one plugin, and return the plan's journal of events."""
    git = ["git", "-c", "user.name=b", "-c", "user.email=b@example.invalid"]
    subprocess.run([*git, "init", "-q", "-b", "main", str(root)], check=True)
    subprocess.run([*git, "-C", str(root), "commit", "-q", "--allow-empty", "-m", "begin"], check=True)
    subprocess.run([*git, "-C", str(root), "branch", "work"], check=True)
    (root / "prloom/plugins").mkdir(parents=True)
    (root / "prloom/plugins/seen.py").write_text(PLUGIN)
    (root / "prloom.toml").write_text('[plugins]\nenabled = ["seen"]\n')
    subprocess.run([*PRLOOM, "-C", str(root), "adopt", "--branch", "work"], check=True, capture_output=True)
    return root / "prloom/.local/worktrees/work/prloom/.local/bus/events.jsonl"


def measure(root: Path, journal: Path, numbers: range) -> list[float]:
    """Append events one by one and return how long each took to reach the hook, in seconds."""
    seen = root / "seen"
    taken = []
    for number in numbers:
        data = {"id": f"e{number}", "source": "bench", "type": "note", "body": "x"}
        line = json.dumps({"ts": "", "kind": "event", "schemaVersion": 1, "data": data}) + "\n"
        time.sleep(0.05)
        begun = time.time()
        with journal.open("a") as file:
            file.write(line)
        while not (seen.exists() and f"e{number} " in seen.read_text()):
            time.sleep(0.0005)
        taken.append(float(seen.read_text().split(f"e{number} ")[1].split()[0]) - begun)
    return taken


def yardstick(root: Path, count: int) -> float:
    """Return how long the disk takes to keep one line, in seconds (median): append and flush."""
    taken = []
    with (root / "yardstick").open("a") as file:
        for _ in range(count):
            begun = time.perf_counter()
            file.write("x" * 120 + "\n")
            file.flush()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def main() -> None:
    """Print the median and the quartiles in milliseconds, and the ratio to the yardstick."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        journal = prepare(root)
        dispatcher = subprocess.Popen([*PRLOOM, "-C", str(root), "start"], stdout=subprocess.DEVNULL)
        try:
            measure(root, journal, range(3))
            taken = measure(root, journal, range(3, 53))
        finally:
            dispatcher.send_signal(signal.SIGINT)
            dispatcher.wait()
        one = yardstick(root, 200)
    low, median, high = (1000 * quartile for quartile in statistics.quantiles(taken, n=4))
    print(f"append to hook: median {median:.1f} ms, quartiles {low:.1f} to {high:.1f} ms, {len(taken)} events")
    print(f"yardstick, one flushed append: {1000 * one:.2f} ms; ratio {median / 1000 / one:.0f}")


if __name__ == "__main__":
    main()
