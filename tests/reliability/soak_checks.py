"""What must hold in the soak after every hour, and at its end."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from soak_git import git, refs

from prloom.core.work import commit_message
from prloom.engine.runs import listing
from prloom.engine.views import status
from prloom.model import record
from prloom.storage import run_log

if TYPE_CHECKING:
    from soak import Soak

    from prloom.model.run import RunRecord

MOST_PER_PLAN, MOST_PER_DAY, MOST_ATTEMPTS, MOST_FIXES = 12, 150, 3, 3
FIX = "Make the failed check pass"
"""How the title of a TODO for a failed check begins."""
CENT = 0.01
PATIENCE = timedelta(hours=6)
"""How long an event may be pending without a reason: the forge may be down meanwhile."""


class Checks:
    """Looks at all plans, the remote, the log of runs and the forge."""

    def __init__(self, soak: Soak) -> None:
        self._soak = soak
        self._tips: dict[str, str] = {}
        self._read: dict[str, int] = {}
        self._failures: Counter[tuple[str, str]] = Counter()
        self._fixes: Counter[str] = Counter()
        self._lifts: dict[tuple[str, str | None], datetime] = {}
        self._retried: set[tuple[str, str]] = set()
        self._allowed: set[str] = set()
        self.verdicts: Counter[str] = Counter()
        self._rebased: set[str] = set()

    def hourly(self) -> list[str]:
        """Return what is wrong after an hour."""
        now = self._soak.stage.clock()
        found: list[str] = []
        for plan in self._soak.begun:
            if self._soak.stage.paths.worktree(plan).exists():
                found += [*self._steps(plan), *self._waits(plan, now)]
        found += [*self._brakes(now), *self._branches()]
        self._soak.people.pushed.branches.clear()
        return [f"{record.iso(now)}: {each}" for each in found]

    # ---- waits

    def _waits(self, plan: str, now: datetime) -> Iterator[str]:
        """Nothing waits without a named reason and an end."""
        state = self._soak.stage.state(plan)
        work, block = state.get("work"), state.get("block")
        if block is not None and not (block.get("reason") and block.get("wayOn")):
            yield f"{plan} is blocked without a reason or a way on: {block}"
        named = block is not None or state.get("paused") or (work or {}).get("retryAt")
        if work is not None and not named and self._is_active(plan):
            yield f"{plan}: the work on {work['title']!r} stands in {work.get('phase')} and waits for nothing"
        if work is not None and work.get("retryAt") and not work.get("waitsFor"):
            yield f"{plan}: the work on {work['title']!r} waits for nobody knows what"
        for event in state.get("open", {}).values():
            age = now - record.moment(event["since"])
            if event["state"] == "deferred" and not (event.get("reason") and event.get("deferral")):
                yield f"{plan}: {event['id']} is deferred without a reason or an end"
            elif event["state"] in {"held", "parked"} and not event.get("reason"):
                yield f"{plan}: {event['id']} is {event['state']} without a reason"
            elif event["state"] == "pending" and age > PATIENCE and not state.get("paused"):
                yield f"{plan}: {event['id']} ({event['type']}) is pending for {age}"
        kept = state.get("pullRequest") or {}
        if kept.get("error") and not kept.get("retryAt"):
            yield f"{plan}: the pull request waits without an end: {kept['error']}"

    def _is_active(self, plan: str) -> bool:
        return bool(self._plan(plan).status == "active")

    def _plan(self, plan: str) -> Any:
        (found,) = status.read(self._soak.stage.paths, self._soak.stage.clock(), plan=plan).plans
        return found

    # ---- brakes

    def _brakes(self, now: datetime) -> Iterator[str]:
        """No run began over a limit, but for those that a person allowed."""
        ended = [run for run in run_log.today(self._soak.root, now) if run.stage != "check"]
        runs = [run for run in ended if not self._is_allowed(run)]
        if len(runs) > MOST_PER_DAY:
            yield f"{len(runs)} runs in a day"
        for plan, count in Counter(run.plan for run in runs).items():
            if count > MOST_PER_PLAN:
                yield f"{plan} has {count} runs in a day"

    def _is_allowed(self, run: RunRecord) -> bool:
        """Whether a person allowed this run: by lifting the limits for its TODO, or by a retry of its events."""
        lifted_at = self._lifts.get((run.plan, run.todo))
        return run.id in self._allowed or (lifted_at is not None and lifted_at <= run.started_at)

    def _note_retries(self, plan: str, decision: Mapping[str, Any]) -> None:
        for change in decision.get("changes", ()):
            event, verdict = (plan, change["eventId"]), change.get("verdict")
            if verdict == "retried":
                self._retried.add(event)
            elif verdict == "started" and event in self._retried:
                self._allowed.add(decision["run"])

    def _steps(self, plan: str) -> Iterator[str]:
        """Read the new steps of the work on a plan: no TODO fails more often than it may."""
        file = self._soak.stage.local(plan) / "bus/decisions.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        pushed = self._soak.people.pushed
        for entry in map(json.loads, lines[self._read.get(plan, 0) :]):
            decision = entry["data"]
            self._note_retries(plan, decision)
            head = (decision.get("ciFixes") or {}).get("head")
            theirs = plan in pushed.branches or head in pushed.tips  # its check may fail an hour later
            if decision.get("unblocked") or theirs:
                self._fixes[plan] = 0
            self._fixes[plan] += sum(todo["title"].startswith(FIX) for todo in decision.get("todos", ()))
            if self._fixes[plan] > MOST_FIXES:
                yield f"{plan} has {self._fixes[plan]} TODOs for failed checks, and no person made a head"
            step = decision.get("work")
            if step is None:
                continue
            verdict, key = step["verdict"], (plan, step["todoId"])
            self.verdicts[verdict] += 1
            if verdict == "lifted":
                self._lifts.setdefault((plan, step["todoId"]), record.moment(entry["ts"]))
            if verdict in {"failed", "violated"}:
                self._failures[key] += 1
                if self._failures[key] >= MOST_ATTEMPTS:
                    yield f"{plan}: {step['todoId']} failed {self._failures[key]} times and was tried again"
            elif verdict in {"taken", "retried", "done", "parked", "reopened", "removed", "answered"}:
                self._failures[key] = 0
            if (step.get("work") or {}).get("rebase"):
                self._rebased.add(plan)
        self._read[plan] = len(lines)

    # ---- git

    def _branches(self) -> Iterator[str]:
        """Look at the branches that moved."""
        tips = refs(self._soak.bare)
        for branch, tip in tips.items():
            if branch in self._soak.begun and self._tips.get(branch) != tip:
                yield from self.branch(branch)
        self._tips = tips

    def branch(self, branch: str) -> Iterator[str]:
        """One commit for each TODO and round, and what people made is as they made it."""
        form = "--format=%H%x00%an%x00%B%x01"
        text = git(self._soak.bare, "log", form, f"main..{branch}")
        commits = [each.strip("\n").split("\0") for each in text.split("\x01") if each.strip("\n")]
        done = Counter(
            (*read[commit_message.TODO], *read.get(commit_message.ROUND, ("1",)))
            for _, _, body in commits
            if commit_message.TODO in (read := commit_message.read(body))
        )
        for key, count in done.items():
            if count != 1:
                yield f"{branch} has {count} commits of {key}"
        shas = {sha for sha, *_ in commits}
        subjects = {body.partition("\n")[0] for *_, body in commits}
        for subject, sha in self._soak.people.pushed.commits.items():
            if not subject.endswith(f" on {branch}") or not git(self._soak.bare, "rev-list", "-1", f"main..{sha}"):
                continue
            if subject not in subjects:
                yield f"{branch} has lost {subject!r} of a person"
            elif sha not in shas and branch not in self._rebased:
                yield f"{branch}: {subject!r} of a person was rewritten"

    # ---- the end

    def ends(self) -> Mapping[str, str]:
        """Return how each plan ended: merged, closed, stopped with a name and a way on, or not at all."""
        return {plan: self._end(plan) for plan in self._soak.begun}

    def _end(self, plan: str) -> str:
        found = status.read(self._soak.stage.paths, self._soak.stage.clock(), plan=plan).plans
        if not found:
            return self._soak.forge_state(plan)
        (shown,) = found
        if shown.status in {"merged", "closed", "review", "paused"} and shown.block is None:
            return shown.status
        if shown.block is not None and shown.block.reason and shown.block.way_on:
            return "stopped"
        return f"unended: {shown.status}"

    def all_ended(self) -> bool:
        """Whether every plan is merged or closed."""
        return all(end in {"merged", "closed"} for end in self.ends().values())

    def unended(self) -> list[str]:
        """Return a line on each plan that has not ended."""
        return [f"{plan} did not end: {end}" for plan, end in self.ends().items() if end.startswith("unended")]

    def at_the_end(self) -> list[str]:
        """Return what is wrong in the end."""
        return [*self.unended(), *self._costs(), *self._replies(), *self._pushes()]

    def _costs(self) -> Iterator[str]:
        """What `costs` adds up is what the agents said, run by run."""
        totals = self._soak.agents.totals
        runs = listing.spent(self._soak.stage.paths, self._soak.stage.clock())
        groups = listing.costs_of(runs, None).groups
        sums = (
            sum(group.runs for group in groups),
            sum(group.input_tokens for group in groups),
            sum(group.output_tokens for group in groups),
        )
        said = (totals.runs, totals.input_tokens, totals.output_tokens)
        cost = sum(group.cost_usd or 0 for group in groups)
        if sums != said or abs(cost - totals.cost) > CENT / 10:  # each group is rounded to a millionth
            yield f"the costs are {(*sums, cost)}, where the agents said {(*said, totals.cost)}"

    def _replies(self) -> Iterator[str]:
        """One post for each action, one reply for each event and commit, and one pull request for each branch."""
        forge = self._soak.forge
        marks = Counter(mark for post in forge.posts for mark in re.findall(r"prloom:action (\S+)", post))
        yield from (f"posted {count} times: {mark}" for mark, count in marks.items() if count > 1)
        delivered = Counter(
            (action.related_event_id, found[0])
            for action in {action.id: action for action in forge.actions_seen}.values()
            if action.related_event_id and (found := re.search(r"Done in \w+", getattr(action.payload, "message", "")))
        )
        yield from (
            f"{event} was answered {count} times: {said}" for (event, said), count in delivered.items() if count > 1
        )
        yield from (f"{branch} has {n} pull requests" for branch, n in forge.opened.items() if n > 1)

    def _pushes(self) -> Iterator[str]:
        """No tip of prloom's was pushed twice, and none moved a branch back that was not rebased."""
        theirs = self._soak.people.pushed.tips
        for branch in self._soak.begun:
            log = self._soak.bare / "logs/refs/heads" / branch
            tips = [line.split()[:2] for line in log.read_text().splitlines()] if log.exists() else []
            ours = [(old, new) for old, new in tips if new not in theirs and set(new) != {"0"}]
            twice = [new for new, count in Counter(new for _, new in ours).items() if count > 1]
            if twice:
                yield f"{branch}: pushed twice: {twice}"
            for old, new in ours:
                made = set(old) == {"0"} or branch in self._rebased
                if not made and git(self._soak.bare, "merge-base", old, new, fails=True) != old:
                    yield f"{branch} was moved back from {old[:8]} to {new[:8]} without a rebase"
