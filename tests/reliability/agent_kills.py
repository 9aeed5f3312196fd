"""Kill agents, their MCP servers, daemons and dispatchers at every step of runs that call tools; see what is left.

`python tests/reliability/agent_kills.py --each 1 --seed 1` kills each victim once at each step; with `--each 5` five
times, and each time a little later. Each event of a plan names a fault, and the first run that is about it suffers it;
the next one is spared.
"""

# ruff: noqa: E402, I001 - prloom is to be that of this tree, and not one that is installed

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "kit"), str(HERE.parents[1])]

import psutil
from prloom.agents import run_folder
from prloom.engine.bus import entries
from prloom.model.event import Event, Target
from prloom.storage.journal import Journal
from prloom.storage.safe_dir import SafeDir
import calling_programs
import environment
from real_command import Repository

VICTIMS = ("agent", "server", "both", "daemon", "dispatcher")
STEPS = ("begun", "served", "greeted", "called", "answered", "told", "heard", "half", "said")
"""Where a run is: its program begun, its server started and greeted, each of two tools called and answered; what it has
to say half printed, and printed."""
PLANS = ("work", "two", "three", "four")
LATEST = 0.06
"""Seconds, at most, between a step and the kill, where a victim is killed at a step more than once."""
PATIENCE = 180.0
ENDED = frozenset({"handled", "triaged", "parked"})


class Fault(NamedTuple):
    """Who is killed, at which step, and how long after it."""

    victim: str
    step: str
    late: float = 0.0


class Load:
    """A repository with some plans, and an agent that does to itself, and to others, what the events say."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.repository = Repository(folder / "repo", folder)
        self.root = self.repository.root
        programs = folder / "programs"
        programs.mkdir()
        python = " ".join(environment.AGENT_PYTHON)
        launcher = programs / "claude"  # a first line takes one argument only
        (programs / "claude.py").write_text(calling_programs.CLAUDE.format(python=python, home=str(folder)))
        launcher.write_text(f'#!/bin/sh\nexec {python} {programs}/claude.py "$@"\n')
        launcher.chmod(0o755)
        self.repository.env["PATH"] = f"{programs}:{self.repository.env['PATH']}"
        plugins = self.root / "prloom/plugins"
        (plugins / "teller").mkdir(parents=True)
        (plugins / "teller/daemon.py").write_text(calling_programs.DAEMON)
        (plugins / "teller/plugin.yaml").write_text(calling_programs.MANIFEST)
        (plugins / "marker.py").write_text(calling_programs.PLUGIN.format(marks=str(folder / "marks")))
        (self.root / "prloom.toml").write_text(calling_programs.CONFIG)
        for plan in PLANS:
            self.repository.git("branch", "--force", plan)
            self.repository.run("adopt", "--branch", plan)
        (folder / "marks").touch()
        self.names: list[str] = []
        self.log = folder / "start.log"
        self.starts = 0
        self._dispatcher: subprocess.Popen[bytes] | None = None

    def local(self, plan: str) -> Path:
        return self.root / "prloom/.local/worktrees" / plan / "prloom/.local"

    def runs(self) -> list[Path]:
        """Return the folders of all runs."""
        return [run for plan in PLANS for run in self.local(plan).glob("runs/*")]

    def tell(self, faults: Sequence[Fault]) -> None:
        """Have each plan suffer its share of the faults, one after the other, all plans at the same time."""
        queues = [list(faults[number :: len(PLANS)]) for number in range(len(PLANS))]
        waiting = [""] * len(PLANS)
        moved = time.monotonic()
        while any(queues) or any(waiting):
            self._keep_running()
            for number, plan in enumerate(PLANS):
                if waiting[number] and self._is_over(plan, waiting[number]):
                    waiting[number] = ""
                    moved = time.monotonic()
                if not waiting[number] and queues[number]:
                    waiting[number] = self._say(plan, queues[number].pop(0))
            if time.monotonic() - moved > PATIENCE:
                raise TimeoutError(f"nothing moves; {waiting} are open")
            time.sleep(0.05)

    def close(self) -> Iterator[str]:
        """End the dispatcher, and yield which processes were there that should not have been, before and after."""
        given_up = time.monotonic() + PATIENCE
        while (left := self.processes("PRLOOM_RUN")) and time.monotonic() < given_up:
            time.sleep(0.05)
        yield from (f"left of a run: {each}" for each in left)
        self._keep_running()
        if self._dispatcher is not None:
            self._wait_for_life()
            self._dispatcher.send_signal(signal.SIGTERM)
            self._dispatcher.wait(PATIENCE)
        while (left := self.processes("HOME")) and time.monotonic() < given_up:
            time.sleep(0.05)
        yield from (f"left of the dispatcher: {each}" for each in left)

    def processes(self, variable: str) -> list[list[str]]:
        """Return the command lines of what runs for this repository, and has a variable."""
        found = []
        for each in psutil.process_iter():
            with suppress(psutil.Error):
                environ = each.environ()
                if environ.get("HOME") == str(self.home) and variable in environ and each.status() != "zombie":
                    found.append(each.cmdline())
        return found

    def _say(self, plan: str, fault: Fault) -> str:
        name = f"e{len(self.names) + 1}."
        self.names.append(name)
        (self.home / f"plan-{name}").write_text(plan)
        target = Target("local", {"plan": plan, "section": "replies"})
        body = f"{name} {fault.victim}:{fault.step}:{fault.late}"
        event = Event(id=f"ci:{name}", source="ci", type="note", body=body, reply_to=target)
        with SafeDir.make(self.local(plan), "bus") as bus:
            entries.append(Journal(bus, "events.jsonl"), [event], datetime.now(UTC))
        return name

    def _is_over(self, plan: str, name: str) -> bool:
        return any(
            change["state"] in ENDED for change in changes(self.local(plan)) if change["eventId"] == f"ci:{name}"
        )

    def _keep_running(self) -> None:
        if self._dispatcher is not None and self._dispatcher.poll() is None:
            return
        with self.log.open("ab") as log:
            self._dispatcher = subprocess.Popen(
                self.repository.command("start"), cwd=self.root, env=self.repository.env, stdout=log, stderr=log
            )
        self.starts += 1

    def _wait_for_life(self) -> None:
        assert self._dispatcher is not None
        owner = self.root / "prloom/.local/dispatcher.owner.json"
        while self._dispatcher.poll() is None:
            with suppress(OSError, ValueError):
                if json.loads(owner.read_text())["pid"] == self._dispatcher.pid:
                    return
            time.sleep(0.01)


def changes(local: Path) -> Iterator[dict[str, Any]]:
    """Yield what the decisions of a plan changed."""
    for each in lines(local / "bus/decisions.jsonl"):
        yield from each["data"].get("changes", ())


def lines(file: Path) -> list[Any]:
    """Return the complete lines of a file."""
    *whole, _ = file.read_bytes().split(b"\n") if file.exists() else [b""]
    return [json.loads(line) for line in whole]


def wrong(load: Load) -> Iterator[str]:
    """Yield every promise that was not kept."""
    said = "".join((load.local(plan) / "review.md").read_text() for plan in PLANS)
    for name in load.names:
        if said.count(f"Thought {name}") != 1:
            yield f"{name} has {said.count(f'Thought {name}')} replies"
    ends = Counter(c["eventId"] for plan in PLANS for c in changes(load.local(plan)) if c["state"] in ENDED)
    yield from (f"{event} ended {times} times" for event, times in ends.items() if times != 1)
    yield from _calls(load, said)
    yield from _messages(load)
    for run in load.runs():
        yield from (f"activity of {run.name}: {each}" for each in _activity(run))
    told = load.log.read_text()
    yield from (f"output: {line}" for line in told.splitlines() if "Traceback" in line or "a bug" in line)


def _calls(load: Load, said: str) -> Iterator[str]:
    """No call ran twice, and what an agent was told has happened: the comment of each was posted once."""
    marks = Counter((load.home / "marks").read_text().split())
    yield from (f"the call {word} ran {times} times" for word, times in marks.items() if times != 1)
    yield from (f"the comment of {word} is there twice" for word in marks if said.count(f"Marked {word}\n") > 1)
    for each in lines(load.home / "calls"):
        happened = each["tool"] == "tell" or said.count(f"Marked {each['word']}\n") == 1
        if each["success"] and not happened:
            yield f"the call {each['word']} succeeded, and its comment is not there"


def _messages(load: Load) -> Iterator[str]:
    """Each message of the daemon is an event once, and is there if the tool said so."""
    events = [line["data"] for plan in PLANS for line in lines(load.local(plan) / "bus/events.jsonl")]
    messages = Counter(each["context"]["messageId"] for each in events if each["type"] == "plugin_message")
    yield from (f"the message {name} was added {times} times" for name, times in messages.items() if times != 1)
    told = {each["word"] for each in lines(load.home / "calls") if each["tool"] == "tell" and each["success"]}
    yield from (f"the message {name} is lost" for name in sorted(told - set(messages)))


def _activity(run: Path) -> Iterator[str]:
    """Each run whose program was started has one start and one end, and the numbers have no gap."""
    events = [line["data"] for line in lines(run / "activity.jsonl")]
    kinds = Counter(each["type"] for each in events)
    times = int((run / run_folder.SUPERVISOR).exists() or (run / run_folder.OUTPUT).exists())
    if (kinds["AGENT_START"], kinds["AGENT_END"]) != (times, times):
        left = sorted(each.name for each in run.iterdir())
        yield f"{kinds['AGENT_START']} starts, {kinds['AGENT_END']} ends; in its folder are {left}"
    calls = Counter(each["data"]["toolCallId"] for each in events if each["type"] == "TOOL_CALL_START")
    ends = Counter(each["data"]["toolCallId"] for each in events if each["type"] == "TOOL_CALL_END")
    if calls != ends or set(calls.values()) > {1}:
        yield f"calls {dict(calls)}, ends {dict(ends)}"
    if [each["seq"] for each in events] != list(range(1, len(events) + 1)):
        yield f"numbers {[each['seq'] for each in events]}"


def chosen(each: int, sample: int | None, chance: random.Random) -> list[Fault]:
    """Return the faults: each victim at each step so often, later each time; or a sample of them."""
    faults = [
        Fault(victim, step, round(turn * chance.uniform(0, LATEST), 4))
        for turn in range(each)
        for victim in VICTIMS
        for step in STEPS
    ]
    chance.shuffle(faults)
    return faults[:sample]


def main(argv: Sequence[str]) -> int:
    """Kill, and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--only", nargs="*", default=[], help="faults, each as VICTIM:STEP")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args(argv)
    faults = [Fault(*each.split(":")) for each in given.only for _ in range(given.each)] or chosen(
        given.each, given.sample, random.Random(given.seed)
    )
    with TemporaryDirectory(prefix="prloom-agent-kills-") as folder:
        load = Load(Path(folder))
        begun = time.monotonic()
        load.tell(faults)
        found = list(load.close())
        seconds = time.monotonic() - begun
        found += wrong(load)
        told = {"seed": given.seed, "faults": len(faults), "seconds": round(seconds, 1), "starts": load.starts}
        told |= {"struck": len(list(load.home.glob("struck-*"))), "calls": len(lines(load.home / "calls"))}
        told |= {"runs": len(load.runs())}
    print(json.dumps({**told, "wrong": found}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
