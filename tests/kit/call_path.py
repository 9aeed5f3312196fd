"""Count the functions of prloom that a comment on GitHub passes through, from the poll to the reply.

`python tests/kit/call_path.py` prints them, by file. It traces a dispatcher while one comment comes in, a small program
answers it as the agent, and the answer is posted. It counts a function that one file calls in another, for that shows
how far a reader has to jump, and leaves out comprehensions and lambdas, the layers that everything uses (`BELOW`), and
each function that a round without a comment calls too. What only watches a run (`BESIDE`) is left out as well: it hands
nothing on, and how often it looks depends on how long the run takes.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

from fake_github import Clock, Hub  # noqa: E402 - the kit is no package
from fake_github.transport import Transport  # noqa: E402
from run_pools import StartForked  # noqa: E402 - the kit is no package
from stage import Stage  # noqa: E402

from bridges.github.settings import Config as GithubConfig  # noqa: E402
from prloom.engine.dispatcher import Dispatcher  # noqa: E402
from prloom.engine.plan.agent_pool import AgentPool  # noqa: E402
from prloom.engine.plan.agents import AgentTriager  # noqa: E402
from prloom.engine.plan.plugin_set import PluginSet  # noqa: E402
from prloom.engine.plan.rules import rules  # noqa: E402
from prloom.engine.plan_registry import PlanRegistry  # noqa: E402
from prloom.extensions import bridges  # noqa: E402
from prloom.transport.client import Client  # noqa: E402

AGENT = """
import json, re, sys
ids = [json.loads(found) for found in re.findall(r"BEGIN facts of event .*\\nid: (.*)", sys.stdin.read())]
items = [{"eventId": i, "verdict": "answered", "reply": "On it."} for i in ids]
print(json.dumps({"items": items, "todos": [], "rebaseRequested": False}))
"""
COUNTED = tuple(f"{ROOT / package}{os.sep}" for package in ("prloom", "bridges"))

_LAYERS = ("storage", "model", "transport", "exchange", "api", "config")
BELOW = (*(f"prloom/{layer}/" for layer in _LAYERS), *(f"prloom/{file.name}" for file in ROOT.glob("prloom/*.py")))
"""What every part of prloom uses."""

_ACTIVITY = ("prloom/core/activity", "prloom/engine/activity/", "prloom/agents/activity/")
BESIDE = (*_ACTIVITY, "prloom/agents/run_status.py")
"""What reads along while an agent works."""

Called = dict[tuple[str, str], set[str]]
"""The functions that were called, each with its file, and the files of their callers."""


class GitHubStage(Stage):
    """A stage whose bridge is the one to GitHub, to a GitHub of the test's own, and whose agent is a small program."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.clock = Clock()
        self.hub = Hub(self.clock)
        for name in ("ann", "prloom"):
            self.hub.person(name, "write")
        self.pull = self.hub.pull("Make it fast", by="ann")
        self.adopt("pr-1", branch="topic", pr=self.pull.number, forge="github")
        (root / "agent.py").write_text(AGENT)
        argv = json.dumps([sys.executable, str(root / "agent.py")])
        self.configure(f'[stages]\ndefault = "command"\n[sandbox]\nmode = "off"\n[agents.command]\nargv = {argv}\n')

    def dispatcher(self) -> Dispatcher:
        async def sleep(seconds: float) -> None:
            self.clock.advance(seconds=seconds)

        github = GithubConfig(repo="ada/engine", api_url=self.hub.api_url)
        tables = {"github": github.model_dump(), "local": {"enabled": False}}
        environ = {"PATH": os.environ["PATH"], "GITHUB_TOKEN": self.hub.token("prloom")}
        general = rules(self.config)
        pool = AgentPool(root=self.root, environ=environ, parallel=1, workers=1, start_pool=StartForked(environ))
        return Dispatcher(
            PlanRegistry(self.paths, general, self.clock),
            plugin_set=PluginSet([]),
            bridges=bridges.load(tables, repo_root=ROOT),
            triager=AgentTriager(pool, lambda plan_id: ""),
            rules=general,
            clock=self.clock,
            environ=environ,
            connect=partial(Client, sleep=sleep, transport=Transport(self.hub)),
        )


@contextmanager
def traced() -> Iterator[Called]:
    """Collect the functions that are called meanwhile, in any thread of this process."""
    called: Called = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or not counted(frame):
            return
        caller = frame.f_back
        while caller is not None and not counted(caller):
            caller = caller.f_back
        callers = called.setdefault((file_of(frame), frame.f_code.co_qualname), set())
        if caller is not None:
            callers.add(file_of(caller))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def counted(frame: FrameType) -> bool:
    """Whether a call is one of a named function of prloom or of a bridge."""
    return frame.f_code.co_filename.startswith(COUNTED) and not frame.f_code.co_name.startswith("<")


def file_of(frame: FrameType) -> str:
    return os.path.relpath(frame.f_code.co_filename, ROOT)


async def trace(root: Path) -> tuple[Called, Called]:
    """Return the functions that are called in a round at rest, and in one that answers a comment."""
    stage = GitHubStage(root)
    async with stage.rounds() as again:
        for _ in range(3):
            await again()
            stage.clock.advance(minutes=2)
        with traced() as at_rest:
            await again()
        stage.hub.comment(stage.pull, "ann", "Please make it faster")
        stage.clock.advance(minutes=2)
        with traced() as called:
            await again()
    replies = [post.body for post in stage.hub.posts(by="prloom")]
    assert len(replies) == 1, replies
    assert "On it." in replies[0]
    return at_rest, called


def run() -> tuple[Called, Called]:
    """Return the functions that are called in a round at rest, and in one that answers a comment."""
    folder = tempfile.mkdtemp()
    try:
        return asyncio.run(trace(Path(folder)))
    finally:
        shutil.rmtree(folder)


def call_path(at_rest: Called, called: Called) -> list[tuple[str, str]]:
    """Return the functions that a comment passes through, each with its file."""
    path = [function for function, callers in called.items() if callers - {function[0]} and function not in at_rest]
    return sorted(function for function in path if not function[0].startswith((*BELOW, *BESIDE)))


def main() -> None:
    run()  # modules that are imported on the way do not count
    path = call_path(*run())
    print(f"{len(path)} functions in {len({file for file, _ in path})} files")
    for file, name in path:
        print(f"  {file}: {name}")


if __name__ == "__main__":
    main()
