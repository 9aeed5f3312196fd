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
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "kit"), str(HERE.parents[1])]

from prloom.engine.bus import entries
from prloom.engine.bus.ledger import Ledger
from prloom.engine.views import doctor
from prloom.model import record
from prloom.model.event import Event, Target
from prloom.storage.folder import Folder
from prloom.storage.journal import Journal
from prloom.storage.paths import RepositoryPaths
from real_command import Repository

LONGEST = 0.12
"""Seconds, at most, between the dispatcher's first sign of life and the kill."""
PATIENCE = 60.0
CLOSING = 20
"""Runs, at most, in which the dispatcher gets done what is left."""
PLAN = "work"

PLUGIN = """
def register(ctx):
    @ctx.hook("beforeTriage")
    def sort(plan, triage):
        for event in triage.events:
            triage.update_state(event.id, lambda seen: (seen or 0) + 1)
            triage.update_global_state("shown", lambda seen: (seen or 0) + 1)
            if event.body == "later" and triage.deferral(event.id) is None:
                triage.mark_event_deferred(event.id, "later", 100)
            elif event.body != "think":
                triage.emit_comment(event.reply_to, f"Noted {event.id}.")
                triage.mark_event_handled(event.id)
"""
AGENT = """
import json, re, sys
ids = [json.loads(found) for found in re.findall(r"^id: (.*)$", sys.stdin.read(), re.M)]
items = [{"eventId": i, "verdict": "answered", "reply": f"Thought {i}."} for i in ids]
print(json.dumps({"items": items, "todos": []}))
"""
CONFIG = """
[plugins]
enabled = ["sorter"]
isolation = "inline"
[backoff]
initial = "1s"
maximum = "1s"
"""


class Load:
    """A repository with a plan, whose events come in as long as it lives."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        home = folder / "home"
        home.mkdir()
        self.repository = Repository(folder / "repository", home)
        self.repository.agent.write_text(AGENT)
        self.root = self.repository.root
        self.repository.run("adopt", "--branch", PLAN)
        self.repository.configure(CONFIG)
        plugins = self.root / "prloom/plugins"
        plugins.mkdir(parents=True)
        (plugins / "sorter.py").write_text(PLUGIN)
        self.local = self.root / "prloom/.local/worktrees" / PLAN / "prloom/.local"
        self.sent: list[str] = []
        self.said = ""

    def append(self, count: int) -> None:
        """Append events, as any program does."""
        now = datetime.now(UTC)
        events = []
        for _ in range(count):
            event_id = f"e{len(self.sent) + 1}."
            body = self.chance.choices(("note", "later", "think"), (12, 3, 1))[0]
            target = Target("local", {"plan": PLAN, "section": "replies"})
            events.append(Event(id=event_id, source="ci", type="note", body=body, reply_to=target))
            self.sent.append(event_id)
        with Folder.make(self.local, "bus") as bus:
            entries.append(Journal(bus, "events.jsonl"), events, now)

    def round(self) -> None:
        """Start the dispatcher with work before it, give it more, and kill it somewhere in that."""
        self.append(self.chance.randint(1, 4))
        with (self.root / ".git/said").open("w+") as file:
            dispatcher = subprocess.Popen(
                self.repository.command("start"), cwd=self.root, env=self.repository.env, stdout=file, stderr=file
            )
            self._wait_for_life(dispatcher)
            time.sleep(self.chance.uniform(0, LONGEST / 2))
            self.append(self.chance.randint(0, 2))
            time.sleep(self.chance.uniform(0, LONGEST / 2))
            dispatcher.send_signal(signal.SIGKILL)
            dispatcher.wait(PATIENCE)
            file.seek(0)
            self.said += file.read()

    def close(self) -> None:
        """Let the dispatcher get everything done."""
        for _ in range(CLOSING):
            ended = self.repository.run("start", "--once")
            self.said += ended.stdout + ended.stderr
            state = self.state()
            if not state["open"] and not state["queue"]:
                return
            time.sleep(0.3)  # until what was put off is due

    def state(self) -> dict[str, Any]:
        """Return the projection."""
        return json.loads((self.local / "bus/state/dispatcher.json").read_text())

    def _wait_for_life(self, dispatcher: subprocess.Popen[bytes]) -> None:
        owner = self.root / "prloom/.local/dispatcher.owner.json"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and dispatcher.poll() is None:
            try:
                if json.loads(owner.read_text())["pid"] == dispatcher.pid:
                    return
            except (OSError, ValueError):
                pass
            time.sleep(0.002)


def wrong(load: Load) -> Iterator[str]:
    """Yield every promise that the files do not keep."""
    state = load.state()
    changes = list(_changes(load.local))
    ends = Counter(change["eventId"] for change in changes if change["state"] in {"handled", "triaged"})
    if state["open"] or set(ends) != set(load.sent) or set(ends.values()) != {1}:
        lost = sorted(set(load.sent) - set(ends))
        yield f"P1: open {sorted(state['open'])}, lost {lost}, more than once {[e for e, n in ends.items() if n > 1]}"
    text = (load.local / "review.md").read_text()
    said = Counter(re.findall(r"(?:Noted|Thought) (e\d+\.)\.", text))
    if set(said) != set(load.sent) or set(said.values()) != {1}:
        odd = {each: said[each] for each in load.sent if said[each] != 1}
        yield f"P3: replies, where there should be one: {odd}"
    yield from _counters(load, changes)
    yield from (f"output: {line}" for line in load.said.splitlines() if "Traceback" in line or "bug" in line)
    yield from _left_behind(load)
    yield from _rebuilt(load, state)


def _changes(local: Path) -> Iterator[dict[str, Any]]:
    for line in (local / "bus/decisions.jsonl").read_bytes().splitlines():
        yield from json.loads(line)["data"].get("changes", ())


def _counters(load: Load, changes: Sequence[dict[str, Any]]) -> Iterator[str]:
    own = json.loads((load.local / "plugin-state/sorter.json").read_text())
    shared = json.loads((load.root / "prloom/.local/plugin-state-global/sorter.json").read_text())
    put_off = Counter(change["eventId"] for change in changes if change["state"] == "deferred")
    odd = {each: own.get(each) for each in load.sent if own.get(each) != 1 + put_off[each]}
    if odd or shared["shown"] != len(load.sent) + put_off.total():
        yield f"P2: shown {odd}, in all {shared['shown']}"


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


def _rebuilt(load: Load, state: dict[str, Any]) -> Iterator[str]:
    (load.local / "bus/state/dispatcher.json").unlink()
    with Folder.make(load.local) as folder:
        wire = record.to_wire(Ledger.open(folder.make_sub("bus"), lambda: datetime.now(UTC)).state)
    state.pop("$check", None)
    if json.loads(json.dumps(wire)) != state:
        yield f"rebuilt: {wire} is not {state}"


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
    print(json.dumps({**told, "wrong": found}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
