"""The story of a plan's pull request: it is opened, described, labelled and taken out of draft, and a comment answered.

prloom is broken before and after each request that changes something at the forge, whose state outlives it in a file.
The work itself is that of `work_story`.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import calls
import work_story
from calls import Call
from forge_bridge import ForgeBridge
from story import START, Story, clear, play

from prloom.api import Action, Author, BridgeContext, Delivered, Event, Polled, PullRequest, Refused, Target
from prloom.config import loading
from prloom.engine.adoption import adopt
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.model.action import AddLabels, Comment, RequestReviewers, ResolveThread
from prloom.workspace import repository

REQUEST = "forge request"
"""The protocol of what prloom asks the forge to change."""

ROUNDS = 12
STATE = "forge.state"
PLAN_TEXT = """---
reviewers: [bob]
labels: [fast]
---
# Work

## TODO
- [ ] Make it small
"""


class KeptForge(ForgeBridge):
    """A forge whose state is in a file; a request is told before it is done, and once more before its answer comes."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self.done: list[str] = []
        if file.exists():
            self.pulls, self.posts, self.done = pickle.loads(file.read_bytes())

    @contextmanager
    def _request(self, name: str) -> Iterator[None]:
        self._tell(f"send {name}")
        yield
        told = calls.layer()
        calls.put(None)
        self._file.write_bytes(pickle.dumps((self.pulls, self.posts, self.done)))
        calls.put(told)
        self._tell(f"answer {name}")

    def _tell(self, name: str) -> None:
        try:
            calls.tell(Call(name, "", REQUEST))
        except OSError as error:
            raise ConnectionError(str(error)) from error

    async def events(self, ctx: BridgeContext, state: Any) -> Polled:
        """Report ann's comment on a line, as soon as a plan has the pull request."""
        news: list[Event] = []
        if any(plan.pr for plan in ctx.plans) and not state:
            thread = {"pr": 1, "thread": "T1"}
            about: Mapping[str, Any] = {"reply_to": Target(self.name, thread), "context": thread, "pr": 1}
            by = Author("ann", "write")
            news = [Event(id="forge:1", source=self.name, type="pr_review_comment", body="Slow", author=by, **about)]
        return Polled(tuple(news), bool(state or news))

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        with self._request(type(action.payload).__name__):
            if not (ctx.uncertain and any(action.id in post for post in self.posts)):
                self._act(action)
        return Delivered(remote_id=f"remote-{action.id}")

    def _act(self, action: Action) -> None:
        match action.payload:
            case Comment(message=message):
                self.posts.append(f"{message} {action.id}")
            case AddLabels(labels=names) | RequestReviewers(reviewers=names):
                self.done.append(f"{type(action.payload).__name__} {' '.join(names)}")
            case ResolveThread():
                self.done.append(f"resolved {action.target.token['thread']}")
            case other:
                self.done.append(f"unexpected: {other}")

    async def open_pull_request(self, ctx: BridgeContext, **about: Any) -> PullRequest:
        with self._request("open"):
            before = len(self.pulls)
            found = await super().open_pull_request(ctx, **about)
            self.done += ["opened"] * (len(self.pulls) - before)
        return found

    async def describe_pull_request(self, ctx: BridgeContext, number: int, **about: Any) -> str:
        with self._request("describe"):
            return await super().describe_pull_request(ctx, number, **about)

    async def mark_ready(self, ctx: BridgeContext, number: int) -> None:
        with self._request("ready"):
            await super().mark_ready(ctx, number)


def _prepare() -> Path:
    base = Path(mkdtemp(prefix="prloom-pull-")).resolve()
    root = base / "project"
    work_story.make_project(base)
    config = loading.load(root, {})
    adopt.adopt_branch(repository.find(root), config, "work", plan_id=None, preset=None, now=START)
    (work_story.worktree(base) / "prloom/.local/plan.md").write_text(PLAN_TEXT)
    return base


def _tell(base: Path, telling: int) -> None:
    play(ROUNDS, START + timedelta(days=1 + telling), lambda now: _tick(base, now), lambda: _quiet(base))


async def _tick(base: Path, now: datetime) -> None:
    forge = LoadedBridge("forge", "test", KeptForge(base / STATE), ("forge",), timedelta(seconds=60))
    await work_story.tick(base, now, LoadedBridges((forge,)))


def _quiet(base: Path) -> bool:
    state = work_story.state_of(base)
    waits = state.get("open") or state.get("queue") or state.get("work")
    return len(state.get("doneTodos", ())) == 2 and not waits and state.get("pullRequest", {}).get("ready", False)


def _wrong(base: Path) -> list[str]:
    """The pull request was opened once, shows all, is ready, and the comment has one answer in a resolved thread."""
    forge, found = KeptForge(base / STATE), []
    expected = {"opened", "AddLabels fast", "RequestReviewers bob", "resolved T1"}
    if set(forge.done) != expected or forge.done.count("opened") != 1:
        found.append(f"the forge was asked for {forge.done}")
    replies = [post for post in forge.posts if "Done in" in post]
    if len(replies) != 1 or len(forge.posts) != 1:
        found.append(f"the comment was answered with {forge.posts}")
    (pull,) = forge.pulls.values()
    if pull.draft or pull.body.count("- [x] ") != 2 or pull.body.count("prloom:begin") != 1:
        found.append(f"the pull request is not as it should be: {pull}")
    if not _quiet(base):
        found.append(f"it is not done: {work_story.state_of(base)}")
    return found


PULL = Story(_prepare, _tell, _wrong, clear)
