"""A GitHub that outlives the dispatcher which is killed again and again: its people go on, and what was posted stays.

It answers on loopback from a thread of its own, as slowly to what writes as the real one, so that a kill may well come
between a post and the news of it.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from fake_github import Hub, serve
from fake_github.limits import Rules
from github_project import Project
from real_command import Repository

from prloom.api import marked

ANSWERS_AFTER = 0.1
"""Seconds between what a write does and the answer to it."""
MANY = 10**9
BY_THE_HOUR_UNLIMITED = Rules(per_hour=MANY, points_per_minute=MANY, writes_per_minute=MANY, writes_per_hour=MANY)
"""More rounds are killed here in an hour than GitHub would answer; a second between two writes is kept all the same."""
ANSWER = re.compile(r"(?:Noted|Thought) (e\d+\.)")

T = TypeVar("T")


class Forge:
    """GitHub with a pull request, `ann` who may write and `eve` who may not."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self.hub = Hub(lambda: datetime.now(UTC), limits=BY_THE_HOUR_UNLIMITED)
        for login, role in (("ann", "write"), ("eve", "none"), ("prloom", "write")):
            self.hub.person(login, role)
        self._loop = asyncio.new_event_loop()
        self._up = threading.Event()
        threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True).start()
        self._up.wait()
        self.project = Project(repository, self.hub, self.hub.api_url, folder / "origin.git")
        self.pull = self.project.pull
        self.hub.after_next(lambda: time.sleep(ANSWERS_AFTER), on="POST *", times=MANY)
        self.cut_short: set[str] = set()
        """The actions that were posted and whose dispatcher was killed before it had written that down."""

    async def _serve(self) -> None:
        async with serve(self.hub):
            self._up.set()
            await asyncio.Event().wait()

    def _there(self, do: Callable[[], T]) -> T:
        """Do something where the requests are answered, so that none sees half of it."""

        async def done() -> T:
            return do()

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(60)

    @property
    def local(self) -> Path:
        worktrees = self.project.repository.root / "prloom/.local/worktrees"
        return worktrees / f"pr-{self.pull.number}" / "prloom/.local"

    def comment(self, by: str, body: str, *, inline: bool) -> None:
        """Have somebody say something."""
        say = self.hub.inline if inline else self.hub.comment
        self._there(lambda: say(self.pull, by, body))

    def look(self) -> None:
        """Note what was posted by a dispatcher that has just been killed and has not written so."""
        file = self.local / "bus/state/bridge.github.actions.json"
        state: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        known = {receipt["actionId"] for receipt in state.get("receipts", ())}
        self.cut_short |= {action for body in self._posts() for action in marked(body)} - known

    def _posts(self) -> list[str]:
        return self._there(lambda: [post.body for post in self.hub.posts(by="prloom")])

    def said(self) -> Counter[str]:
        """Return how often what was answered here."""
        return Counter(ANSWER.findall("\n".join(self._posts())))

    def wrong(self) -> list[str]:
        """Return what a well-behaved client would not have done."""
        return [*self.hub.broken, *self.hub.complaints]
