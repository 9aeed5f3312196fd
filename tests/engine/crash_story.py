"""A whole event's life, told so that it can be killed before any change to any file; run as a program by the test.

The process forks for every telling, so that a kill is a real SIGKILL of a real process; it prints one JSON document.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from prloom.api import (
    Action,
    Author,
    BridgeContext,
    Comment,
    Delivered,
    Event,
    HookContext,
    Manifest,
    PluginContext,
    Polled,
    Refused,
    Target,
    TriageContext,
    marked,
    marker,
)
from prloom.api.context import Services
from prloom.config import loading
from prloom.core import triage
from prloom.core.dispatch import RunTriage
from prloom.engine.bus import plans
from prloom.engine.bus.event_store import EventStore
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime, reply_target, rules
from prloom.engine.plan_registry import PlanRegistry
from prloom.extensions import calling
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.extensions.host.interface import Registered
from prloom.model.decision import Change
from prloom.model.hook import HookCall, Outcome
from prloom.model.plan import Plan
from prloom.model.state import DispatchState
from prloom.storage.disk import REAL, Disk
from prloom.storage.faulty import WatchedDisk, kill
from prloom.storage.journal import Journal
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
PLAN = "story"
CONFIG = loading.load(Path("/nowhere"), {})
ROUNDS = 6
A_POLL = 5
SOON_AFTER = (1, 2, 3, 5, 8, 13, 21)
"""Changes of the second telling before which it is killed again."""


def remote_events() -> tuple[Event, ...]:
    """What the source has to tell: one event for every way that an event's life can go."""
    friend, stranger = Author("friend", "write"), Author("stranger", "none")

    def said(name: str, body: str, author: Author | None = friend, **more: Any) -> Event:
        reply_to = Target("story", {"thread": name})
        return Event(
            id=name, source="story", type="pr_comment", body=body, author=author, reply_to=reply_to, pr=7, **more
        )

    return (
        Event(id="merged", source="story", type="pr_merged", title="merged", pr=7),
        said("note", "!note this"),
        said("later", "!later please"),
        said("question", "why?"),
        said("change", "TODO rename it"),
        said("old", "first wording"),
        said("edit", "second wording", context={"supersedes": "old"}),
        said("spam", "buy this", stranger),
        said("vouch", "/prloom approve @stranger"),
    )


EXPECTED_DONE = {"handled": 3, "triaged": 6, "superseded": 1}


class KillingDisk(WatchedDisk):
    """Kills the process before its n-th change to a file; where `torn`, half of what is to be written gets there."""

    def __init__(self, at: int, *, torn: bool = False) -> None:
        self.changes: list[str] = []
        self._at = at
        self._torn = torn

    def about_to(self, operation: str) -> None:
        self.changes.append(operation)
        if len(self.changes) == self._at:
            kill(operation)

    def write(self, fd: int, block: bytes | memoryview) -> int:
        if self._torn and len(self.changes) + 1 == self._at:
            os.write(fd, block[: len(block) // 2])
        return super().write(fd, block)


class StoryBridge:
    """A source with a fixed past and a target that keeps what is posted, in one file that no kill of ours touches."""

    name = "story"
    targets = ("story",)

    def __init__(self, remote: Path) -> None:
        self._remote = remote

    async def events(self, ctx: BridgeContext, state: Any) -> Polled:
        """Return some events a poll, from the cursor on."""
        start = state or 0
        return Polled(remote_events()[start : start + A_POLL], min(start + A_POLL, len(remote_events())))

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        """Post, unless an earlier attempt may have and did."""
        if ctx.uncertain and action.id in posts(self._remote):
            return Delivered(remote_id=f"r-{action.id}")
        assert isinstance(action.payload, Comment)
        with self._remote.open("a") as file:
            file.write(json.dumps(f"{action.payload.message}\n\n{marker(action.id)}") + "\n")
        return Delivered(remote_id=f"r-{action.id}")


def posts(remote: Path) -> list[str]:
    """Return the ids of the actions that were posted, in order."""
    lines = remote.read_text().splitlines() if remote.exists() else []
    return [found for line in lines for found in marked(json.loads(line))]


class StoryHost:
    """A plugin that counts what it is shown, in both of its stores."""

    key = "counter"

    def __init__(self) -> None:
        self._ctx = PluginContext(self.key, Manifest(name=self.key), {}, folder=Path())
        self._ctx.register_hook("onEvent", count)
        self._ctx.register_hook("beforeTriage", sort)

    async def start(self) -> Registered:
        return Registered(hooks=("onEvent", "beforeTriage"))

    async def run(self, call: HookCall, services: Services, limit: timedelta) -> Outcome:
        await asyncio.sleep(0)
        return calling.run_hook(self.key, self._ctx.registrations, call, services)

    async def stop(self) -> None:
        return


def count(event: Event, ctx: HookContext) -> None:
    """Count every event once."""
    ctx.update_state("events", lambda seen: (seen or 0) + 1)
    ctx.update_global_state("events", lambda seen: (seen or 0) + 1)


def sort(plan: str, ctx: TriageContext) -> None:
    """Handle notes, put off what is for later once, and count each showing."""
    for event in ctx.events:
        ctx.update_global_state(f"shown {event.id}", lambda seen: (seen or 0) + 1)
        if event.body.startswith("!note"):
            ctx.emit_comment(event.reply_to, "Noted.")
            ctx.mark_event_handled(event.id)
        elif event.body.startswith("!later") and ctx.deferral(event.id) is None:
            ctx.emit_comment(event.reply_to, "Later.")
            ctx.mark_event_deferred(event.id, "later", 60_000)


class NoServices:
    """The services of a host whose plugin asks for none."""

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        raise NotImplementedError

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        raise NotImplementedError

    def read_plan(self, plan_id: str) -> str:
        raise NotImplementedError


class StoryTriager:
    """An agent that answers everything at once; its run is begun and settled as a real one is."""

    def slot(self) -> asyncio.Semaphore:
        return asyncio.Semaphore()

    def stop_orphans(self, folders: PlanFolders, state: DispatchState) -> None:
        return

    def services(self, runtime: PlanRuntime) -> Services:
        return NoServices()

    async def triage(self, runtime: PlanRuntime, step: RunTriage) -> None:
        opened = runtime.event_store.state.open
        changes = tuple(Change(event_id=i, verdict="started", state="pending") for i in step.event_ids if i in opened)
        runtime.event_store.commit("triage", "agent", changes=changes, run=f"run-{'-'.join(step.event_ids)}")
        await asyncio.sleep(0)
        self._settle(runtime, step.event_ids)

    async def recover(self, runtime: PlanRuntime, run: str, event_ids: tuple[str, ...]) -> None:
        self._settle(runtime, event_ids)

    def _settle(self, runtime: PlanRuntime, ids: tuple[str, ...]) -> None:
        state = runtime.event_store.state.open
        batch = tuple(
            event for i in ids if i in state and (event := runtime.event_store.texts.of(state[i])) is not None
        )
        answer = {
            "items": [
                {"eventId": e.id, "verdict": "todo" if "TODO" in e.body else "answered", "reply": f"On {e.id}."}
                for e in batch
            ],
            "todos": [{"title": e.body, "eventIds": [e.id]} for e in batch if "TODO" in e.body],
        }
        settled = triage.settle(
            triage.read(answer, ids),
            batch,
            state,
            now=runtime.clock(),
            policy=runtime.rules.backoff,
            plan_target=reply_target(runtime.plan),
        )
        runtime.event_store.commit(
            "triage", "agent", changes=settled.changes, actions=settled.actions, todos=settled.todos, duration_ms=1
        )


def prepare() -> Path:
    """Make a repository with one adopted plan, and return its root."""
    shm = Path("/dev/shm")
    root = Path(mkdtemp(prefix="prloom-story-", dir=shm if shm.is_dir() and os.access(shm, os.W_OK) else None))
    where = RepositoryPaths(root, root / "prloom/.local/worktrees")
    worktree = where.worktree(PLAN)
    worktree.mkdir(parents=True)
    with SafeDir.make(worktree, "prloom", ".local") as local:
        plans.save(local, Plan(id=PLAN, branch=PLAN, pr=7, forge="story"))
        data = {"id": "appended", "source": "ci", "type": "note", "body": "hm"}
        line = json.dumps({"ts": "", "kind": "event", "schemaVersion": 1, "data": data}).encode()
        Journal(local.make_sub("bus"), "events.jsonl").append([line])
    return root


def tell(root: Path, disk: Disk, *, telling: int = 0) -> None:
    """Run the dispatcher round after round, an hour apart, until everything is over; a later telling is a day later."""
    for hours in range(ROUNDS):
        asyncio.run(_round(root, disk, START + timedelta(days=telling, hours=hours)))
        if quiet(root):
            return


def quiet(root: Path) -> bool:
    """Whether all that the source has to tell was taken in, and nothing waits any more."""
    state = json.loads((local_of(root) / "bus/state/dispatcher.json").read_text())
    cursor = json.loads((root / "prloom/.local/bus/state/bridge.story.json").read_text())["state"]
    return cursor == len(remote_events()) and not state["open"] and not state["queue"]


def local_of(root: Path) -> Path:
    """Return the plan's `prloom/.local`."""
    return root / "prloom/.local/worktrees" / PLAN / "prloom/.local"


async def _round(root: Path, disk: Disk, now: datetime) -> None:
    general = rules(CONFIG)
    board = PlanRegistry(RepositoryPaths(root, root / "prloom/.local/worktrees"), general, lambda: now, disk=disk)
    bridge = LoadedBridge("story", "test", StoryBridge(root / "remote"), ("story",), timedelta(seconds=1))
    dispatcher = Dispatcher(
        board,
        plugin_set=PluginSet([RunningPlugin(StoryHost.key, "test", StoryHost(), "defer")]),
        bridges=LoadedBridges((bridge,)),
        triager=StoryTriager(),
        rules=general,
        clock=lambda: now,
    )
    await dispatcher.once()


def in_a_child(root: Path, disk: Disk, *, telling: int = 0) -> bool:
    """Tell the story in a process of its own; return whether it was killed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            tell(root, disk, telling=telling)
            code = 0
        except BaseException:  # noqa: BLE001 - the forked child must end here, whatever happens
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, "the story itself failed"
    return False


def wrong(root: Path) -> list[str]:
    """Return every promise that the files of a story that came to its end do not keep."""
    local = local_of(root)
    state = json.loads((local / "bus/state/dispatcher.json").read_text())
    found = []
    if state["open"] or state["done"] != EXPECTED_DONE:
        found.append(f"events: open {sorted(state['open'])}, done {state['done']}")
    queued = [json.loads(line)["data"]["id"] for line in (local / "bus/actions.jsonl").read_text().splitlines()]
    if sorted(queued) != sorted(set(queued)) or len(queued) != 9:
        found.append(f"outbox: {len(queued)} actions, {len(set(queued))} of them different")
    posted = posts(root / "remote")
    if sorted(posted) != sorted(set(queued)):
        found.append(f"posts: {len(posted)} for {len(set(queued))} actions")
    shared = json.loads((root / "prloom/.local/plugin-state-global/counter.json").read_text())
    own = json.loads((local / "plugin-state/counter.json").read_text())
    shown = {key: value for key, value in shared.items() if key.startswith("shown")}
    # The first wording is shown to nobody, but where half of a batch was written, and the edit came after the crash.
    seen = 9 if "shown old" in shown else 8
    if (
        own["events"] != seen
        or shared["events"] != seen
        or any(times != (2 if key == "shown later" else 1) for key, times in shown.items())
    ):
        found.append(f"counters: {own}, {shared}")
    if json.loads((local / "state.json").read_text())["status"] != "merged":
        found.append("state.json: the plan is not merged")
    if (local / "plan.md").read_text().count("TODO rename it") != 1:
        found.append("plan.md: not exactly one TODO")
    return found + list(rebuilt(local, state))


def rebuilt(local: Path, state: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is different when the projection is rebuilt from the decision log alone."""
    (local / "bus/state/dispatcher.json").unlink()
    with SafeDir.make(local) as folder:
        EventStore.open(folder.make_sub("bus"), lambda: START).save()
    again = json.loads((local / "bus/state/dispatcher.json").read_text())
    if again != state:
        yield f"rebuilt: {again} is not {state}"


def main(kind: str, part: int, parts: int) -> dict[str, Any]:
    """Kill the story `once` at every change, or `torn` in the middle of every write, or `twice`: soon after again."""
    root = prepare()
    counting = KillingDisk(0)
    tell(root, counting)
    changes = [at for at, change in enumerate(counting.changes, 1) if kind != "torn" or change == "write"]
    report: dict[str, Any] = {"changes": len(changes), "killed": 0, "tellings": 1, "wrong": wrong(root)}
    shutil.rmtree(root)
    for at in changes[part::parts]:
        for again in SOON_AFTER if kind == "twice" else (0,):
            root = prepare()
            report["killed"] += in_a_child(root, KillingDisk(at, torn=kind == "torn"))
            report["killed"] += again > 0 and in_a_child(root, KillingDisk(again), telling=1)
            tell(root, REAL, telling=2)
            report["wrong"] += [f"{kind} at {at}+{again}: {problem}" for problem in wrong(root)]
            report["tellings"] += 1
            shutil.rmtree(root)
        if report["wrong"]:
            break
    return report


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
