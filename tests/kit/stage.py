"""A repository with plans and a dispatcher whose bridge, plugins, agent and clock the test plays itself.

Everything here implements the real protocols; nothing of prloom is replaced.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import git_folder
from fake_clock import Clock
from values import NoServices

from prloom.api import (
    Action,
    BridgeContext,
    Delivered,
    Event,
    Manifest,
    PluginContext,
    Polled,
    Refused,
    Target,
    marked,
    marker,
)
from prloom.api.context import Services
from prloom.config import loading
from prloom.config.models import Config
from prloom.core.answers import triage_answer
from prloom.core.commands.requests import OperatorRequest, RequestVerb
from prloom.core.events import triage
from prloom.core.events.dispatch import RunTriage
from prloom.engine.bus import plans
from prloom.engine.bus.event_store import EventStore
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.operator import control
from prloom.engine.plan.dependencies import PlanWorker
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin
from prloom.engine.plan.rules import rules
from prloom.engine.plan.runtime import PlanFolders, PlanRuntime, reply_target
from prloom.engine.plan_registry import PlanRegistry
from prloom.errors import ExtensionError
from prloom.extensions import calling
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.extensions.host import interface
from prloom.extensions.host.interface import HookFailed, Registered
from prloom.model import record
from prloom.model.decision import Change
from prloom.model.hook import HookCall, Outcome
from prloom.model.plan import Plan
from prloom.model.state import DispatchState
from prloom.storage import envelope
from prloom.storage.disk import REAL, Disk
from prloom.storage.journal import Journal
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir


class FunctionHost:
    """A host of a plugin that is a `register` function of the test; `meets` may wait before a call, or fail it."""

    def __init__(self, key: str, register: Callable[[PluginContext], None], folder: Path = Path()) -> None:
        self.key = key
        self._ctx = PluginContext(key, Manifest(name=key), {}, folder=folder)
        register(self._ctx)
        self.calls: list[HookCall] = []
        self.meets: Callable[[HookCall], Awaitable[None]] | None = None
        self.stopped = 0

    async def start(self) -> Registered:
        return interface.registered(self._ctx.registrations)

    async def run(self, call: HookCall, services: Services, limit: timedelta) -> Outcome:
        self.calls.append(call)
        try:
            async with asyncio.timeout(limit.total_seconds()):
                if self.meets is not None:
                    await self.meets(call)
                return await asyncio.to_thread(calling.run_hook, self.key, self._ctx.registrations, call, services)
        except TimeoutError as error:
            raise HookFailed(f"{self.key} overran its limit", kind="overran") from error
        except HookFailed:
            raise
        except ExtensionError as error:
            raise HookFailed(str(error)) from error

    async def stop(self) -> None:
        self.stopped += 1

    @property
    def shown(self) -> list[tuple[str, ...]]:
        """The ids of the events of each call."""
        return [tuple(event.id for event in call.events) for call in self.calls]


class ListBridge:
    """A source that tells what the test puts into `news`, and a target that keeps what is posted.

    `heads` and `bases` are those of the pull requests, `now` tells its time, `refuse` may answer for an action, `waits`
    may wait while it is asked or given an action; `permissions` are what it can tell of authors, and `asked` is whom it
    was asked about. `idle` is why it has nothing to ask for, `warnings` are what is wrong with it.
    """

    def __init__(self, name: str = "forge") -> None:
        self.name = name
        self.targets: Sequence[str] = (name,)
        self.news: list[Event] = []
        self.posts: list[str] = []
        self.actions_seen: list[Action] = []
        self.polls = 0
        self.heads: dict[int, str] = {}
        self.bases: dict[int, str] = {}
        self.now: Callable[[], datetime | None] = lambda: None
        self.permissions: dict[str, str] = {}
        self.refuse: Callable[[Action], Delivered | Refused | None] = lambda action: None
        self.fail: Callable[[], None] = lambda: None
        self.waits: Callable[[str], Awaitable[None]] | None = None
        self.asked: list[str] = []
        self.contexts: list[BridgeContext] = []
        self.idle: str | None = None
        self.warnings: Sequence[str] = ()

    async def events(self, ctx: BridgeContext, state: Any) -> Polled:
        self.polls += 1
        self.contexts.append(ctx)
        self.fail()
        if self.waits is not None:
            await self.waits("events")
        news = tuple(self.news[state or 0 :])
        return Polled(
            news, len(self.news), dict(self.heads), self.idle, self.now(), self.warnings, bases=dict(self.bases)
        )

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        self.actions_seen.append(action)
        if self.waits is not None:
            await self.waits("actions")
        answer = self.refuse(action)
        if answer is not None:
            return answer
        if ctx.uncertain and any(action.id in marked(post) for post in self.posts):
            return Delivered(remote_id=f"remote-{action.id}")
        message = getattr(action.payload, "message", type(action.payload).__name__)
        self.posts.append(f"{message}\n\n{marker(action.id)}")
        return Delivered(remote_id=f"remote-{action.id}", url=f"https://forge.example/{action.id}")

    async def permission(self, ctx: BridgeContext, login: str) -> str:
        self.asked.append(login)
        if self.waits is not None:
            await self.waits("permission")
        if login not in self.permissions:
            raise LookupError(f"nobody knows {login}")
        return self.permissions[login]

    @property
    def said(self) -> list[str]:
        """The messages that were posted, without their marks."""
        return [post.partition("\n\n")[0] for post in self.posts]


class ScriptedTriager:
    """An agent whose answer a function of the test gives: an answer object, or None for a run that failed."""

    def __init__(self, answer: Callable[[Sequence[Event]], Any] | None = None) -> None:
        self.batches: list[tuple[str, ...]] = []
        self.answer = answer or answered
        self.before: Callable[[], Awaitable[None]] | None = None
        self.slots = asyncio.Semaphore(4)

    def slot(self) -> asyncio.Semaphore:
        return self.slots

    def orphans(self, folders: PlanFolders, state: DispatchState) -> Sequence[str]:
        return ()

    async def stop(self, runs: Sequence[str]) -> None:
        return

    async def close(self) -> None:
        return

    def services(self, runtime: PlanRuntime) -> NoServices:
        return NoServices()

    async def triage(self, runtime: PlanRuntime, step: RunTriage) -> None:
        self.batches.append(step.event_ids)
        run = f"run-{len(self.batches)}"
        changes = tuple(Change(event_id=event_id, verdict="started", state="pending") for event_id in step.event_ids)
        runtime.event_store.commit("triage", "scripted", changes=changes, run=run)
        if self.before is not None:
            await self.before()
        self._settle(runtime, step.event_ids)

    async def recover(self, runtime: PlanRuntime, run: str, event_ids: tuple[str, ...]) -> None:
        self._settle(runtime, event_ids)

    def _settle(self, runtime: PlanRuntime, ids: tuple[str, ...]) -> None:
        opened = runtime.event_store.state.open
        batch = tuple(
            event for i in ids if i in opened and (event := runtime.event_store.texts.get(opened[i])) is not None
        )
        settled = triage.settle(
            triage_answer.read(self.answer(batch), ids),
            batch,
            opened,
            now=runtime.clock(),
            policy=runtime.rules.backoff,
            plan_target=reply_target(runtime.plan),
        )
        runtime.event_store.commit(
            "triage", "scripted", changes=settled.changes, actions=settled.actions, todos=settled.todos
        )


def answered(batch: Sequence[Event]) -> dict[str, Any]:
    """Answer every event."""
    items = [{"eventId": event.id, "verdict": "answered", "reply": f"re {event.id}"} for event in batch]
    return {"items": items, "todos": []}


class Stage:
    """A repository in a temporary folder, and what a test needs to play a dispatcher's life on it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = Clock()
        self.paths = RepositoryPaths(root, root / "prloom/.local/worktrees")
        self.bridge = ListBridge()
        self.bridges: list[ListBridge] = [self.bridge]
        self.triager = ScriptedTriager()
        self.todo_worker: PlanWorker | None = None
        self.hosts: list[FunctionHost] = []
        self.on_error: dict[str, Any] = {}
        self.disk: Disk = REAL
        self.config: Config = loading.load(root, {})

    def configure(self, toml: str) -> None:
        """Write prloom.toml."""
        (self.root / "prloom.toml").write_text(toml)
        self.config = loading.load(self.root, {})

    def adopt(self, plan_id: str = "pr-7", **fields: Any) -> Path:
        """Adopt a plan without git, and return its `prloom/.local`."""
        worktree = self.paths.worktree(plan_id)
        worktree.mkdir(parents=True)
        if (self.root / ".git").is_dir():
            git_folder.add_worktree(self.root / ".git", worktree)
        with SafeDir.make(worktree, "prloom", ".local") as local:
            local.make_sub("bus").close()
            plans.save(local, Plan(id=plan_id, **{"branch": plan_id, "pr": 7, "forge": "forge", **fields}))
        return worktree / "prloom" / ".local"

    def plugin(self, key: str, register: Callable[[PluginContext], None], *, on_error: str = "defer") -> FunctionHost:
        """Add a plugin."""
        host = FunctionHost(key, register, self.root)
        self.hosts.append(host)
        self.on_error[key] = on_error
        return host

    def append(self, *events: Event, plan_id: str = "pr-7") -> None:
        """Append events to a plan's bus, as another program would."""
        bus = self.local(plan_id) / "bus"
        with SafeDir.make(bus) as folder:
            now = record.iso(self.clock())
            Journal(folder, "events.jsonl").append(
                [envelope.encode("event", record.to_wire(event), now) for event in events]
            )

    def ask(self, verb: RequestVerb, *ids: str, **about: Any) -> None:
        """Write a request down, as a command does while a dispatcher runs."""
        with SafeDir.make(self.root, "prloom", ".local") as local:
            asked = OperatorRequest(control.request_id(self.clock()), verb, ids, **about)
            control.append_request(local, asked, self.clock())

    def rotate(self, plan_id: str = "pr-7") -> None:
        """Let a plan's next decision begin a new segment of the log."""
        with SafeDir.make(self.local(plan_id) / "bus") as bus:
            event_store = EventStore.open(bus, self.clock, rotate_at=1)
            event_store.commit("todo", "prloom")
            event_store.save()

    def dispatcher(self) -> Dispatcher:
        """Return a dispatcher of this moment; it holds the lock until its run is over."""
        general = rules(self.config)
        loaded = tuple(
            LoadedBridge(bridge.name, "test", bridge, tuple(bridge.targets), timedelta(seconds=60))
            for bridge in self.bridges
        )
        return Dispatcher(
            PlanRegistry(self.paths, general, self.clock, disk=self.disk),
            plugin_set=PluginSet(
                [RunningPlugin(host.key, "test", host, self.on_error[host.key]) for host in self.hosts]
            ),
            bridges=LoadedBridges(loaded),
            triager=self.triager,
            rules=general,
            clock=self.clock,
            todo_worker=self.todo_worker,
        )

    async def tick(self) -> None:
        """Do one full tick, as `prloom start --once` does."""
        await self.dispatcher().once()

    async def tick_after(self, **time: float) -> None:
        """Let so much time go by, and do one full tick."""
        self.clock.advance(**time)
        await self.tick()

    async def ticks_by_the_minute(self, count: int) -> None:
        """Do so many full ticks, and let a minute go by after each."""
        for _ in range(count):
            await self.tick()
            self.clock.advance(minutes=1)

    async def take_in(self, *events: Event, plan_id: str = "pr-7") -> None:
        """Append events to a plan's bus, as another program would, and do one full tick."""
        self.append(*events, plan_id=plan_id)
        await self.tick()

    async def carry_out(self, verb: RequestVerb, *ids: str, **about: Any) -> None:
        """Write a request down, as a command does, and do one full tick."""
        self.ask(verb, *ids, **about)
        await self.tick()

    async def poll(self, *events: Event) -> None:
        """Have the bridge tell these events after those that it has told, and do one full tick."""
        self.bridge.news.extend(events)
        await self.tick()

    @asynccontextmanager
    async def running(self, tick: timedelta = timedelta(milliseconds=5)) -> AsyncIterator[Dispatcher]:
        """Have a dispatcher at work, as `prloom start` has."""
        async with self.running_of(self.dispatcher(), tick) as dispatcher:
            yield dispatcher

    @asynccontextmanager
    async def running_of(
        self, dispatcher: Dispatcher, tick: timedelta = timedelta(milliseconds=5)
    ) -> AsyncIterator[Dispatcher]:
        """Have that dispatcher at work."""
        task = asyncio.create_task(dispatcher.run(tick))
        try:
            yield dispatcher
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    @asynccontextmanager
    async def rounds(self) -> AsyncIterator[Callable[..., Awaitable[None]]]:
        """Have one dispatcher at work that does a round, all that can be done by now, whenever the test asks for it."""
        async with self.rounds_of(self.dispatcher()) as again:
            yield again

    @asynccontextmanager
    async def rounds_of(self, dispatcher: Dispatcher) -> AsyncIterator[Callable[..., Awaitable[None]]]:
        """Have this dispatcher do a round whenever the test asks for it, after so much time as it says."""
        await dispatcher.plugin_set.start()

        async def again(**later: float) -> None:
            self.clock.advance(**later)
            dispatcher.poll()
            dispatcher.tick()
            await self.drain(dispatcher)
            dispatcher._publish()

        try:
            yield again
        finally:
            await dispatcher._stop()

    async def drain(self, dispatcher: Dispatcher) -> None:
        """Have this dispatcher do all that its ticks have begun."""
        while dispatcher._tasks or dispatcher._queue:
            if not dispatcher._queue:
                await dispatcher._tasks.wait()
            dispatcher._work_through(dispatcher._queue.drain())

    async def until(self, true: Callable[[], bool]) -> None:
        """Let everything else go on until something is true."""
        await until(true)

    def published(self, name: str) -> Any:
        """Return what the dispatcher last told of its `plugins`, its `bridges`, or the plans that are `unreadable`."""
        file = {"unreadable": "plans"}.get(name, name)
        return json.loads((self.root / f"prloom/.local/bus/state/{file}.json").read_text())[name]

    def local(self, plan_id: str = "pr-7") -> Path:
        return self.paths.worktree(plan_id) / "prloom" / ".local"

    def state(self, plan_id: str = "pr-7") -> Mapping[str, Any]:
        """Return what `dispatcher.json` says; nothing where nothing was ever decided."""
        file = self.local(plan_id) / "bus/state/dispatcher.json"
        return cast("Mapping[str, Any]", json.loads(file.read_text())) if file.exists() else {}

    def open(self, plan_id: str = "pr-7") -> Mapping[str, Any]:
        """Return the open events of a plan, by id."""
        return cast("Mapping[str, Any]", self.state(plan_id).get("open", {}))

    def decisions(self, plan_id: str = "pr-7") -> list[Mapping[str, Any]]:
        """Return the decision log's records."""
        file = self.local(plan_id) / "bus/decisions.jsonl"
        return [json.loads(line)["data"] for line in file.read_text().splitlines()] if file.exists() else []

    def fate(self, event_id: str, plan_id: str = "pr-7") -> list[str]:
        """Return the states that an event went through, in order."""
        changes = [change for decision in self.decisions(plan_id) for change in decision.get("changes", [])]
        return [change["state"] for change in changes if change["eventId"] == event_id]


def said(event_id: str, body: str = "hello", **fields: Any) -> Event:
    """Return a comment on the pull request of plan `pr-7`, by nobody in particular: the operator."""
    given = {"source": "forge", "type": "pr_comment", "pr": 7, "reply_to": Target("forge", {"thread": event_id})}
    return Event(id=event_id, body=body, **{**given, **fields})


async def until(true: Callable[[], object], *, seconds: float = 60, each: float = 0.001) -> None:
    """Let everything else go on until something is true, looking every `each` seconds; fail if it does not."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - the dispatcher under test tells nobody what a test wants to know
            await asyncio.sleep(each)
