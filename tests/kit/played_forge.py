"""A repository, its GitHub and its agents in one process: plans are worked on for real, only the runs are played.

What is posted on a pull request can be looked at as people see it there: hidden marks are left out, and times and the
ids of commits, which differ each time, are replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import layouts
import played_runs
from fake_github import Clock, FileDiff, Hub, Pull
from fake_github.things import Post, ReviewComment
from played_runs import Played, played_pool

from prloom.agents import demo
from prloom.agents.run_spec import RunSpec
from prloom.config import loading
from prloom.engine import configured_bridges
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.plan.agents import AgentTriager
from prloom.engine.plan.plugin_set import PluginSet
from prloom.engine.plan.rules import rules
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.work.todo_worker import TodoWorker
from prloom.storage.paths import RepositoryPaths
from prloom.transport.client import Client

CONFIG = """
[bridges.github]
repo = "ada/engine"
[bridges.local]
enabled = false
[stages]
default = "claude"
worker = {agent = "claude", model = "opus"}
"""
MANY = 10**9
_HIDDEN = re.compile(r"^<!--.*?-->\n*|[ \t]*<!--.*?-->", re.DOTALL | re.MULTILINE)
_COMMIT = re.compile(r"\b[0-9a-f]{12}\b")
_SIGNS = {"+1": "👍", "eyes": "👀", "rocket": "🚀", "hooray": "🎉"}

Answer = Callable[[str], Mapping[str, Any]]
"""Answers an event, by its text, or a TODO, by its title, as the agent of a stage does."""


class PlayedForge:
    """A repository whose branches are on a GitHub of the test's own; `triage` and `work` are what its agents answer.

    `triage` returns the item of an event with the `todos` that it becomes, `work` the answer of a worker.
    """

    def __init__(self, folder: Path, triage: Answer, work: Answer, *, config: str = "") -> None:
        self.root = folder / "project"
        self.clock = Clock()
        self.hub = Hub(self.clock)
        self._origin = folder / "origin.git"
        self._triage = triage
        self._work = work
        self._runs = 0
        self._titles: dict[str, str] = {}
        self._environ = {"PATH": f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)}
        self.hub.person("ada", "admin")
        self._environ["GITHUB_TOKEN"] = self.hub.token("ada")
        self._prepare(folder, config)
        self._bridges = configured_bridges.load(self.root, loading.load(self.root, {}))  # which keep nothing themselves
        self.hub.before_next(self._see, on="*", times=MANY)

    def _prepare(self, folder: Path, config: str) -> None:
        self.root.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Ada Lovelace")
        self.git("config", "user.email", "ada@example.org")
        self.git("commit", "--quiet", "--allow-empty", "--message=begin")
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(self._origin))
        self.git("remote", "add", "origin", str(self._origin))
        self.git("push", "--quiet", "origin", "main")
        (self.root / "prloom.toml").write_text(CONFIG + config)
        (folder / "bin").mkdir()
        (folder / "bin/claude").write_text("#!/bin/sh\nexit 1\n")
        (folder / "bin/claude").chmod(0o755)

    def git(self, *args: str, cwd: Path | None = None) -> str:
        """Run git in the operator's checkout."""
        return layouts.git(cwd or self.root, *args)

    def plan(self, name: str, text: str) -> None:
        """Queue a plan."""
        inbox = self.root / "prloom/.local/inbox"
        inbox.mkdir(parents=True, exist_ok=True)
        (inbox / f"{name}.md").write_text(text)

    def local(self, plan: str) -> Path:
        """Return where the files of a plan are."""
        return self.root / "prloom/.local/worktrees" / plan / "prloom/.local"

    @property
    def pull(self) -> Pull:
        """The one pull request."""
        (found,) = self.hub.world.pulls()
        return found

    async def tick(self, count: int = 1, **later: float) -> None:
        """Do so many full ticks of dispatchers that know nothing of an earlier one, each some minutes later."""
        for _ in range(count):
            await self._dispatcher().once()
            self.clock.advance(**(later or {"minutes": 2}))

    def _dispatcher(self) -> Dispatcher:
        async def sleep(seconds: float) -> None:
            self.clock.advance(seconds=seconds)

        config = loading.load(self.root, {})
        general = rules(config)
        where = RepositoryPaths(self.root, self.root / "prloom/.local/worktrees")
        registry = PlanRegistry(where, general, self.clock)
        pool = played_pool(self._play, self.clock, root=self.root, environ=self._environ, parallel=4, workers=4)
        return Dispatcher(
            registry,
            plugin_set=PluginSet([]),
            bridges=self._bridges,
            triager=AgentTriager(pool, registry.read_plan),
            todo_worker=TodoWorker(pool),
            rules=general,
            clock=self.clock,
            environ=self._environ,
            connect=partial(Client, sleep=sleep, transport=self.hub.transport()),
        )

    # ---- the agents

    def _play(self, spec: RunSpec, prompt: str, folder: Path) -> Played:
        self._runs += 1
        said: Mapping[str, Any]
        if spec.stage == "triage":
            said = self._triaged(prompt)
        else:
            title = self._title(spec.todo or "", prompt)
            said = dict(self._work(title))
            if said["outcome"] == "done":
                name = re.sub(r"\W+", "-", title)[:40]
                (Path(spec.cwd) / f"{name}.py").write_text(f"run {self._runs}\n")
        session = f"session-{self._runs}"
        return played_runs.answered(json.dumps(said), session=session, tokens=(100, 10), cost=0.01)

    def _triaged(self, prompt: str) -> Mapping[str, Any]:
        items, todos = [], []
        for event_id, text in demo.events(prompt):
            answer = dict(self._triage(text))
            todos += [{"context": text, "eventIds": [event_id], **todo} for todo in answer.pop("todos", ())]
            items.append({"eventId": event_id, **answer})
        return {"items": items, "todos": todos, "rebaseRequested": False}

    def _title(self, todo: str, prompt: str) -> str:
        """Return the title of a TODO; the prompt of a later attempt does not repeat it."""
        shown = demo.blocks(prompt).get("TODO", "").splitlines()
        found = (json.loads(line[7:]) for line in shown if line.startswith("title: "))
        return self._titles.setdefault(todo, next(found, ""))

    # ---- the branches, as GitHub has them

    def _see(self) -> None:
        """Have GitHub see what was pushed."""
        listed = self.git(
            "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads", cwd=self._origin
        ).splitlines()
        branches = self.hub.world.repository.branches
        heads = dict(line.split() for line in listed)
        if any(branches.get(name) != head for name, head in heads.items()):
            self.hub.world.changed()
            branches.update(heads)
        for pull in self.hub.world.pulls():
            head = heads.get(pull.head.ref)
            if head is not None and head != pull.head.sha:
                pull.head.sha = head
                pull.commits.append(head)
                pull.files = {"src/engine.py": FileDiff(path="src/engine.py", new=(1, 40), old=(1, 3))}
                pull.updated_at = self.clock()


# ---- as people see it


class Reader:
    """Shows texts as a page does: without what is hidden, and with the same names of commits each time."""

    def __init__(self, forge: PlayedForge) -> None:
        self._forge = forge
        self._commits: dict[str, str] = {}

    def text(self, body: str) -> str:
        """Return a text without its hidden marks; each commit has the name of its place in the order of the texts."""
        return _COMMIT.sub(lambda found: self._commit(found[0]), _HIDDEN.sub("", body)).strip()

    def _commit(self, short: str) -> str:
        number = len(self._commits) + 1
        return self._commits.setdefault(short, f"{number:x}" * 2 + "c0ffee" + f"{number:04x}")

    def posts(self) -> Sequence[Post]:
        """Return what was posted, in order; what begins a conversation on a line is followed by its replies."""
        world = self._forge.hub.world
        inline = list(world.review_comments.values())
        firsts: list[Post] = [*world.comments.values(), *(each for each in inline if not each.reply_to)]
        firsts += [review for review in world.reviews.values() if review.body]
        found: list[Post] = []
        for post in sorted(firsts, key=lambda post: post.id):
            found += [post, *(each for each in inline if each.reply_to == post.id)]
        return found

    def shown(self, post: Post) -> str:
        """Return a post as a quotation, with who wrote it where, and the reactions to it."""
        where = ""
        if isinstance(post, ReviewComment):
            where = ", in the same conversation" if post.reply_to else f", on `{post.path}`, line 3"
        edited = ", edited" if post.edited_at is not None else ""
        who = post.author.login if post.author else "nobody"
        lines = [f"> {line}".rstrip() for line in self.text(post.body).splitlines()]
        signs = " ".join(_SIGNS.get(each.content, each.content) for each in post.reactions)
        return "\n".join([f"**{who}**{where}{edited}:", "", *lines, *(["", signs] if signs else [])])
