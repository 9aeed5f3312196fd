"""Three comments on GitHub and their answers, told so that the dispatcher can be killed at any of its requests.

Run as a program by the test; it prints one JSON document. The dispatcher is a process of its own, forked for each
telling, so that a kill is a real SIGKILL. GitHub is this process, to which the requests come through a socket pair: it
chooses the moment. Time passes only when the dispatcher waits, so a telling takes a few hundredths of a second.
"""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import os
import pickle
import shutil
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Iterator
from datetime import timedelta
from functools import cache, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, Literal, NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "kit"))

from fake_github import Clock, Hub  # noqa: E402 - the kit is no package
from fake_github.exchange import Outcome, Request  # noqa: E402
from fake_github.transport import Transport  # noqa: E402
from stage import FunctionHost, ScriptedTriager  # noqa: E402

from prloom.api import PluginContext, Review, TriageContext, marked  # noqa: E402
from prloom.config import loading  # noqa: E402
from prloom.engine.bus import plans  # noqa: E402
from prloom.engine.dispatcher import Dispatcher  # noqa: E402
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin  # noqa: E402
from prloom.engine.plan.runtime import rules  # noqa: E402
from prloom.engine.plan_registry import PlanRegistry  # noqa: E402
from prloom.extensions import bridges  # noqa: E402
from prloom.extensions.bridges import LoadedBridges  # noqa: E402
from prloom.model.plan import Plan  # noqa: E402
from prloom.storage.paths import RepositoryPaths  # noqa: E402
from prloom.storage.safe_dir import SafeDir  # noqa: E402
from prloom.transport.client import Client  # noqa: E402

Moment = Literal["before", "after"]
MOMENTS: tuple[Moment, ...] = ("before", "after")
PLAN = "pr-1"
CONFIG = loading.load(Path("/nowhere"), {})
SHM = Path("/dev/shm")
BASE = TemporaryDirectory(prefix="prloom-github-", dir=SHM if SHM.is_dir() and os.access(SHM, os.W_OK) else None)
SOON = timedelta(milliseconds=200)
"""After which a supervisor starts the dispatcher again."""
LATER = timedelta(minutes=3)
ROUNDS = 8


class Point(NamedTuple):
    """Before or after which request of a telling the dispatcher is killed."""

    moment: Moment
    number: int

    def __str__(self) -> str:
        return f"{self.moment} request {self.number}"


# ---- the dispatcher


class Wire:
    """The dispatcher's side of GitHub: each request goes to the other process, with the time at which it is sent."""

    def __init__(self, pipe: socket.socket, clock: Clock) -> None:
        self._pipe = pipe
        self._clock = clock

    def enter(self, request: Request) -> None:
        return

    def leave(self, request: Request) -> None:
        return

    def handle(self, request: Request) -> Outcome:
        put(self._pipe, (request, self._clock.now))
        return take(self._pipe)


def put(pipe: socket.socket, value: Any) -> None:
    content = pickle.dumps(value)
    pipe.sendall(struct.pack("!I", len(content)) + content)


def take(pipe: socket.socket) -> Any:
    """Return what comes next; raises EOFError where nothing does."""
    (size,) = struct.unpack("!I", exactly(pipe, 4))
    return pickle.loads(exactly(pipe, size))


def exactly(pipe: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = pipe.recv(size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


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
def bridge(api_url: str) -> LoadedBridges:
    """Return the bridge, which remembers nothing itself; loaded once, because that takes as long as five tellings."""
    return bridges.load(
        {"github": {"repo": "ada/engine", "api_url": api_url}, "local": {"enabled": False}}, repo_root=ROOT
    )


async def one_round(root: Path, token: str, loaded: LoadedBridges, pipe: socket.socket, clock: Clock) -> None:
    async def sleep(seconds: float) -> None:
        clock.advance(seconds=seconds)

    general = rules(CONFIG)
    dispatcher = Dispatcher(
        PlanRegistry(RepositoryPaths(root, root / "prloom/.local/worktrees"), general, clock),
        plugin_set=PluginSet([RunningPlugin("note", "test", FunctionHost("note", answer), "defer")]),
        bridges=loaded,
        triager=ScriptedTriager(),
        rules=general,
        clock=clock,
        environ={"GITHUB_TOKEN": token},
        connect=partial(Client, sleep=sleep, transport=Transport(Wire(pipe, clock))),
    )
    await dispatcher.once()


# ---- GitHub, and what the dispatcher has on its disk


class World:
    """GitHub and the dispatcher's disk at one moment, when no dispatcher runs."""

    def __init__(self, hub: Hub, token: str, root: Path) -> None:
        self.hub = hub
        self.token = token
        self.root = root

    def copied(self) -> World:
        root = new_folder()
        shutil.copytree(self.root, root, dirs_exist_ok=True, symlinks=True)
        return World(copy.deepcopy(self.hub), self.token, root)

    def end(self) -> None:
        shutil.rmtree(self.root)

    @property
    def clock(self) -> Clock:
        assert isinstance(self.hub.clock, Clock)
        return self.hub.clock

    def tell(self, kill: Point | None = None) -> bool:
        """Run one full tick of a dispatcher, killed at a point if told to; return whether it was."""
        ours, theirs = socket.socketpair()
        loaded = bridge(self.hub.api_url)
        child = os.fork()
        if child == 0:
            ours.close()
            self._be_dispatcher(theirs, loaded)
        theirs.close()
        with ours:
            killed = self._be_github(ours, child, kill)
        _, status = os.waitpid(child, 0)
        assert killed or status == 0, f"the story itself failed: {status}"
        return killed

    def rehearse(self) -> None:
        """Be the dispatcher of one tick in this process, so that no fork imports what is first met on the way."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            theirs.close()
            try:
                self._be_github(ours, 0, None)
            finally:
                os._exit(0)
        ours.close()
        with theirs:
            asyncio.run(one_round(self.root, self.token, bridge(self.hub.api_url), theirs, Clock(self.clock.now)))
        os.waitpid(child, 0)
        self.end()

    def _be_dispatcher(self, pipe: socket.socket, loaded: LoadedBridges) -> None:
        code = 1
        try:
            asyncio.run(one_round(self.root, self.token, loaded, pipe, Clock(self.clock.now)))
            code = 0
        except BaseException:  # noqa: BLE001 - the forked child must end here, whatever happens
            traceback.print_exc()
        finally:
            os._exit(code)

    def _be_github(self, pipe: socket.socket, child: int, kill: Point | None) -> bool:
        number = 0
        while True:
            try:
                request, now = take(pipe)
            except EOFError:
                return False
            self.clock.now = max(self.clock.now, now)
            if kill == ("before", number):
                os.kill(child, signal.SIGKILL)
                return True
            self.hub.enter(request)
            outcome = self.hub.handle(request)
            self.hub.leave(request)
            if kill == ("after", number):
                os.kill(child, signal.SIGKILL)
                return True
            put(pipe, outcome)
            number += 1

    def settle(self) -> list[str]:
        """Start the dispatcher again, and then now and again until all is quiet; return what is wrong then."""
        self.clock.now += SOON
        for _ in range(ROUNDS):
            self.tell()
            if self._quiet():
                return self._wrong()
            self.clock.now += LATER
        return ["it never comes to rest", *self._wrong()]

    def _quiet(self) -> bool:
        state = self._state()
        return sum(state.get("done", {}).values()) == 3 and not state["open"] and not state["queue"]

    def _state(self) -> Any:
        file = self.root / "prloom/.local/worktrees" / PLAN / "prloom/.local/bus/state/dispatcher.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def _wrong(self) -> list[str]:
        state = self._state()
        posts = [post.body for post in self.hub.posts(by="prloom")]
        said = sorted(
            body.partition("-->")[2].strip() for body in posts if body
        )  # a thread reply makes an empty review
        marks = [mark for body in posts for mark in marked(body)]
        found = [*self.hub.complaints, *self.hub.broken]
        if said != ["Noted: And this", "Noted: Faster", "Noted: Nearly"] or len(set(marks)) != 3:
            found.append(f"said {said}")
        if state.get("done") != {"handled": 3} or state.get("delivered") != 3:
            found.append(f"done {state.get('done')}, delivered {state.get('delivered')}, queue {state.get('queue')}")
        return found


def begun() -> World:
    """Return the world before the dispatcher runs for the first time."""
    hub = Hub(Clock())
    hub.person("ann", "write")
    hub.person("prloom", "write")
    pull = hub.pull("Make it fast", by="ann")
    hub.comment(pull, "ann", "Faster")
    hub.inline(pull, "ann", "And this")
    hub.review(pull, "ann", "COMMENTED", "Nearly")
    world = World(hub, hub.token("prloom"), new_folder())
    worktree = world.root / "prloom/.local/worktrees" / PLAN
    worktree.mkdir(parents=True)
    with SafeDir.make(worktree, "prloom", ".local") as local:
        local.make_sub("bus").close()
        plans.save(local, Plan(id=PLAN, branch="topic", pr=pull.number, forge="github"))
    world.clock.advance(minutes=1)
    return world


def new_folder() -> Path:
    return Path(mkdtemp(dir=BASE.name))


# ---- the tellings


def points() -> Iterator[Point]:
    for number in range(1000):
        for moment in MOMENTS:
            yield Point(moment, number)


def main(part: int, parts: int, step: int) -> dict[str, Any]:
    """Kill at every point; where there is a `step`, again at every so manieth point of the telling after that."""
    report: dict[str, Any] = {"killed": 0, "wrong": []}
    start = begun()
    start.copied().rehearse()
    for index, point in enumerate(points()):
        if index % parts == part:
            world = start.copied()
            killed = world.tell(point)
            if killed and step:
                again(world, index % step, step, f"{point}", report)
            elif killed:
                see(world, f"{point}", report)
            world.end()
            if not killed or report["wrong"]:
                break
    start.end()
    return report


def again(killed_once: World, begin: int, step: int, where: str, report: dict[str, Any]) -> None:
    """Kill the next telling too, at every `step`-th point from the one at which to begin."""
    killed_once.clock.now += SOON
    for point in islice(points(), begin, None, step):
        world = killed_once.copied()
        killed = world.tell(point)
        if killed:
            see(world, f"{where}, {point}", report)
        world.end()
        if not killed or report["wrong"]:
            return


def see(world: World, where: str, report: dict[str, Any]) -> None:
    report["killed"] += 1
    report["wrong"] += [f"{where}: {each}" for each in world.settle()]


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    with BASE:
        print(json.dumps(main(*(int(each) for each in sys.argv[1:]))))
