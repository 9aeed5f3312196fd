"""Show what a tick would decide, on a copy of the state: nothing is written, nothing is sent, no agent runs."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from prloom.api.bridge import Acknowledges, Bridge, BridgeContext, Delivered, Permissions, Polled, Refused
from prloom.api.http import HttpNeeds, UsesHttp
from prloom.config.models import Config
from prloom.core.plans import front_matter
from prloom.engine import configured_bridges
from prloom.engine.assembly.dispatcher import now
from prloom.engine.assembly.plugins import load_plugins
from prloom.engine.bus import entries, inbox, plans
from prloom.engine.bus.event_store import Clock
from prloom.engine.bus.inbox import PlanDraft
from prloom.engine.bus.worktree_guard import WorktreeGuard
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.dry_agents import DryTriager, DryWorker
from prloom.engine.plan.rules import rules
from prloom.engine.plan_registry import REPOSITORY, PlanRegistry
from prloom.errors import PrloomError
from prloom.model.action import Action, React
from prloom.model.decision import Decision
from prloom.model.event import Event
from prloom.model.kinds import TRIAGE
from prloom.model.record import Cursor, Json
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import TEMPORARY, SafeDir


async def decisions(
    root: Path, config: Config, *, environ: Mapping[str, str] = os.environ, clock: Clock = now
) -> tuple[str, ...]:
    """Return what one full tick would decide now, a line for each event, action and TODO."""
    where = plans.locate(root, config.worktrees_dir)
    with tempfile.TemporaryDirectory(prefix="prloom-dry-run-") as scratch:
        copied, refused = await asyncio.to_thread(_copy, where, Path(scratch))
        ids = (REPOSITORY, *plans.ids(copied))
        begun = {plan_id: _last(copied, plan_id) for plan_id in ids}
        general = rules(config)
        registry = PlanRegistry(copied, general, clock, worktree_guard=WorktreeGuard(None))
        loaded = configured_bridges.load(root, config)
        dispatcher = Dispatcher(
            registry,
            plugin_set=load_plugins(root, config, environ),
            bridges=replace(loaded, loaded=tuple(replace(b, bridge=DryBridge(b.bridge)) for b in loaded.loaded)),
            triager=DryTriager(config, registry),
            todo_worker=DryWorker(config, where.root),
            rules=general,
            clock=clock,
            environ=environ,
        )
        await dispatcher.once()
        refused |= registry.unreadable
        lines = [f"{plan_id}: prloom would not work on it: {why}" for plan_id, why in refused.items()]
        return (
            *lines,
            *(f"{draft.id}: {_draft(draft, config)}" for draft in inbox.every(_copied_drafts(where, Path(scratch)))),
            *(line for plan_id, since in begun.items() for line in _decision_lines(copied, plan_id, since)),
        )


def _copied_drafts(where: RepositoryPaths, scratch: Path) -> RepositoryPaths:
    """Copy the drafts to where the dispatcher of the dry run makes no plans of them, and return that place."""
    place = RepositoryPaths(scratch / "drafts", scratch / "drafts")
    _copy_below(where.local / paths.INBOX, place.local / paths.INBOX, set())
    place.root.mkdir(exist_ok=True)
    return place


def _draft(draft: PlanDraft, config: Config) -> str:
    """Return what would become of a draft; nothing is made of it, for a branch would be a change of the repository."""
    try:
        wanted = front_matter.plan_branches(draft.front, draft.id, config.base_branch)
        config.for_preset(draft.front.preset)
        error = draft.error
    except PrloomError as refusal:
        error = draft.error or str(refusal)
    if error is not None:
        return f"prloom would make no plan of the draft: {error}"
    if not draft.queued:
        return "the draft is not queued"
    return f"prloom would make branch {wanted.branch} from {wanted.base}, a worktree and a plan of the draft"


class DryBridge:
    """A bridge that listens but does not speak; over HTTP, if that is how it listens."""

    http: HttpNeeds

    def __init__(self, bridge: Bridge) -> None:
        self.name = bridge.name
        self.targets = bridge.targets
        self._bridge = bridge
        if isinstance(bridge, UsesHttp):
            self.http = bridge.http

    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        """Ask the real bridge: reading changes nothing."""
        return await self._bridge.events(ctx, state)

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        """Pretend."""
        return Delivered()

    def acknowledgement(self, event: Event) -> React | None:
        """Return the real bridge's sign, if it has one."""
        if isinstance(self._bridge, Acknowledges):
            return self._bridge.acknowledgement(event)
        return None

    async def permission(self, ctx: BridgeContext, login: str) -> str:
        """Look it up through the real bridge, if it can."""
        if not isinstance(self._bridge, Permissions):
            raise LookupError(f"the bridge {self.name} cannot look it up")  # noqa: TRY004 - it is the answer that is missing
        return await self._bridge.permission(ctx, login)


def _copy(where: RepositoryPaths, scratch: Path) -> tuple[RepositoryPaths, dict[str, str]]:
    """Copy the state of the repository and its plans; return where the copy is, and which plans are not in it."""
    copied = RepositoryPaths(scratch, scratch / "worktrees")
    worktree_guard = WorktreeGuard(where.root)
    refused: dict[str, str] = {}
    _copy_state(where.local, copied.local)
    for plan_id in plans.ids(where):
        worktree = where.worktree(plan_id)
        try:
            problem = worktree_guard.problem(worktree)
        except PrloomError as error:
            problem = str(error)
        if problem is None:
            _copy_state(worktree.joinpath(*paths.LOCAL), copied.worktree(plan_id).joinpath(*paths.LOCAL))
        else:
            refused[plan_id] = problem
    return copied, refused


_DISPATCHER = frozenset({paths.LOCK, "dispatcher.owner.json", paths.HOST_SOCKET})
_SKIPPED = _DISPATCHER | {paths.RUNS, paths.INBOX, paths.ACTIVATIONS, "worktrees"}
_FIRST = (Path(paths.BUS, paths.BUS_STATE), Path(paths.PLUGIN_STATE), Path(paths.PLUGIN_STATE_GLOBAL))


def _copy_state(source: Path, target: Path) -> None:
    """Copy the files below a folder, first those that are made from the decision log: a dispatcher may be at work.

    So the copy is one that a crash could have left behind, and the log has the rest.
    """
    copied: set[Path] = set()
    for part in (*_FIRST, Path()):
        _copy_below(source / part, target / part, copied)


def _copy_below(source: Path, target: Path, copied: set[Path]) -> None:
    if source in copied or source.is_symlink() or not source.is_dir():
        return
    copied.add(source)
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(source.iterdir()):
        if entry.name in _SKIPPED or entry.name.endswith(TEMPORARY):
            continue
        with suppress(FileNotFoundError):  # replaced at this moment, or taken away
            mode = entry.lstat().st_mode
            if stat.S_ISLNK(mode):
                (target / entry.name).symlink_to(entry.readlink())  # refused there as it is here
            elif stat.S_ISDIR(mode):
                _copy_below(entry, target / entry.name, copied)
            elif stat.S_ISREG(mode):
                shutil.copy(entry, target / entry.name)


def _log(where: RepositoryPaths, plan_id: str) -> JournalReader | None:
    if plan_id:
        worktree = where.worktree(plan_id)
    else:
        worktree = where.root
    try:
        bus = SafeDir.open(worktree, *paths.LOCAL, paths.BUS)
    except PrloomError:  # the plan is not worked on, and that is reported
        return None
    if bus is None:
        return None
    return JournalReader(bus, paths.DECISIONS)


def _last(where: RepositoryPaths, plan_id: str) -> Cursor:
    log = _log(where, plan_id)
    if log is None:
        return Cursor()
    return log.end()


def _decision_lines(where: RepositoryPaths, plan_id: str, since: Cursor) -> Iterator[str]:
    log = _log(where, plan_id)
    if log is None:
        batch = None
    else:
        batch = log.read(since)
    for entry in batch.entries if batch else ():
        decision = entries.decision(entry.line)
        if decision is not None:
            yield from (f"{plan_id or 'the repository'}: {text}" for text in describe(decision))


def describe(decision: Decision) -> Iterator[str]:
    """Yield a decision in words: what becomes of each event, what would be sent, and what is to be done."""
    for change in decision.changes:
        if decision.stage == TRIAGE:  # the events are parked in the copy only
            yield f"{change.event_id} {change.reason}"
            continue
        why = ""
        if change.reason:
            why = f": {change.reason}"
        yield f"{change.event_id} {change.verdict} by {decision.by}, {change.state}{why}"
    for action in decision.actions:
        message = getattr(action.payload, "message", None)
        what = type(action.payload).__name__
        yield f"would send {what} to {action.target.target}{f': {message}' if message else ''}"
    for todo in decision.todos:
        yield f"would add the TODO {todo.title}"
    if decision.work is not None and decision.work.work is not None:
        agent = decision.by
        if agent == "auto":
            agent = "the first installed agent"
        held = ""
        if decision.note is not None:
            held = f", but {decision.note}"
        yield f"would have {agent} work on the TODO {decision.work.work.title}{held}"
