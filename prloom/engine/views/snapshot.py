"""Read the current state of each plan and bus; a part that cannot be read is that plan's error and hides no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from prloom.core.plans import plan_file
from prloom.core.plans.plan_file import TodoItem
from prloom.engine.bus import plans
from prloom.errors import PrloomError, StorageError
from prloom.model import record
from prloom.model.plan import Plan
from prloom.model.record import Cursor, Timestamp
from prloom.model.state import DispatchState
from prloom.storage import file_stamp, paths
from prloom.storage.document import Document
from prloom.storage.file_stamp import FileStamp
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

T = TypeVar("T")

REPOSITORY = ""
"""The id of the repository-wide bus, which is listed among the plans."""

UNREADABLE = "unreadable"
"""The status of a plan whose `state.json` cannot be used."""


_LOCAL = "/".join(paths.LOCAL)
_READ = (
    paths.PLAN_STATE,
    f"{paths.BUS}/{paths.DECISIONS}",
    f"{paths.BUS}/{paths.EVENTS}",
    f"{paths.BUS}/{paths.BUS_STATE}/{paths.DISPATCHER}",
    paths.PLAN_TEXT,
)
"""The files of a plan that a snapshot is read from, below its folder of prloom's own files."""


class BusSnapshot(Struct, frozen=True):
    """The state of a bus after all its decisions, and the ids of the events that no dispatcher has taken in yet.

    `behind` says that the saved state lacked some of this: a dispatcher is at work just now, or was killed.
    """

    state: DispatchState = DispatchState()
    untaken: frozenset[str] = frozenset()
    behind: bool = False


class Snapshot(Struct, frozen=True):
    """One plan at a moment, with the TODOs of its `plan.md`; `error` says what cannot be read, and why.

    `listed_at` is when that file was last changed, if it has a TODO; `has_text` says whether it has any text.
    A draft has no worktree: `worktree` is the checkout whose inbox it is in.
    """

    plan: Plan
    worktree: Path
    bus: BusSnapshot = BusSnapshot()
    todos: tuple[TodoItem, ...] = ()
    error: str | None = None
    is_draft: bool = False
    listed_at: Timestamp | None = None
    has_text: bool = True


def every(repository: RepositoryPaths) -> tuple[Snapshot, ...]:
    """Return all plans by their ids, and the repository itself where something waits on its own bus."""
    ids = plans.ids(repository)
    trees = None
    if ids:
        trees = SafeDir.open(repository.worktrees)
    found = []
    if trees is not None:
        with trees:
            found = [of_plan(repository, trees, plan_id) for plan_id in ids]
    return (*found, *_of_repository(repository))


class SnapshotCache:
    """Reads the plans again and again, and of each only what its files hold that is new: for a program that goes on."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[FileStamp | None, ...], Snapshot]] = {}

    def every(self, repository: RepositoryPaths) -> tuple[Snapshot, ...]:
        """Return what `every` of this module does."""
        ids = plans.ids(repository)
        self._known = {plan_id: known for plan_id, known in self._known.items() if plan_id in ids}
        trees = None
        if ids:
            trees = SafeDir.open(repository.worktrees)
        found: tuple[Snapshot, ...] = ()
        if trees is not None:
            with trees:
                found = tuple(self._of_plan(repository, trees, plan_id) for plan_id in ids)
        return (*found, *_of_repository(repository))

    def _of_plan(self, repository: RepositoryPaths, trees: SafeDir, plan_id: str) -> Snapshot:
        home = f"{repository.worktrees}/{plan_id}/{_LOCAL}"
        stamps = tuple(file_stamp.at(f"{home}/{name}") for name in _READ)  # before: what is new meanwhile is read again
        known = self._known.get(plan_id)
        if known is not None and known[0] == stamps:
            return known[1]
        found = of_plan(repository, trees, plan_id)
        self._known[plan_id] = stamps, found
        return found


def of_plan(repository: RepositoryPaths, trees: SafeDir, plan_id: str) -> Snapshot:
    """Return one plan; `trees` is the folder of the worktrees."""
    errors: list[str] = []
    worktree = repository.worktree(plan_id)
    unreadable = Plan(id=plan_id, branch="", status=UNREADABLE, blocked=True)
    local = _read_part(lambda: trees.sub(plan_id, *paths.LOCAL), None, errors)
    if local is None:
        why = errors or [f"there is no {worktree.joinpath(*paths.LOCAL)}; adopt its branch or pull request again"]
        return Snapshot(unreadable, worktree, error=why[0])
    with local:
        plan = _read_part(lambda: _plan(local, plan_id), unreadable, errors)
        bus = _read_part(lambda: _bus(local), BusSnapshot(), errors)
        listed = _read_part(lambda: _todos(local), _NO_TODOS, errors)
    error = errors[0] if errors else None
    return Snapshot(plan, worktree, bus, listed.todos, error, listed_at=listed.at, has_text=listed.has_text)


def changed_at(of: Snapshot, name: str) -> Timestamp | None:
    """Return when a file of a plan was written last, below its folder of prloom's own files; None if it is missing."""
    return file_stamp.changed_at(of.worktree.joinpath(*paths.LOCAL, name))


def error_since(of: Snapshot) -> Timestamp | None:
    """Return since when a plan cannot be read at the latest: since then, none of its files has changed."""
    return max(filter(None, (changed_at(of, name) for name in _READ)), default=None)


def _plan(local: SafeDir, plan_id: str) -> Plan:
    plan = plans.load(local)
    if plan.id != plan_id:
        raise StorageError(
            f"{local.where(paths.PLAN_STATE)} belongs to plan {plan.id!r}; adopt its branch or pull request again"
        )
    return plan


def _of_repository(repository: RepositoryPaths) -> Iterator[Snapshot]:
    """Yield the repository's own bus, if anything waits there or cannot be read."""
    plan = Plan(id=REPOSITORY, branch="", title="the repository as a whole")
    errors: list[str] = []
    local = _read_part(lambda: SafeDir.open(repository.root, *paths.LOCAL), None, errors)
    bus = BusSnapshot()
    if local is not None:
        with local:
            bus = _read_part(lambda: _bus(local), bus, errors)
    if errors or bus.untaken or bus.state.open or bus.state.queue:
        yield Snapshot(plan, repository.root, bus, error=errors[0] if errors else None)


def _read_part(read: Callable[[], T], otherwise: T, errors: list[str]) -> T:
    try:
        return read()
    except PrloomError as error:
        errors.append(str(error))
        return otherwise


def _bus(local: SafeDir) -> BusSnapshot:
    bus = local.sub(paths.BUS)
    if bus is None:
        return BusSnapshot()
    with bus:
        state = saved(bus)
        if state is not None and not (
            _grown(bus, paths.DECISIONS, state.log) or _grown(bus, paths.EVENTS, state.cursor)
        ):
            return BusSnapshot(state)
        from prloom.engine.bus import replay  # noqa: PLC0415 - an idle plan has nothing to replay

        folded = replay.current(bus, state)
        return BusSnapshot(folded, replay.untaken(bus, folded), behind=folded != state)


def saved(bus: SafeDir) -> DispatchState | None:
    """Return the projection as it was saved; None where it is missing or damaged: the log has everything."""
    folder = bus.sub(paths.BUS_STATE)
    if folder is None:
        return None
    with folder:
        value = Document(folder, paths.DISPATCHER).peek().value
    try:
        return None if value is None else record.from_wire(DispatchState, value)
    except msgspec.ValidationError:
        return None


def _grown(bus: SafeDir, journal: str, cursor: Cursor) -> bool:
    """Return whether a journal may have more than the cursor says; costs one `stat` while it has one segment only.

    It has another one once it was rotated; then its live file is shorter than the cursor, or the cursor has a later
    segment's number.
    """
    found = bus.stat(journal)
    return cursor.segment > 1 or (0 if found is None else found.st_size) != cursor.offset


class _ListedTodos(Struct, frozen=True):
    """The TODOs of a plan, when their file was last changed, if there are any, and whether it has a text."""

    todos: tuple[TodoItem, ...] = ()
    at: Timestamp | None = None
    has_text: bool = True


_NO_TODOS = _ListedTodos()


def _todos(local: SafeDir) -> _ListedTodos:
    content = local.read_bytes(paths.PLAN_TEXT)
    if content is None or not content.strip():
        return _ListedTodos(has_text=False)
    if b"[" not in content:
        return _NO_TODOS
    todos = plan_file.todos(content.decode("utf-8", "replace"))
    if not todos:
        return _NO_TODOS
    return _ListedTodos(todos, file_stamp.time_of(local.stat(paths.PLAN_TEXT)))


def open_bus(repository: RepositoryPaths, plan_id: str) -> SafeDir | None:
    """Return the folder of a plan's bus, or of the repository's own (""); None if there is none yet."""
    if plan_id:
        root = repository.worktree(plan_id)
    else:
        root = repository.root
    return SafeDir.open(root, *paths.LOCAL, paths.BUS)


def current_state(bus: SafeDir) -> DispatchState:
    """Return the state of a bus after all its decisions."""
    from prloom.engine.bus import replay  # noqa: PLC0415 - an idle plan has nothing to replay

    return replay.current(bus, saved(bus))
