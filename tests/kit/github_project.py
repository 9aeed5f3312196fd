"""A repository whose pull request is on a GitHub of the test's own, and the real command beside it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from fake_github import Hub
from real_command import Repository

from prloom.core.pull_requests.cockpit_markers import BEGIN


class Project:
    """A repository whose origin is a bare one, and whose pull request is on a GitHub of the test's own."""

    def __init__(self, repository: Repository, hub: Hub, api_url: str, origin: Path) -> None:
        self.repository = repository
        self.hub = hub
        self._origin = origin
        repository.git("init", "--quiet", "--bare", str(origin))
        repository.git("remote", "add", "origin", str(origin))
        repository.git("branch", "feature")
        repository.git("push", "--quiet", "origin", "main", "feature")
        self.pull = hub.pull("Make it fast", by="ann", branch="feature")
        self.keep_ref(self.pull.number)
        repository.git("branch", "-D", "feature")
        repository.env["GITHUB_TOKEN"] = hub.token("prloom")
        repository.configure(f'[bridges.github]\nrepo = "ada/engine"\napi_url = "{api_url}"\n')

    def keep_ref(self, number: int) -> None:
        """Have the origin keep a pull request's head, as GitHub does."""
        head = self.repository.git("rev-parse", "main").strip()
        self.repository.git("-C", str(self._origin), "update-ref", f"refs/pull/{number}/head", head)

    async def run(self, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(self.repository.run, *args, code=code)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Have `prloom start` at work."""
        running = await asyncio.to_thread(self.repository.begin, "start")
        try:
            yield
        finally:
            running.terminate()
            await asyncio.to_thread(running.wait, 60)

    @property
    def state(self) -> Mapping[str, Any]:
        """Return what `dispatcher.json` says of the plan; nothing where nothing was ever decided."""
        file = f"prloom/.local/worktrees/pr-{self.pull.number}/prloom/.local/bus/state/dispatcher.json"
        path = self.repository.root / file
        return json.loads(path.read_text()) if path.exists() else {}

    @property
    def replies(self) -> list[str]:
        """Return what prloom has posted; its comment with the cockpit is no reply."""
        return [post.body for post in self.hub.posts(by="prloom") if BEGIN not in post.body]

    async def status(self) -> Mapping[str, Any]:
        """Return the status document."""
        return cast("Mapping[str, Any]", json.loads((await self.run("status", "--json")).stdout))

    async def bridge(self) -> Mapping[str, Any]:
        """Return what the status document says of the bridge to GitHub."""
        (github,) = [bridge for bridge in (await self.status())["bridges"] if bridge["name"] == "github"]
        return cast("Mapping[str, Any]", github)

    async def plan(self) -> Mapping[str, Any]:
        """Return the one plan's part of the status document."""
        (plan,) = (await self.status())["plans"]
        return cast("Mapping[str, Any]", plan)
