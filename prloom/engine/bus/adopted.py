"""Remember the adopted plans in the main checkout, and find those whose worktree or files were removed."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import msgspec

from prloom.core.text import naming
from prloom.engine.bus import plans
from prloom.errors import PrloomError, StorageError
from prloom.model import record
from prloom.model.plan import Adopted, Counts, Plan
from prloom.model.record import Timestamp
from prloom.model.state import DispatchState
from prloom.storage import json_codec, paths
from prloom.storage.document import Document
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import checkout, root
from prloom.workspace.checkout import Checkout

PAUSE = timedelta(seconds=10)
"""The least time between two writes of one plan's counts while a dispatcher runs."""

_SUFFIX = ".json"

log = logging.getLogger(__name__)


class _HasState(Protocol):
    @property
    def state(self) -> DispatchState: ...


class _Text(Protocol):
    def read(self) -> str: ...


class _Folders(Protocol):
    @property
    def worktree(self) -> Path: ...
    @property
    def local(self) -> SafeDir: ...


class _RunningPlan(Protocol):
    """A plan that a dispatcher works on; the repository as a whole has an empty id."""

    plan: Plan

    @property
    def folders(self) -> _Folders: ...
    @property
    def id(self) -> str: ...
    @property
    def event_store(self) -> _HasState: ...
    @property
    def text(self) -> _Text: ...


class AdoptedPlans:
    """Keeps the last known counts of the plans that a dispatcher works on; `top` is the checkout's `prloom/.local`."""

    def __init__(self, top: SafeDir) -> None:
        self._top = top
        self._saved: dict[str, tuple[int, datetime]] = {}

    def save(self, running: Iterable[_RunningPlan], now: datetime, *, last: bool = False) -> None:
        """Save the counts of plans, if a decision has changed them; not often, unless it is the last time.

        A plan that was adopted by an earlier version, which remembered none, is remembered from then on.
        """
        for each in running:
            seq, at = self._saved.get(each.id, (None, now - PAUSE))
            is_early = not last and timedelta(0) <= now - at < PAUSE
            if not each.id or is_early or seq == each.event_store.state.seq or each.folders.local.gone():
                continue
            self._saved[each.id] = each.event_store.state.seq, now
            try:
                self._write(each, now)
            except StorageError as error:  # it is only for the case that the worktree is lost
                log.warning("plan %s: %s", each.id, error)

    def _write(self, of: _RunningPlan, now: datetime) -> None:
        found, counted = read(self._top, of.id), counts(of.event_store.state, of.text.read())
        noted = Adopted(plan=of.plan, worktree=str(of.folders.worktree), counts=counted, counted_at=Timestamp.of(now))
        if found is None or (found.plan, found.worktree, found.counts) != (noted.plan, noted.worktree, noted.counts):
            remember(self._top, noted)


def counts(state: DispatchState, text: str) -> Counts:
    """Return what waits in a plan, of whose `plan.md` this is the text."""
    from prloom.core.plans import plan_file  # noqa: PLC0415 - commands that only show what is remembered need none

    states = [event.state for event in state.open.values()]
    queue = [action for action in state.queue.values() if not action.courtesy]
    if "[" in text:
        todos, done = plan_file.counts(text)
    else:
        todos, done = (0, 0)
    return Counts(
        pending=states.count("pending"),
        deferred=states.count("deferred"),
        held=states.count("held"),
        parked=states.count("parked"),
        actions_queued=sum(not action.failed for action in queue),
        actions_failed=sum(action.failed for action in queue),
        todos_open=todos - done,
    )


def remember(top: SafeDir, adopted: Adopted) -> None:
    """Write what is to be remembered of a plan."""
    with top.make_sub(paths.ADOPTED) as folder:
        Document(folder, adopted.plan.id + _SUFFIX).save(record.to_wire(adopted))


def forget(top: SafeDir, plan_id: str) -> None:
    """Forget a plan; one that is not remembered is no error."""
    with top.make_sub(paths.ADOPTED) as folder:
        if folder.exists(plan_id + _SUFFIX):
            folder.remove(plan_id + _SUFFIX)


def read(top: SafeDir, plan_id: str) -> Adopted | None:
    """Return what is remembered of a plan; None if that is nothing, or cannot be read."""
    folder = top.sub(paths.ADOPTED)
    if folder is None:
        return None
    with folder:
        return _read(folder, plan_id)


def lost(repository: RepositoryPaths) -> tuple[Adopted, ...]:
    """Return the plans that were adopted and not given up, and that are not where the worktrees are, by their ids.

    Those that are not remembered, because prloom's files in the checkout were removed, are found through git.
    """
    present = set(plans.ids(repository))
    remembered, found = set[str](), list[Adopted]()
    top = SafeDir.open(repository.root, *paths.LOCAL, paths.ADOPTED)
    if top is not None:
        with top:
            remembered = {name.removesuffix(_SUFFIX) for name in top.names() if name.endswith(_SUFFIX)}
            found += (each for plan_id in remembered - present if (each := _read(top, plan_id)) is not None)
    known = present | {each.plan.id for each in found}
    found += registered_plans(repository, known)
    return tuple(sorted(found, key=lambda each: each.plan.id))


def _read(folder: SafeDir, plan_id: str) -> Adopted | None:
    with suppress(StorageError, msgspec.ValidationError):
        value = Document(folder, plan_id + _SUFFIX).peek().value
        if value is None:
            found = None
        else:
            found = record.from_wire(Adopted, value)
        if found is not None and found.plan.id == plan_id:
            return found
        return None
    return None


GIVEN_UP = "given up"
"""The note on the worktree of a plan that was given up, where the worktree itself was left alone."""

_PULL_REQUEST = re.compile(r"pr-([1-9][0-9]{0,9})")


def plan_note(plan: Plan) -> str:
    """Return the note about the plan for git's folder of the plan's worktree."""
    return msgspec.json.encode(record.to_wire(plan)).decode()


def mark_given_up(repository: RepositoryPaths, path: Path) -> None:
    """Mark a worktree that stays, so that it is not found as a plan's; one that is not registered is no error."""
    main = checkout.at(repository.root)
    if main is None:
        found = None
    else:
        found = checkout.registered(main.common, path)
    if found is not None and root.note_of_plan(found) is not None:
        root.mark_as_plans(found, GIVEN_UP)


def registered_plans(repository: RepositoryPaths, known: Container[str]) -> Iterator[Adopted]:
    """Yield the plans of which git has a worktree registered, but for the known ones; their counts are not known.

    Git is not started, and of known plans nothing is read: `prloom status` does this each time.
    """
    main = checkout.at(repository.root)
    if main is None:
        return
    try:
        names = os.listdir(main.common / "worktrees")  # noqa: PTH208 - the names only
    except OSError:  # most often, there are no worktrees
        return
    for name in names:
        # Git names the folder as the worktree, unless another one has that name already.
        if name in known:
            found = None
        else:
            found = checkout.of_git_dir(main.common / "worktrees" / name, main.common)
        if found is not None and found.path.name not in known:
            plan = _plan(found)
            if plan is not None:
                yield Adopted(plan=plan, worktree=str(found.path))


def _plan(worktree: Checkout) -> Plan | None:
    """Return the plan of a worktree; None if it is not a plan's, or was given up."""
    noted, plan_id = root.note_of_plan(worktree), worktree.path.name
    if noted is None or noted == GIVEN_UP:
        return None
    with suppress(PrloomError):
        plan = _noted(noted, naming.check_plan_id(plan_id))
        if plan is not None:
            return plan
        is_half_made = worktree.path.is_dir() and not root.is_adopted(worktree.path)
        if is_half_made:
            return None
        return _guessed(worktree, plan_id)
    return None


def _noted(noted: str, plan_id: str) -> Plan | None:
    """Return the plan that the note holds; None if it holds none, as while it is adopted, and in earlier versions."""
    value = json_codec.decode(noted.encode("utf-8", "replace"))
    if isinstance(value, json_codec.Unreadable):
        return None
    with suppress(msgspec.ValidationError):
        plan = record.from_wire(Plan, value)
        if plan.id == plan_id:
            return plan
        return None
    return None


def _guessed(worktree: Checkout, plan_id: str) -> Plan:
    """Return what git's files say of the plan: by default, a plan has the name of its branch or pull request."""
    branch = checkout.branch(worktree) or plan_id
    if branch == plan_id:
        number = None
    else:
        number = _PULL_REQUEST.fullmatch(plan_id)
    return Plan(id=plan_id, branch=branch, title=branch, pr=None if number is None else int(number[1]))
