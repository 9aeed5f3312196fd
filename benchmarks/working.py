"""How many TODOs prloom has done in a minute, where agents sleep, against the same programs without prloom."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import rig
from harness import Figure, Row, Sizes, blank

AGENT = """
cat >/dev/null
sleep {seconds}
date +%s.%N >>{log}
echo "$$" >"done-$$"
echo '{{"outcome": "done", "summary": "Done.", "commitMessage": "Do it"}}'
"""
CONFIG = """
[bridges.local]
enabled = false
[stages]
default = "command"
[agents]
workers = {workers}
[agents.command]
argv = ["sh", {agent}]
[limits]
max_runs_per_plan_per_day = 0
max_runs_per_day = 0
"""
TODOS = 10
_WAVES = 3
"""Runs of each worker that count; one more goes before, in which everything starts."""
_PATIENCE = 900.0


def todos(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Measure the rate at which workers end, with many plans that all have TODOs."""
    plans = [f"plan-{number}" for number in range(max(sizes.plans))]
    bare = _bare(sizes, _agent(folder / "bare", sizes))
    ours = _ours(sizes, folder / "ours", plans)
    work = f"runs of TODOs per minute, {len(plans)} plans with {TODOS} open TODOs each, {sizes.workers} workers"
    yield Figure(
        **{
            **vars(blank("working", work, f"the same programs, which sleep {sizes.sleep:g} s", 0.9, sense="at least")),
            "value": ours / bare,
            "subject_took": f"{ours:.3g} per minute",
            "yardstick_took": f"{bare:.3g} per minute",
        }
    )


def _agent(folder: Path, sizes: Sizes) -> Path:
    """Write the agent, which notes when it ends in the file `log` beside it, and return it."""
    folder.mkdir()
    agent = folder / "agent.sh"
    agent.write_text(AGENT.format(seconds=sizes.sleep, log=folder / "log"))
    return agent


def _ours(sizes: Sizes, folder: Path, plans: list[str]) -> float:
    agent = _agent(folder, sizes)
    config = CONFIG.format(workers=sizes.workers, agent=json.dumps(str(agent)))
    root = rig.repository(folder / "repository", plans, config)
    for name, value in (("user.name", "b"), ("user.email", "b@example.invalid")):
        rig.git(root, "config", name, value)
    with (root / ".git/info/exclude").open("a") as exclude:
        exclude.write("/log\n/home\n")  # what a dispatcher under measurement leaves is no worker's
    for plan in plans:
        text = "# Plan\n\n## TODO\n" + "".join(f"- [ ] Do {number}\n" for number in range(TODOS))
        (rig.bus(root, plan).parent / "plan.md").write_text(text)
    with rig.started(root):
        return _rate(agent.with_name("log"), sizes, root / "log")


def _bare(sizes: Sizes, agent: Path) -> float:
    """Run the program again and again, so many at once, as a shell would."""
    ending = threading.Event()

    def run(place: Path) -> None:
        place.mkdir()
        while not ending.is_set():
            subprocess.run(["sh", str(agent)], cwd=place, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    threads = [threading.Thread(target=run, args=(agent.with_name(f"at-{n}"),)) for n in range(sizes.workers)]
    for thread in threads:
        thread.start()
    try:
        return _rate(agent.with_name("log"), sizes, agent)
    finally:
        ending.set()
        for thread in threads:
            thread.join()


def _rate(log: Path, sizes: Sizes, look: Path) -> float:
    """Return how many runs end in a minute, once all workers have done one."""
    wanted = (1 + _WAVES) * sizes.workers
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        times = sorted(map(float, log.read_text().split())) if log.exists() else []
        if len(times) >= wanted:
            counted = times[sizes.workers - 1 : wanted]
            return 60 * (len(counted) - 1) / (counted[-1] - counted[0])
        time.sleep(0.05)
    raise TimeoutError(f"fewer than {wanted} runs ended; see {look}")


ROWS = (Row("working", todos),)
