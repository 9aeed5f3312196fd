"""Three comments on GitHub and their answers: the dispatcher is broken at its requests and at what comes back.

GitHub is a process of its own, to which the requests come through a socket, so it outlives whatever happens to the
dispatcher. Time passes only when the dispatcher waits.
"""

# ruff: noqa: I001 - prloom is to be that of this tree, and not one that is installed

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import socket
import struct
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, cast

import calls
import httpx
from story import CONFIG, HERE, Story, clear, json_of

from fake_github import Clock, Hub
from fake_github.exchange import Request
from fake_github.transport import Transport
from stage import FunctionHost, ScriptedTriager

from bridges.github.settings import Config as GithubConfig
from prloom.api import PluginContext, Review, TriageContext, marked
from prloom.engine.bus import plans
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin
from prloom.engine.plan.rules import rules
from prloom.engine.plan_registry import PlanRegistry
from prloom.errors import PrloomError
from prloom.extensions import bridges
from prloom.extensions.bridges import LoadedBridges
from prloom.model.plan import Plan
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir
from prloom.transport.client import Client

PLAN = "pr-1"
SOON = timedelta(milliseconds=200)
"""After which a supervisor starts the dispatcher again."""
LATER = timedelta(minutes=3)
ROUNDS = 8
ANSWERS = ["Noted: And this", "Noted: Faster", "Noted: Nearly"]
HUBS: dict[Path, int] = {}
"""The processes that are GitHub, by the folder of their story."""


# ---- GitHub


def _hub() -> Hub:
    hub = Hub(Clock())
    hub.person("ann", "write")
    hub.person("prloom", "write")
    pull = hub.pull("Make it fast", by="ann")
    hub.comment(pull, "ann", "Faster")
    hub.inline(pull, "ann", "And this")
    hub.review(pull, "ann", "COMMENTED", "Nearly")
    return hub


def _serve(hub: Hub, listening: socket.socket) -> None:
    """Answer one connection after the other; what a client that is gone asked for is done all the same."""
    assert isinstance(hub.clock, Clock)
    token = hub.token("prloom")
    hub.clock.advance(minutes=1)
    while True:
        connection, _ = listening.accept()
        with connection:
            asked, now = take(connection)
            if now is not None:
                hub.clock.now = max(hub.clock.now, now)
            try:
                put(connection, _answer(hub, asked, token))
            except OSError:
                continue


def _answer(hub: Hub, asked: Request | str, token: str) -> Any:
    if asked == "hello":
        return token, hub.clock()
    if asked == "report":
        return [post.body for post in hub.posts(by="prloom")], [*hub.complaints, *hub.broken]
    assert isinstance(asked, Request)
    hub.enter(asked)
    outcome = hub.handle(asked)
    hub.leave(asked)
    return outcome


def put(pipe: socket.socket, value: Any) -> None:
    content = pickle.dumps(value)
    pipe.sendall(struct.pack("!I", len(content)) + content)


def take(pipe: socket.socket) -> Any:
    with pipe.makefile("rb") as file:
        (size,) = struct.unpack("!I", file.read(4))
        return pickle.loads(file.read(size))


def ask(root: Path, asked: Any, now: datetime | None = None) -> Any:
    """Ask GitHub something, and return its answer."""
    with _connected(root) as pipe:
        put(pipe, (asked, now))
        return take(pipe)


def _connected(root: Path) -> socket.socket:
    pipe = socket.socket(socket.AF_UNIX)
    pipe.connect(str(root / "remote"))
    return pipe


# ---- the dispatcher


class Wire:
    """The dispatcher's side of GitHub; a request that is broken off looks as one does on a real network."""

    def __init__(self, root: Path, clock: Clock) -> None:
        self._root = root
        self._clock = clock

    def enter(self, request: Request) -> None:
        return

    def leave(self, request: Request) -> None:
        return

    def handle(self, request: Request) -> Any:
        try:
            calls.request("send", request.url)
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        outcome = ask(self._root, request, self._clock.now)
        try:
            calls.request("receive", request.url)
        except OSError as error:
            raise httpx.ReadError(str(error)) from error
        return outcome


def answer(ctx: PluginContext) -> None:
    @ctx.hook("beforeTriage")
    def note(plan: str, triage: TriageContext) -> None:
        for event in triage.events:
            if event.type == "pr_review":
                triage.emit_review(event.reply_to, Review(verdict="comment", summary="Noted: " + event.body))
            else:
                triage.emit_comment(event.reply_to, "Noted: " + event.body)
            triage.mark_event_handled(event.id)


@cache
def _bridges() -> LoadedBridges:
    """Return the bridge, which remembers nothing itself; loaded once, because that takes as long as five tellings."""
    settings = {"github": GithubConfig(repo="ada/engine").model_dump(), "local": {"enabled": False}}
    return bridges.load(settings, repo_root=HERE.parents[1])


async def _round(root: Path, token: str, clock: Clock) -> None:
    async def sleep(seconds: float) -> None:
        clock.advance(seconds=seconds)

    general = rules(CONFIG)
    dispatcher = Dispatcher(
        PlanRegistry(RepositoryPaths(root, root / "prloom/.local/worktrees"), general, clock),
        plugin_set=PluginSet([RunningPlugin("note", "test", FunctionHost("note", answer), "defer")]),
        bridges=_bridges(),
        triager=ScriptedTriager(),
        rules=general,
        clock=clock,
        environ={"GITHUB_TOKEN": token},
        connect=partial(Client, sleep=sleep, transport=Transport(Wire(root, clock))),
    )
    await dispatcher.once()


# ---- the story


def _prepare() -> Path:
    root = Path(mkdtemp(prefix="prloom-github-"))
    worktree = root / "prloom/.local/worktrees" / PLAN
    worktree.mkdir(parents=True)
    with SafeDir.make(worktree, "prloom", ".local") as local:
        local.make_sub("bus").close()
        plans.save(local, Plan(id=PLAN, branch="topic", pr=1, forge="github"))
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(root / "remote"))
    listening.listen()
    HUBS[root] = os.fork()
    if HUBS[root] == 0:
        try:
            _serve(_hub(), listening)
        finally:
            os._exit(1)
    listening.close()
    return root


def _tell(root: Path, telling: int) -> None:
    """Run the dispatcher, and again now and then, until all is quiet."""
    for _ in range(ROUNDS):
        token, now = ask(root, "hello")
        try:
            asyncio.run(_round(root, token, Clock(now + SOON)))
        except PrloomError as error:  # the disk let no dispatcher start: a person starts it again
            logging.getLogger(__name__).info("not started: %s", error)
        if _quiet(root):
            return
        ask(root, "hello", now + LATER)


def _state(root: Path) -> Any:
    return json_of(root / "prloom/.local/worktrees" / PLAN / "prloom/.local/bus/state/dispatcher.json")


def _quiet(root: Path) -> bool:
    state = _state(root)
    return sum(state.get("done", {}).values()) == len(ANSWERS) and not state["open"] and not state["queue"]


def words(body: str) -> str:
    """Return a post without its marker and its signature."""
    return body.partition("-->")[2].removesuffix("\n\n*— prloom*").strip()


def _wrong(root: Path) -> list[str]:
    """P1, P3, and that GitHub got no request that is impolite or not as it describes them."""
    state = _state(root)
    posts, found = ask(root, "report")
    said = sorted(words(body) for body in posts if body)  # a thread reply makes an empty review
    if said != ANSWERS or len({mark for body in posts for mark in marked(body)}) != len(ANSWERS):
        found.append(f"P3: said {said}")
    if state.get("done") != {"handled": len(ANSWERS)} or state.get("delivered") != len(ANSWERS):
        found.append(f"P1: done {state.get('done')}, delivered {state.get('delivered')}, queue {state.get('queue')}")
    return cast("list[str]", found)


def _clear(root: Path) -> None:
    hub = HUBS.pop(root)
    os.kill(hub, signal.SIGKILL)
    os.waitpid(hub, 0)
    clear(root)


GITHUB = Story(_prepare, _tell, _wrong, _clear)
