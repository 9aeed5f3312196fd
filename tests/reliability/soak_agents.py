"""The agents of the soak: what a run does depends on the TODO, the number of its run and the seed alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import played_runs
from played_runs import Played
from soak_git import git

from prloom.agents.run_spec import RunSpec

SHARED = "shared.txt"
"""The file that everybody changes: here a branch conflicts with its base."""

BAD = "broken"
"""What the check does not let through."""

_FACTS = re.compile(r"BEGIN facts of event .*\nid: (.*)")
_BODY = re.compile(r"BEGIN body of event .*\n(.*)")


@dataclass
class AgentTotals:
    """What the runs cost, as their agent said."""

    runs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    behaviours: Counter[str] = field(default_factory=Counter)


Meanwhile = Callable[[RunSpec, Random], None]
"""Does what people do while a worker runs."""

BEHAVIOURS = {
    "good": 60,
    "breaks the check": 12,
    "changes the shared file": 8,
    "asks": 3,
    "nothing to do": 3,
    "changes CI": 3,
    "leaves a secret": 1,
    "fails": 4,
    "is limited": 2,
    "answers nonsense": 2,
    "does nothing": 2,
    "has more to do": 4,
    "commits itself": 3,
    "moves the branch": 1,
}


class Agents:
    """Plays the triage agent and the worker, and keeps the books."""

    def __init__(self, seed: str, clock: Callable[[], datetime], meanwhile: Meanwhile) -> None:
        self._seed = seed
        self._clock = clock
        self._meanwhile = meanwhile
        self.totals = AgentTotals()
        self._runs: Counter[str] = Counter()

    def play(self, spec: RunSpec, prompt: str, folder: Path) -> Played:
        """Play one run."""
        if spec.stage == "triage":
            return self._answer(json.dumps(_triaged(prompt)), "triage", Random(f"{self._seed}/{folder.name}"))
        title = _title(Path(spec.root, "prloom/.local/worktrees", spec.plan or ""), spec.todo or "")
        self._runs[title] += 1
        chance = Random(f"{self._seed}/{title}/{self._runs[title]}")
        return self._work(spec, title, chance)

    def _work(self, spec: RunSpec, title: str, chance: Random) -> Played:
        cwd, session = Path(spec.cwd), f"session-{len(title)}-{self._runs[title]}"
        self._meanwhile(spec, chance)
        solved = _solve(cwd)
        behaviour = "good" if solved else chance.choices(list(BEHAVIOURS), list(BEHAVIOURS.values()))[0]
        self.totals.behaviours[behaviour] += 1
        answer: dict[str, Any] = {"outcome": "done", "summary": f"{title}: done", "commitMessage": title}
        name = re.sub(r"\W+", "-", title)[:40]
        match behaviour:
            case "fails":
                return self._count(played_runs.failed(session=session), None)
            case "is limited":
                resets_at = self._clock() + timedelta(hours=chance.randint(1, 5))
                return self._count(played_runs.limited(resets_at, session=session), None)
            case "asks":
                answer = {"outcome": "blocked", "summary": "unclear", "question": f"How is {title} meant?"}
            case "nothing to do":
                answer = {"outcome": "nothing_to_do", "summary": "it is there already"}
            case "answers nonsense":
                return self._answer("I have done it, I think.", session, chance)
            case "does nothing":
                pass
            case _:
                _change(cwd, name, behaviour, spec, chance)
        if behaviour == "has more to do":
            answer["todos"] = [{"title": f"After {title}"[:60], "context": "more"}]
        return self._answer(json.dumps(answer), session, chance)

    def _answer(self, message: str, session: str, chance: Random) -> Played:
        tokens = None if chance.random() < 0.1 else (chance.randint(100, 9000), chance.randint(10, 900))
        cost = round(chance.random(), 4)
        if tokens is None:
            cost = 0.0
        return self._count(played_runs.answered(message, session=session, tokens=tokens, cost=cost), tokens, cost)

    def _count(self, played: Played, tokens: tuple[int, int] | None, cost: float = 0.0) -> Played:
        self.totals.runs += 1
        if tokens is not None:
            self.totals.input_tokens += tokens[0]
            self.totals.output_tokens += tokens[1]
            self.totals.cost += cost
        return played


def _change(cwd: Path, name: str, behaviour: str, spec: RunSpec, chance: Random) -> None:
    """Change files as a worker does."""
    text = BAD if behaviour == "breaks the check" else f"attempt {spec.attempt}"
    (cwd / "work").mkdir(exist_ok=True)
    (cwd / "work" / f"{name}.py").write_text(f"{text}\n{chance.random()}\n")
    if behaviour == "changes the shared file":
        (cwd / SHARED).write_text(f"{name}\n{chance.random()}\n")
    elif behaviour == "changes CI":
        (cwd / ".github/workflows").mkdir(parents=True, exist_ok=True)
        (cwd / ".github/workflows/ci.yml").write_text("on: push\n")
    elif behaviour == "leaves a secret":
        (cwd / "work/key.txt").write_text("ghp_" + "a1B2" * 9)
    elif behaviour in {"commits itself", "moves the branch"} and not git(cwd, "ls-files", "--unmerged"):
        git(cwd, "add", "--all", "work")
        git(cwd, "commit", "--quiet", "--no-verify", "-m", "by the agent")
        if behaviour == "moves the branch":
            git(cwd, "branch", "--force", f"moved-{name}", "HEAD~1")


def _solve(cwd: Path) -> bool:
    """Resolve the conflict of a rebase that stopped, if there is one."""
    file = cwd / SHARED
    if not file.exists() or "<<<<<<<" not in (text := file.read_text()):
        return False
    kept = [line for line in text.splitlines() if line[:7] not in {"<<<<<<<", "=======", ">>>>>>>"}]
    file.write_text("\n".join(kept) + "\n")
    return True


def _title(worktree: Path, todo: str) -> str:
    for line in (worktree / "prloom/.local/plan.md").read_text().splitlines():
        if todo and todo in line:
            return line.partition("] ")[2].partition(" <!--")[0]
    return todo


def _triaged(prompt: str) -> dict[str, Any]:
    """Answer every event as its first word says; anything else, such as a failed check, is to be done."""
    ids = [json.loads(found) for found in _FACTS.findall(prompt)]
    bodies = _BODY.findall(prompt) + [""] * len(ids)
    items, todos = [], []
    for event_id, body in zip(ids, bodies, strict=False):
        word = body.partition(" ")[0]
        if word == "Why":
            items.append({"eventId": event_id, "verdict": "answered", "reply": f"Because of {body}"})
        elif word == "Thanks":
            items.append({"eventId": event_id, "verdict": "acknowledged"})
        else:
            items.append({"eventId": event_id, "verdict": "todo"})
            todos.append({"title": f"{body or 'Repair'} ({event_id})"[:80], "eventIds": [event_id]})
    return {"items": items, "todos": todos}
