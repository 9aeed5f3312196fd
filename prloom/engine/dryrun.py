"""Show what a tick would decide, on a copy of the state: nothing is written, nothing is sent, no agent runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from prloom.api.bridge import Bridge, BridgeContext, Delivered, Polled, Refused
from prloom.api.context import Services
from prloom.config import stages
from prloom.config.models import Config
from prloom.core import verdicts
from prloom.core.dispatch import Triage
from prloom.engine import adopt, assembly, entries, plans
from prloom.engine.board import Board
from prloom.engine.desk import Desk
from prloom.engine.dispatcher import Dispatcher
from prloom.engine.ledger import Clock
from prloom.engine.rules import rules
from prloom.engine.services import HookServices
from prloom.errors import AgentError
from prloom.model.action import Action
from prloom.model.decision import Decision
from prloom.model.position import Position
from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths


async def decisions(
    root: Path, config: Config, *, environ: Mapping[str, str] = os.environ, clock: Clock = assembly.now
) -> tuple[str, ...]:
    """Return what one full tick would decide now, a line for each event, action and TODO."""
    with tempfile.TemporaryDirectory(prefix="prloom-dry-run-") as scratch:
        where = _copy(adopt.locate(root, config), Path(scratch))
        general = rules(config)
        board = Board(where, general, clock)
        begun = {plan_id: _end(where, plan_id) for plan_id in plans.ids(where)}
        loaded = assembly.load_bridges(root, config)
        dispatcher = Dispatcher(
            board,
            crew=assembly.crew(root, config, environ),
            bridges=replace(loaded, loaded=tuple(replace(b, bridge=Silent(b.bridge)) for b in loaded.loaded)),
            triager=Abstainer(config, board),
            rules=general,
            clock=clock,
        )
        await dispatcher.once()
        return tuple(line for plan_id, since in begun.items() for line in _told(where, plan_id, since))


class Silent:
    """A bridge that listens but does not speak."""

    def __init__(self, bridge: Bridge) -> None:
        self.name = bridge.name
        self.targets = bridge.targets
        self._bridge = bridge

    async def events(self, ctx: BridgeContext, state: Json | None) -> Polled:
        """Ask the real bridge: reading changes nothing."""
        return await self._bridge.events(ctx, state)

    async def actions(self, ctx: BridgeContext, action: Action) -> Delivered | Refused:
        """Pretend."""
        return Delivered()


class Abstainer:
    """A triager that says which agent would be asked."""

    def __init__(self, config: Config, board: Board) -> None:
        self._agent = stages.stage(config, "triage").agent
        self._board = board

    def services(self, desk: Desk) -> Services:
        """Return the services of hooks; agents are not among them."""
        return HookServices(desk, run=_no_agent, read_plan=self._board.read_plan)

    async def triage(self, desk: Desk, step: Triage) -> None:
        """Put the events aside in the copy."""
        who = "the first agent found" if self._agent == "auto" else self._agent
        changes = tuple(verdicts.park(event_id, f"would be triaged by {who}") for event_id in step.event_ids)
        desk.ledger.commit("triage", self._agent, changes=changes)

    async def recover(self, desk: Desk, run: str, event_ids: tuple[str, ...]) -> None:
        """Leave the runs of the real dispatcher alone."""
        changes = tuple(verdicts.park(event_id, f"is in run {run}") for event_id in event_ids)
        desk.ledger.commit("triage", self._agent, changes=changes)


async def _no_agent(desk: Desk, stage: str, text: str, model: str | None) -> str:
    raise AgentError(f"a dry run starts no agent (the hook asked for stage {stage} on plan {desk.id})")


def _copy(where: RepositoryPaths, scratch: Path) -> RepositoryPaths:
    """Copy the state of the repository and its plans, without the agents' runs, and return where the copy is."""
    copied = RepositoryPaths(scratch, scratch / "worktrees")
    skip = shutil.ignore_patterns(paths.RUNS, paths.LOCK, "worktrees", "dispatcher.owner.json")
    if where.local.is_dir():
        shutil.copytree(where.local, copied.local, symlinks=True, ignore=skip)
    for plan_id in plans.ids(where):
        source = where.worktree(plan_id).joinpath(*paths.LOCAL)
        shutil.copytree(source, copied.worktree(plan_id).joinpath(*paths.LOCAL), symlinks=True, ignore=skip)
    return copied


def _end(where: RepositoryPaths, plan_id: str) -> Position:
    file = where.worktree(plan_id).joinpath(*paths.LOCAL, paths.BUS, paths.DECISIONS)
    return Position(1, file.stat().st_size if file.exists() else 0)


def _told(where: RepositoryPaths, plan_id: str, since: Position) -> Iterator[str]:
    file = where.worktree(plan_id).joinpath(*paths.LOCAL, paths.BUS, paths.DECISIONS)
    lines = file.read_bytes()[since.offset :].splitlines() if file.exists() else []
    for line in lines:
        decision = entries.decision(line)
        if decision is not None:
            yield from (f"{plan_id}: {text}" for text in describe(decision))


def describe(decision: Decision) -> Iterator[str]:
    """Yield a decision in words: what becomes of each event, what would be sent, and what is to be done."""
    for change in decision.changes:
        why = f": {change.reason}" if change.reason else ""
        yield f"{change.event_id} {change.verdict} by {decision.by}, {change.state}{why}"
    for action in decision.actions:
        message = getattr(action.payload, "message", None)
        what = type(action.payload).__name__
        yield f"would send {what} to {action.target.target}{f': {message}' if message else ''}"
    for todo in decision.todos:
        yield f"would add the TODO {todo.title}"
