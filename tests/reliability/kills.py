"""Kill the real dispatcher under load, round after round, and see that nothing was lost and nothing was done twice.

`python tests/reliability/kills.py --rounds 500 --seed 1`; the seed makes the rounds, and is printed.
"""

# ruff: noqa: E402, I001 - prloom is to be that of this tree, and not one that is installed

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "kit"), str(HERE.parents[1])]

from prloom.engine.bus import entries
from prloom.engine.views import doctor
from prloom.model.event import Event, Target
from prloom.storage.safe_dir import SafeDir
from prloom.storage.journal import Journal
from prloom.storage.paths import RepositoryPaths
from forge import ANSWER, Forge
from command_server import ForkedProcess
from real_command import Repository
from story import rebuilt

LONGEST = 0.12
"""Seconds, at most, between the dispatcher's first sign of life and the kill, in most rounds."""
LONGER = 0.5
"""The same where it is to come as far as GitHub, and back."""
PATIENCE = 60.0
CATCHING_UP = 900.0
"""Seconds in which what waits for GitHub is posted, a second after the other."""
CLOSING = 40
"""Runs, at most, in which the dispatcher gets done what is left."""
PLAN = "work"
NAME = re.compile(r"e\d+\.")

PLUGIN = """
def register(ctx):
    @ctx.hook("beforeTriage")
    def sort(plan, triage):
        for event in triage.events:
            name, kind = event.body.split()[:2]
            triage.update_state(name, lambda seen: (seen or 0) + 1)
            triage.update_global_state("shown", lambda seen: (seen or 0) + 1)
            if kind == "later" and triage.deferral(event.id) is None:
                triage.mark_event_deferred(event.id, "later", 100)
            elif kind != "think":
                triage.emit_comment(event.reply_to, f"Noted {name}")
                triage.mark_event_handled(event.id)
"""
AGENT = """
import json, re, sys
prompt = sys.stdin.read()
ids = [json.loads(found) for found in re.findall(r"BEGIN facts of event .*\\nid: (.*)", prompt)]
names = re.findall(r"BEGIN body of event .*\\n(e\\d+\\.)", prompt)
items = [{"eventId": i, "verdict": "answered", "reply": f"Thought {name}"} for i, name in zip(ids, names, strict=True)]
print(json.dumps({"items": items, "todos": []}))
"""
CONFIG = """acknowledge = ""
poll_interval = "1s"
[plugins]
enabled = ["sorter"]
isolation = "inline"
[backoff]
initial = "1s"
maximum = "1s"
[limits]
max_replies_per_thread_per_day = 0
"""


class Load:
    """A repository with two plans, for which news come in as long as it lives: on a bus, in a file and on GitHub."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        home = folder / "home"
        home.mkdir()
        self.repository = Repository(folder / "repository", home)
        self.repository.agent.write_text(AGENT)
        self.root = self.repository.root
        self.forge = Forge(self.repository, folder)
        toml = self.root / "prloom.toml"
        toml.write_text(toml.read_text() + CONFIG)
        self.repository.run("adopt", "--branch", PLAN)
        self.repository.run("adopt", str(self.forge.pull.number))
        plugins = self.root / "prloom/plugins"
        plugins.mkdir(parents=True)
        (plugins / "sorter.py").write_text(PLUGIN)
        self.local = self.root / "prloom/.local/worktrees" / PLAN / "prloom/.local"
        self.sent: list[str] = []
        self.strangers: set[str] = set()
        self.said = ""
        for each in ("ann", "eve"):
            self.comment(each)

    @property
    def locals(self) -> tuple[Path, Path]:
        return (self.local, self.forge.local)

    def _something(self) -> str:
        self.sent.append(f"e{len(self.sent) + 1}.")
        return f"{self.sent[-1]} {self.chance.choices(('note', 'later', 'think'), (12, 3, 1))[0]}"

    def append(self, count: int) -> None:
        """Append events, as any program does."""
        now = datetime.now(UTC)
        target = Target("local", {"plan": PLAN, "section": "replies"})
        events = [
            Event(id=f"ci:{len(self.sent)}", source="ci", type="note", body=self._something(), reply_to=target)
            for _ in range(count)
        ]
        with SafeDir.make(self.local, "bus") as bus:
            entries.append(Journal(bus, "events.jsonl"), events, now)

    def write(self) -> None:
        """Write an item into the file, as a person does; nobody else is at it."""
        file = self.local / "review.md"
        before, heading, after = file.read_text().partition("## ready\n")
        file.write_text(f"{before}{heading}\n- [ ] {self._something()}\n{after}")

    def comment(self, by: str = "") -> None:
        """Say something on GitHub; now and then it is a stranger who does."""
        by = by or self.chance.choices(("ann", "eve"), (4, 1))[0]
        self.forge.comment(by, self._something(), inline=self.chance.random() < 0.3)
        if by == "eve":
            self.strangers.add(self.sent[-1])

    def round(self) -> None:
        """Start the dispatcher with work before it, give it more, and kill it somewhere in that."""
        self.append(self.chance.randint(1, 4))
        if self.chance.random() < 0.2:
            self.write()
        longest = self.chance.choice((LONGEST, LONGER))
        if self.chance.random() < 0.25:
            self.comment()
        with (self.root / ".git/said").open("w+b") as file:
            dispatcher = self.repository.begin("start", said=file)
            self._wait_for_life(dispatcher)
            time.sleep(self.chance.uniform(0, longest / 2))
            self.append(self.chance.randint(0, 2))
            time.sleep(self.chance.uniform(0, longest / 2))
            dispatcher.send_signal(signal.SIGKILL)
            dispatcher.wait(PATIENCE)
            file.seek(0)
            self.said += file.read().decode()
        self.forge.look()

    def close(self) -> None:
        """Let the dispatcher get everything done."""
        for _ in range(CLOSING):
            ended = self.repository.run("start", "--once", limit=CATCHING_UP)
            self.said += ended.stdout + ended.stderr
            if all(self._quiet(local) for local in self.locals):
                return
            time.sleep(0.3)  # until what was put off is due

    @staticmethod
    def _quiet(local: Path) -> bool:
        state = state_of(local)
        return not state["queue"] and all(each["state"] == "held" for each in state["open"].values())

    def _wait_for_life(self, dispatcher: ForkedProcess) -> None:
        owner = self.root / "prloom/.local/dispatcher.owner.json"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and dispatcher.poll() is None:
            try:
                if json.loads(owner.read_text())["pid"] == dispatcher.pid:
                    return
            except (OSError, ValueError):
                pass
            time.sleep(0.002)


def state_of(local: Path) -> dict[str, Any]:
    """Return a plan's projection."""
    return cast("dict[str, Any]", json.loads((local / "bus/state/dispatcher.json").read_text()))


def wrong(load: Load) -> Iterator[str]:
    """Yield every promise that the files and GitHub do not keep."""
    names = {key: name for local in load.locals for key, name in _names(local)}
    changes = [change for local in load.locals for change in _changes(local)]
    trusted = set(load.sent) - load.strangers
    ends = Counter(names[change["eventId"]] for change in changes if change["state"] in {"handled", "triaged"})
    waiting = {names[key] for local in load.locals for key in state_of(local)["open"]}
    if waiting != load.strangers or set(ends) != trusted or set(ends.values()) != {1}:
        lost = sorted(trusted - set(ends))
        yield f"P1: open {sorted(waiting)}, lost {lost}, more than once {[e for e, n in ends.items() if n > 1]}"
    said = load.forge.said() + Counter(ANSWER.findall((load.local / "review.md").read_text()))
    if set(said) != trusted or set(said.values()) != {1}:
        odd = {each: said[each] for each in load.sent if said[each] != (each in trusted)}
        yield f"P3: replies, where there should be one: {odd}"
    yield from _counters(load, names, changes)
    yield from (f"output: {line}" for line in load.said.splitlines() if "Traceback" in line or "a bug" in line)
    yield from (f"GitHub: {line}" for line in load.forge.wrong())
    yield from _left_behind(load)
    for local in load.locals:
        yield from rebuilt(local, state_of(local))


def _names(local: Path) -> Iterator[tuple[str, str]]:
    for line in (local / "bus/events.jsonl").read_bytes().splitlines():
        event = json.loads(line)["data"]
        found = NAME.match(event["body"])
        yield event["id"], found[0] if found else event["id"]


def _changes(local: Path) -> Iterator[dict[str, Any]]:
    for line in (local / "bus/decisions.jsonl").read_bytes().splitlines():
        yield from json.loads(line)["data"].get("changes", ())


def _counters(load: Load, names: Mapping[str, str], changes: Sequence[dict[str, Any]]) -> Iterator[str]:
    own: dict[str, int] = {}
    for local in load.locals:
        own |= json.loads((local / "plugin-state/sorter.json").read_text())
    shared = json.loads((load.root / "prloom/.local/plugin-state-global/sorter.json").read_text())
    put_off = Counter(names[change["eventId"]] for change in changes if change["state"] == "deferred")
    due = {each: 0 if each in load.strangers else 1 + put_off[each] for each in load.sent}
    odd = {each: own.get(each) for each in load.sent if own.get(each, 0) != due[each]}
    if odd or shared["shown"] != sum(due.values()):
        yield f"P2 or P7: shown {odd}, in all {shared['shown']}"


def _left_behind(load: Load) -> Iterator[str]:
    where = RepositoryPaths(load.root, load.root / "prloom/.local/worktrees")
    found = tuple(doctor.findings(where, datetime.now(UTC) + timedelta(hours=2)))
    yield from (f"doctor: {each.what} ({each.where})" for each in found if each.severity == "error")
    named = {each.where.partition(", line ")[0] for each in found}
    for folder, _, names in os.walk(load.root / "prloom/.local"):
        for name in names:
            path = str(Path(folder, name))
            if (name.endswith(".tmp") or ".torn-" in name or ".corrupt-" in name) and path not in named:
                yield f"left behind, and doctor does not say so: {path}"


def main(argv: Sequence[str]) -> int:
    """Kill for so many rounds, and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args(argv)
    with TemporaryDirectory(prefix="prloom-kills-") as folder:
        load = Load(Path(folder), given.seed)
        begun = time.monotonic()
        for _ in range(given.rounds):
            load.round()
        seconds = time.monotonic() - begun
        load.close()
        found = list(wrong(load))
    told = {"seed": given.seed, "rounds": given.rounds, "events": len(load.sent), "seconds": round(seconds, 1)}
    told |= {"strangers": len(load.strangers), "on GitHub": load.forge.said().total()}
    print(json.dumps({**told, "cut short": len(load.forge.cut_short), "wrong": found}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
