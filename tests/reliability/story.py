"""The one story that is broken: the life of events through every write protocol, from the poll to the last reply."""

# ruff: noqa: E402 - prloom is to be that of this tree, and not one that is installed

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple, cast

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "kit"), str(HERE.parents[1])]

from stage import FunctionHost

from prloom.agents import run_folder, run_status, runner
from prloom.agents.agent import Agent, RunRequest, RunResult
from prloom.agents.programs import command
from prloom.agents.run_folder import ProcessExit
from prloom.agents.run_message import RunReply
from prloom.agents.run_spec import RunLimits, RunSpec
from prloom.api import (
    Action,
    Author,
    BridgeContext,
    Comment,
    Delivered,
    Event,
    HookContext,
    PluginContext,
    Polled,
    Refused,
    Target,
    TriageContext,
    marked,
    marker,
)
from prloom.config import loading
from prloom.core.commands.requests import OperatorRequest
from prloom.engine.bus import entries, plans
from prloom.engine.bus.event_store import EventStore
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.operator import control
from prloom.engine.plan.agent_pool import AgentPool
from prloom.engine.plan.agents import AgentTriager
from prloom.engine.plan.plugin_set import PluginSet, RunningPlugin
from prloom.engine.plan.rules import rules
from prloom.engine.plan.runtime import PlanFolders
from prloom.engine.plan_registry import PlanRegistry
from prloom.engine.runs.run_end import RunEnd
from prloom.engine.views import doctor
from prloom.errors import AgentError, PrloomError
from prloom.extensions.bridges import LoadedBridge, LoadedBridges
from prloom.model import record
from prloom.model.plan import Plan
from prloom.storage.journal import Journal
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
PLAN = "story"
A_POLL = 5
ROTATE_AT = 2500
ROUNDS = 12
CONFIG = loading.parse(
    {"stages": {"default": "command"}, "agents": {"command": {"argv": ["true"]}}, "outbox": {"others": "auto"}}
)
EXPECTED = {"handled": 3, "triaged": 6, "superseded": 1, "dropped": 1}
DONE = frozenset({"handled", "triaged", "superseded", "dropped"})
KNOWN = re.compile(
    r"(prloom\.toml|dispatcher\.(lock|owner\.json|json)|control\.jsonl?|state\.json|plan\.md|review\.md|\.gitignore"
    r"|(events|decisions|actions)(-\d{6})?\.(jsonl|index)|bridge\.story(\.actions|\.limits)?\.json|story\.lock"
    r"|(plugins|bridges|plans|work|counter)\.json|(story-7|\d{4}-\d\d-\d\d)\.jsonl|story\.json"
    r"|(prompt\.md|activity\.jsonl|(invocation|answer|exit|result)\.json|running\.lock)"
    r"|\d{8}T\d{9}Z-triage-[0-9a-f]{8})\Z"  # the note of a run, until the next start writes down the run's end
)
"""The names that files have which belong where they are."""


class Story(NamedTuple):
    """What is broken: how it begins, how it is told until nothing is left to do, and what is wrong then."""

    prepare: Callable[[], Path]
    tell: Callable[[Path, int], None]
    wrong: Callable[[Path], list[str]]
    clear: Callable[[Path], None]


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


class StoryBridge:
    """A source with a fixed past and a target that keeps what is posted, in one file that no kill of ours touches."""

    name = "story"
    targets: Sequence[str] = ("story",)

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


def counter(ctx: PluginContext) -> None:
    """Count what is shown, in both of the plugin's stores."""
    ctx.register_hook("onEvent", count)
    ctx.register_hook("beforeTriage", sort)


def count(event: Event, ctx: HookContext) -> None:
    """Count every event once."""
    ctx.update_state("events", lambda times: (times or 0) + 1)
    ctx.update_global_state(f"observed {event.id}", lambda times: (times or 0) + 1)


def sort(plan: str, ctx: TriageContext) -> None:
    """Handle notes, put off what is for later once, and count each showing."""
    for event in ctx.events:
        ctx.update_global_state(f"shown {event.id}", lambda times: (times or 0) + 1)
        if event.body.startswith("!note"):
            ctx.emit_comment(event.reply_to, "Noted.")
            ctx.mark_event_handled(event.id)
        elif event.body.startswith("!later") and ctx.deferral(event.id) is None:
            ctx.emit_comment(event.reply_to, "Later.")
            ctx.mark_event_deferred(event.id, "later", 60_000)


def prepared() -> Path:
    """Make a repository with one adopted plan, and return its root."""
    root = Path(mkdtemp(prefix="prloom-story-"))
    where = RepositoryPaths(root, root / "prloom/.local/worktrees")
    worktree = where.worktree(PLAN)
    worktree.mkdir(parents=True)
    with SafeDir.make(worktree, "prloom", ".local") as local:
        plans.save(local, Plan(id=PLAN, branch=PLAN, pr=7, forge="story"))
        data = {"id": "appended", "source": "ci", "type": "note", "body": "hm"}
        line = json.dumps({"ts": "", "kind": "event", "schemaVersion": 1, "data": data}).encode()
        Journal(local.make_sub("bus"), "events.jsonl").append([line])
    return root


def local_of(root: Path) -> Path:
    """Return the plan's `prloom/.local`."""
    return root / "prloom/.local/worktrees" / PLAN / "prloom/.local"


class InlineExecutor(ThreadPoolExecutor):
    """Runs what is given to a thread at once, so that every telling makes the same calls in the same order."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **more))
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            done.set_exception(error)
        return done


class SwiftPool(AgentPool):
    """Real runs in real folders; exchange, worker and agent are a few lines here, for their processes cost too much."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.runs = SwiftRuns()

    def prepare(
        self,
        folders: PlanFolders,
        config: Any,
        agent: Agent,
        run_id: str,
        request: RunRequest,
        *,
        limits: RunLimits | None = None,
        commit: str | None = None,
        read: tuple[str, ...] = (),
    ) -> Path:
        folders.local.make_sub("runs").close()
        folder = folders.runs / run_id
        spec = RunSpec(argv=("true",), cwd=str(request.cwd), environment=(), limits=limits or RunLimits())
        prompt = request.prompt.encode()
        run_folder.create(folder, {run_folder.PROMPT: prompt, run_folder.INVOCATION: run_folder.encode(spec)})
        return folder


class SwiftRuns:
    """Does a run while it is published."""

    async def start(self) -> None:
        """Return: there is nothing that could be missing."""

    async def outcome(self, folder: Path, *, found: bool = False) -> RunEnd:
        try:
            if not run_status.was_begun(folder):
                prompt = run_folder.read(folder, run_folder.PROMPT)
                if not prompt:  # a power cut has left the folder without it, as it may leave one without its message
                    lost = RunResult(status="interrupted", trouble="lost", error="the run was never published")
                    return RunEnd(RunReply(result=lost))
                _supervise(folder, prompt.decode())
        except OSError as error:
            raise AgentError(f"run {folder.name} could not be started: {error.strerror}; see to it") from error
        return RunEnd(RunReply(result=runner.conclude(folder, command, run_status.inspect(folder))))

    async def cancel(self, run: str, reason: str) -> bool:
        return False

    async def close(self) -> None:
        return


def _supervise(folder: Path, prompt: str) -> None:
    lock = run_folder.open_new(folder, run_folder.LOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ids = [json.loads(found) for found in re.findall(r"BEGIN facts of event .*\nid: (.*)", prompt)]
        items = [{"eventId": i, "verdict": "todo" if i == "change" else "answered", "reply": f"On {i}."} for i in ids]
        todos = [{"title": "TODO rename it", "eventIds": [i]} for i in ids if i == "change"]
        run_folder.write_new(folder, run_folder.ANSWER, json.dumps({"items": items, "todos": todos}).encode())
        exited = ProcessExit(code=0, ended_by="exit", started_at=START, ended_at=START, duration_ms=1)
        run_folder.replace(folder, run_folder.EXIT, run_folder.encode(exited))
    finally:
        os.close(lock)


# ---- the life of events


def _prepare() -> Path:
    root = prepared()
    junk = Event(id="junk", source="ci", type="note", body="junk", author=Author("stranger", "none"))
    with SafeDir.make(local_of(root), "bus") as bus:
        entries.append(Journal(bus, "events.jsonl"), [junk], START)
    return root


def _tell(root: Path, telling: int) -> None:
    play(ROUNDS, START + timedelta(days=telling), lambda now: _round(root, now), lambda: _quiet(root))


def play(
    rounds: int, begin: datetime, one: Callable[[datetime], Coroutine[Any, Any, None]], quiet: Callable[[], bool]
) -> None:
    """Play a round an hour until all is quiet; a person starts again what has refused to start."""
    for hours in range(rounds):
        try:
            with contextlib.closing(asyncio.new_event_loop()) as loop:
                loop.set_default_executor(InlineExecutor())
                loop.run_until_complete(one(begin + timedelta(hours=hours)))
        except PrloomError as error:
            logging.getLogger(__name__).info("told: %s", error)
        if quiet():
            return


def _ask(root: Path, now: datetime) -> None:
    """Ask for the junk to be dropped, until it is: as a person does whose command said that it could not."""
    state = json_of(local_of(root) / "bus/state/dispatcher.json")
    if "dropped" in state.get("done", {}):
        return
    with SafeDir.make(root, "prloom", ".local") as local:
        control.append_request(local, OperatorRequest(id=control.request_id(now), verb="drop", ids=("junk",)), now)


async def _round(root: Path, now: datetime) -> None:
    _ask(root, now)
    general = rules(CONFIG)
    where = RepositoryPaths(root, root / "prloom/.local/worktrees")
    registry = PlanRegistry(where, general, lambda: now, rotate_at=ROTATE_AT)
    bridge = LoadedBridge("story", "test", StoryBridge(root / "remote"), ("story",), timedelta(seconds=1))
    dispatcher = Dispatcher(
        registry,
        plugin_set=PluginSet([RunningPlugin("counter", "test", FunctionHost("counter", counter), "defer")]),
        bridges=LoadedBridges((bridge,)),
        triager=AgentTriager(SwiftPool(root=root, environ=os.environ, parallel=1, workers=1), registry.read_plan),
        rules=general,
        clock=lambda: now,
    )
    await dispatcher.once()


def _quiet(root: Path) -> bool:
    state = json_of(local_of(root) / "bus/state/dispatcher.json")
    cursor = json_of(root / "prloom/.local/bus/state/bridge.story.json").get("state")
    over = cursor == len(remote_events()) and not state.get("open", True) and not state.get("queue", True)
    return over and "dropped" in state.get("done", {})


def json_of(path: Path) -> Mapping[str, Any]:
    try:
        return cast("Mapping[str, Any]", json.loads(path.read_text()))
    except (OSError, ValueError):
        return {}


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _wrong(root: Path) -> list[str]:
    local = local_of(root)
    state = json_of(local / "bus/state/dispatcher.json")
    found = [*_events(local, state), *_replies(root, local), *_counters(root, local)]
    if json_of(local / "state.json").get("status") != "merged":
        found.append("state.json: the plan is not merged")
    if _text(local / "plan.md").count("TODO rename it") != 1:
        found.append("plan.md: not exactly one TODO")
    return [*found, *_left_behind(root), *rebuilt(local, state)]


def _events(local: Path, state: Mapping[str, Any]) -> Iterator[str]:
    """P1: each event came to exactly one end."""
    if state.get("open", "unreadable") or state["done"] != EXPECTED:
        yield f"P1: open {state.get('open')}, done {state.get('done')}"
    changes = [change for each in _decisions(local) for change in each.get("changes", ())]
    ends = Counter(change["eventId"] for change in changes if change["state"] in DONE)
    twice = [event_id for event_id, times in ends.items() if times > 1]
    if twice or len(ends) != sum(EXPECTED.values()):
        yield f"P1: ended more than once: {twice}; {len(ends)} events ended"


def _decisions(local: Path) -> list[Mapping[str, Any]]:
    return [each for name in _segments(local, "decisions") for each in _lines(name)]


def _lines(journal: Path) -> Iterator[Mapping[str, Any]]:
    """Yield what the lines hold; one that cannot be read holds nothing, and what is missing by that is noticed."""
    for line in _text(journal).splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)["data"]


def _segments(local: Path, journal: str) -> list[Path]:
    live = local / f"bus/{journal}.jsonl"
    closed = sorted((local / "bus").glob(f"{journal}-*.jsonl"))
    return [each for each in closed if not (live.exists() and each.samefile(live))] + [live]


def _replies(root: Path, local: Path) -> Iterator[str]:
    """P3: each action is queued once, and is on the pull request once."""
    queued = [each["id"] for name in _segments(local, "actions") for each in _lines(name)]
    if len(queued) != len(set(queued)) or len(queued) != 9:
        yield f"P3: outbox: {len(queued)} actions, {len(set(queued))} of them different"
    posted = posts(root / "remote")
    if sorted(posted) != sorted(set(queued)):
        yield f"P3: {len(posted)} posts for {len(set(queued))} actions"


def _counters(root: Path, local: Path) -> Iterator[str]:
    """P2: a hook's writes count once for each showing, and an event is shown again only if it was put off."""
    changes = [change for each in _decisions(local) for change in each.get("changes", ())]
    put_off = Counter(f"shown {change['eventId']}" for change in changes if change["state"] == "deferred")
    shared = json_of(root / "prloom/.local/plugin-state-global/counter.json")
    own = json_of(local / "plugin-state/counter.json")
    observed = {key: times for key, times in shared.items() if key.startswith("observed")}
    shown = {key: times for key, times in shared.items() if key.startswith("shown")}
    # The first wording is observed by nobody, but where half of a batch was written, and the edit came after the crash.
    events = 9 if "observed old" in observed else 8
    odd = {key for key, times in shown.items() if times != 1 + put_off[key]}
    if set(observed.values()) != {1} or {len(observed), own.get("events")} != {events} or odd:
        yield f"P2: counters: {own}, {shared}"


def _left_behind(root: Path) -> Iterator[str]:
    """What lies about is what belongs there, or `prloom doctor` names it."""
    where = RepositoryPaths(root, root / "prloom/.local/worktrees")
    findings = tuple(doctor.findings(where, datetime.now(UTC) + timedelta(hours=2)))
    named = {finding.where.partition(", line ")[0] for finding in findings}
    for folder, _, names in os.walk(root / "prloom"):
        for name in names:
            if not KNOWN.match(name) and os.path.join(folder, name) not in named:  # noqa: PTH118 - as doctor says it
                yield f"left behind, and doctor does not say so: {folder}/{name}"
    yield from (f"doctor: {f.what} ({f.where})" for f in findings if f.severity == "error")


def rebuilt(local: Path, state: Mapping[str, Any]) -> Iterator[str]:
    """The projection is what the log alone says; where the outbox ends, which the log does not say, aside."""
    (local / "bus/state/dispatcher.json").unlink(missing_ok=True)
    with SafeDir.make(local) as folder:
        wire = record.to_wire(EventStore.open(folder.make_sub("bus"), lambda: START).state)
    again = json.loads(json.dumps(wire))
    before = {key: value for key, value in state.items() if key != "$check"}
    if again != before:
        yield f"rebuilt: {again} is not {before}"


def clear(root: Path) -> None:
    """Take a told story away."""
    shutil.rmtree(root, ignore_errors=True)


LIFE = Story(_prepare, _tell, _wrong, clear)
