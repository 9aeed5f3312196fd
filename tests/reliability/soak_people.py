"""The people of the soak: what they push, say, tick, merge and close, hour by hour and while a worker runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from soak_agents import SHARED
from soak_forge import SoakForge
from soak_git import git, refs
from stage import Stage

from prloom.agents.run_spec import RunSpec
from prloom.api import Author, PullRequest

BOXES = ("pause", "retry", "rebase")
COMMANDS = ("resume", "resume", "retry", "status", "rebase", "pause", "go", "dance")


@dataclass
class Pushed:
    """What people pushed: their commits by subject, and the tips of branches that they moved."""

    commits: dict[str, str] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    tips: set[str] = field(default_factory=set)
    branches: set[str] = field(default_factory=set)
    """Branches that people pushed to since the last check."""


class People:
    """Ann, who may write, the strangers, the bots, the CI of the forge, and the operator."""

    def __init__(self, seed: str, stage: Stage, forge: SoakForge, bare: Path, clone: Path) -> None:
        self._chance = Random(f"{seed}/people")
        self._stage = stage
        self._forge = forge
        self._bare = bare
        self._clone = clone
        self.pushed = Pushed()
        self._checked: set[str] = set()
        self._flaky: set[str] = set()
        self._said = 0
        git(clone.parent, "clone", "--quiet", "--template=", str(bare), str(clone))

    # ---- hour by hour

    def hour(self, plans: list[str]) -> None:
        """Do what people do in an hour."""
        self._weather()
        if self._chance.random() < 0.15:
            self._move_base()
        heads = refs(self._bare)
        self._forge.see(heads)
        for pull in self._open():
            self._talk(pull)
            self._ci(pull)
            self._touch(pull)
        for plan in plans:
            self._operate(plan)

    def _open(self) -> list[PullRequest]:
        return [pull for pull in self._forge.pulls.values() if pull.state == "open"]

    def _weather(self) -> None:
        """Let the forge go down, come back, and cut connections."""
        if self._forge.down:
            self._forge.down = self._chance.random() < 0.6
        else:
            self._forge.down = self._chance.random() < 0.02
        self._forge.lossy = self._chance.random() < 0.1

    def _talk(self, pull: PullRequest) -> None:
        self._said += 1
        chance = self._chance.random()
        if chance < 0.03:
            self._forge.comment(pull, "ann", f"Please add part {self._said}")
        elif chance < 0.04:
            self._forge.comment(pull, "ann", f"Why part {self._said}")
        elif chance < 0.05:
            self._forge.comment(pull, "ann", f"Thanks {self._said}")
        elif chance < 0.07:
            self._forge.comment(pull, "eve", f"Please add evil {self._said}", trust="none")
        elif chance < 0.08:
            self._forge.comment(pull, "renovate", f"Please add bump {self._said}", trust="none", bot=True)
        elif chance < 0.095:
            self._forge.comment(pull, "ann", f"/prloom {self._chance.choice(COMMANDS)}")
        elif chance < 0.1:
            self._forge.comment(pull, "eve", "/prloom resume", trust="none")
        elif chance < 0.105:
            self._tick_box(pull)

    def _tick_box(self, pull: PullRequest) -> None:
        """Tick a box in the cockpit, which the forge reports as an event of who did."""
        box, by = self._chance.choice(BOXES), self._chance.choice((("ann", "write"), ("eve", "none")))
        ticked = re.sub(rf"- \[ \](.*<!-- prloom:box {box} -->)", r"- [x]\1", pull.body)
        if ticked != pull.body:
            self._forge.pulls[pull.number] = replace(pull, body=ticked)
            self._forge.tell("box_ticked", pull, f"/prloom {box}", author=Author(by[0], by[1]), context={"box": box})

    def _ci(self, pull: PullRequest) -> None:
        """Report the checks of a new head: some fail, and some of these for no reason."""
        if pull.head in self._checked or pull.head == "sha":
            return
        self._checked.add(pull.head)
        often = 0.9 if pull.number % 5 == 0 else 0.15  # at some pull requests nothing helps
        if self._chance.random() < often:
            context = {"check": "tests", "conclusion": "failure", "commit": pull.head}
            body = f"1 failed in {pull.head[:7]}"
            self._forge.tell("check_failed", pull, body, title="tests failed", severity="error", context=context)

    def _touch(self, pull: PullRequest) -> None:
        """Push to the branch, merge or close the pull request, or open it again."""
        chance = self._chance.random()
        if chance < 0.01:
            self.push(pull.branch)
        elif chance < 0.013:
            self.amend(pull.branch)
        elif chance < 0.014:
            git(self._clone, "push", "--quiet", "origin", f":{pull.branch}", fails=True)
        elif chance < 0.017:
            self._forge.end(pull.number, "closed")
        elif chance < 0.045 and not pull.draft:
            self.merge(pull)
        for closed in [each for each in self._forge.pulls.values() if each.state == "closed"]:
            if self._chance.random() < 0.002 and closed.branch in refs(self._bare):
                self._forge.end(closed.number, "open")

    def _operate(self, plan: str) -> None:
        """Be the operator: now and then they let a plan go on, edit it, or stop it."""
        state, chance = self._stage.state(plan), self._chance.random()
        stopped = state.get("block") is not None or state.get("paused")
        if stopped and chance < 0.1:
            self._stage.ask("resume", plan)
        elif chance < 0.004:
            self._stage.ask("pause", plan)
        elif chance < 0.006:
            self._stage.ask("rebase", plan)
        elif chance < 0.008:
            self._stage.ask("block", plan, reason="not now")
        elif chance < 0.02:
            self.edit(plan)
        pull = next((each for each in self._open() if each.branch == plan), None)
        if state.get("questions") and pull is not None and self._chance.random() < 0.3:
            self._forge.comment(pull, "ann", "Thanks for asking, it is meant so")
        held = [key for key, event in state.get("open", {}).items() if event["state"] in {"held", "parked"}]
        if held and self._chance.random() < 0.03:
            self._stage.ask("drop" if self._chance.random() < 0.5 else "approve", *held)
        drafts = [key for key, action in state.get("queue", {}).items() if action.get("draft")]
        if drafts and self._chance.random() < 0.1:
            self._stage.ask("draft_send" if self._chance.random() < 0.5 else "draft_drop", *drafts)

    def answer(self, plans: list[str]) -> None:
        """Let every plan go on that is stopped, send or drop what waits, and merge what is ready."""
        for plan in plans:
            state = self._stage.state(plan)
            if (state.get("block") is not None or state.get("paused")) and self._chance.random() < 0.5:
                self._stage.ask("resume", plan)
        self._forge.see(refs(self._bare))
        for pull in self._open():
            if not pull.draft and not self.merge(pull):
                self._stage.ask("rebase", pull.branch)

    # ---- what they can do

    def edit(self, plan: str) -> None:
        """Edit the text of a plan: add a TODO at the end, move the first one there, strike one out."""
        file = self._stage.local(plan) / "plan.md"
        if not file.exists():
            return
        lines = file.read_text().splitlines()
        todos = [n for n, line in enumerate(lines) if line.startswith("- [ ]")]
        chance = self._chance.random()
        self._said += 1
        if chance < 0.5 or not todos:
            lines.append(f"- [ ] Do also {self._said}")
        elif chance < 0.8:
            lines.append(lines.pop(todos[0]))
        else:
            lines[todos[-1]] = lines[todos[-1]].replace("- [ ]", "- [-]", 1)
        file.write_text("\n".join(lines) + "\n")

    def push(self, branch: str) -> None:
        """Commit to a branch, as somebody who works on it too."""
        if not self._checkout(branch):
            return
        self._said += 1
        subject = f"Theirs {self._said} on {branch}"
        (self._clone / f"theirs-{self._said}.py").write_text("theirs\n")
        git(self._clone, "add", "--all")
        git(self._clone, "commit", "--quiet", "-m", subject)
        self._send(branch, subject)

    def amend(self, branch: str) -> None:
        """Rewrite the last commit of a branch, whosever it is, and push it by force."""
        if not self._checkout(branch) or not git(self._clone, "rev-list", "origin/main..HEAD"):
            return
        self._said += 1
        before = git(self._clone, "log", "-1", "--format=%s")
        self.pushed.removed.add(git(self._clone, "rev-parse", "HEAD"))
        self.pushed.commits.pop(before, None)
        subject = f"Amended {self._said} on {branch}"
        (self._clone / f"amended-{self._said}.py").write_text("theirs\n")
        git(self._clone, "add", "--all")
        git(self._clone, "reset", "--quiet", "--soft", "HEAD~1")
        git(self._clone, "commit", "--quiet", "-m", subject)
        self._send(branch, subject)

    def merge(self, pull: PullRequest) -> bool:
        """Merge a pull request; return whether it could be merged."""
        if not self._checkout("main"):
            return False
        git(
            self._clone,
            "merge",
            "--quiet",
            "--no-ff",
            "-m",
            f"Merge #{pull.number}",
            f"origin/{pull.branch}",
            fails=True,
        )
        if git(self._clone, "status", "--porcelain"):
            git(self._clone, "merge", "--abort", fails=True)
            return False
        git(self._clone, "push", "--quiet", "origin", "HEAD:main")
        self._forge.end(pull.number, "merged")
        return True

    def _move_base(self) -> None:
        """Change the shared file on the base, and report which pull requests conflict with that."""
        if not self._checkout("main"):
            return
        self._said += 1
        (self._clone / SHARED).write_text(f"base {self._said}\n")
        git(self._clone, "add", SHARED)
        git(self._clone, "commit", "--quiet", "-m", f"Base {self._said}")
        git(self._clone, "push", "--quiet", "origin", "HEAD:main")
        for pull in self._open():
            merged = git(self._clone, "merge-tree", "--write-tree", "HEAD", f"origin/{pull.branch}", fails=True)
            if not merged and pull.branch in refs(self._bare):
                context = {"base": "main", "commit": pull.head}
                self._forge.tell("merge_conflict", pull, title="conflicts with main", context=context)

    def _checkout(self, branch: str) -> bool:
        """Take a branch as the remote has it; return whether it is there."""
        git(self._clone, "fetch", "--quiet", "--prune", "origin")
        if branch not in refs(self._bare):
            return False
        git(self._clone, "checkout", "--quiet", "--force", "--detach", f"origin/{branch}")
        return True

    def _send(self, branch: str, subject: str) -> None:
        tip = git(self._clone, "rev-parse", "HEAD")
        self.pushed.branches.add(branch)
        git(self._clone, "push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{branch}")
        self.pushed.commits[subject] = tip
        self.pushed.tips.add(tip)

    # ---- while a worker runs

    def meanwhile(self, spec: RunSpec, chance: Random) -> None:
        """Do something while a worker runs on a plan."""
        branch = spec.plan or ""
        what = chance.random()
        if what < 0.03:
            self.push(branch)
        elif what < 0.04:
            self.amend(branch)
        elif what < 0.06:
            self.edit(branch)
