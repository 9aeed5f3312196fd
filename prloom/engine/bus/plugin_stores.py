"""Keep the plugins' stores: values by key, brought up to the decision log write by write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from prloom.engine.bus import entries, plans
from prloom.engine.bus.worktree_guard import WorktreeGuard
from prloom.errors import PrloomError
from prloom.model.decision import Decision, Scope, StateWrite
from prloom.model.record import Json, Record
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir

log = logging.getLogger(__name__)

BOOKKEEPING = "$prloom"
"""The key of a state file that is prloom's own: the version, which counts the writes that the file has taken."""

Rebuild = Callable[[str], Iterable[StateWrite]]
"""Finds all writes that a plugin ever made in the scope."""


class PluginStore(Record, frozen=True):
    """One plugin's values in one scope, after `version` writes."""

    version: int = 0
    values: Mapping[str, Json] = msgspec.field(default_factory=dict)


class PluginStores:
    """The stores of all plugins in one scope, one file for each.

    A write carries the version that it makes, so one that a file has had already is not made again, and writes of
    several plans that a crash left undone are made in the order in which they were decided. A file that cannot be read
    is made again from what `rebuild` finds in the decision logs.
    """

    def __init__(self, folder: SafeDir, scope: Scope, rebuild: Rebuild) -> None:
        self._folder = folder
        self._scope = scope
        self._rebuild = rebuild
        self._stores: dict[str, PluginStore] = {}
        self._early: dict[str, dict[int, StateWrite]] = {}
        self._unsaved: set[str] = set()

    def get(self, plugin: str) -> PluginStore:
        """Return a plugin's store."""
        if plugin not in self._stores:
            self._stores[plugin] = self._load(plugin)
        return self._stores[plugin]

    def next_version(self, plugin: str) -> int:
        """Return the version that the plugin's next write makes."""
        return self.get(plugin).version + 1

    def apply(self, decision: Decision, _: DispatchState) -> None:
        """Make the decision's writes of this scope; a write whose predecessors are missing waits for them.

        Where a file cannot be written, this raises StorageError and keeps the write in memory. It is written when the
        decision, or a later one for the plugin, is applied.
        """
        writes = [write for write in decision.writes if write.scope == self._scope]
        for write in writes:
            if write.version > self.get(write.plugin).version:
                self._early.setdefault(write.plugin, {})[write.version] = write
                self._make(write.plugin)
        self._save({write.plugin for write in writes})

    def settle(self) -> None:
        """Make the writes that still wait for one that no log holds any more, in their order."""
        waiting = tuple(self._early)
        for plugin in waiting:
            self._make(plugin, gaps=True)
        self._save(waiting)

    def _make(self, plugin: str, *, gaps: bool = False) -> None:
        early = self._early[plugin]
        for version in sorted(early):
            if version != self._stores[plugin].version + 1 and not gaps:
                return
            self._stores[plugin] = after_write(self._stores[plugin], early.pop(version))
            self._unsaved.add(plugin)
        del self._early[plugin]

    def _save(self, plugins: Iterable[str]) -> None:
        """Write what has changed of these plugins' stores; the others' files are no business of theirs."""
        for plugin in sorted(self._unsaved.intersection(plugins)):
            store = self._stores[plugin]
            self._document(plugin).save({**store.values, BOOKKEEPING: {"version": store.version}})
            self._unsaved.discard(plugin)

    def _load(self, plugin: str) -> PluginStore:
        """Read a plugin's file. One that is missing was never written, or taken away to begin anew."""
        loaded = self._document(plugin).load()
        if loaded.value is not None:
            return _read(loaded.value)
        if loaded.reason is None:
            return PluginStore()
        log.warning(
            "%s could not be read (%s) and is now %s", self._document(plugin).path, loaded.reason, loaded.quarantined
        )
        self._stores[plugin] = after_writes(self._rebuild(plugin))
        self._unsaved.add(plugin)
        self._save((plugin,))
        return self._stores[plugin]

    def _document(self, plugin: str) -> Document:
        return Document(self._folder, paths.plugin_file(plugin))


def after_write(store: PluginStore, write: StateWrite) -> PluginStore:
    """Return the store after one write."""
    values = {key: value for key, value in store.values.items() if key not in write.deleted}
    return PluginStore(write.version, values | dict(write.values))


def after_writes(writes: Iterable[StateWrite]) -> PluginStore:
    """Return the store after all these writes, which may come in any order."""
    store = PluginStore()
    for write in sorted(writes, key=lambda write: write.version):
        store = after_write(store, write)
    return store


def _read(value: Mapping[str, Json]) -> PluginStore:
    own = value.get(BOOKKEEPING)
    version = own.get("version") if isinstance(own, dict) else 0
    values = {key: item for key, item in value.items() if key != BOOKKEEPING}
    return PluginStore(version if isinstance(version, int) else 0, values)


log = logging.getLogger(__name__)


def writes(bus: SafeDir, scope: Scope, plugin: str) -> tuple[StateWrite, ...]:
    """Return a plugin's writes in one scope, from all segments of a bus's log, in the order of the log.

    Where versions begin anew, the file was removed so that the plugin begins anew: earlier writes are void.
    """
    found: list[StateWrite] = []
    for write in _all(JournalReader(bus, paths.DECISIONS), plugin):
        if write.scope == scope:
            if found and write.version <= found[-1].version:
                found.clear()
            found.append(write)
    return tuple(found)


def global_writes(repository: RepositoryPaths, worktree_guard: WorktreeGuard, plugin: str) -> Iterator[StateWrite]:
    """Yield a plugin's writes to the store that all plans share, from the logs of all plans and of the repository."""
    for plan_id in ("", *plans.ids(repository)):
        try:
            bus = _bus(repository, worktree_guard, plan_id)
        except PrloomError as error:
            log.warning("what %s wrote for all plans from plan %s cannot be read: %s", plugin, plan_id, error)
            continue
        if bus is not None:
            with bus:
                yield from writes(bus, "global", plugin)


def _bus(repository: RepositoryPaths, worktree_guard: WorktreeGuard, plan_id: str) -> SafeDir | None:
    if not plan_id:
        return SafeDir.open(repository.root, *paths.LOCAL, paths.BUS)
    worktree = repository.worktree(plan_id)
    problem = worktree_guard.problem(worktree)
    if problem is not None:
        raise PrloomError(problem)
    return SafeDir.open(worktree, *paths.LOCAL, paths.BUS)


def _all(decisions: JournalReader, plugin: str) -> Iterator[StateWrite]:
    for entry in decisions.containing(b'"plugin":' + msgspec.json.encode(plugin)):
        decision = entries.decision(entry.line)
        if decision is not None:
            yield from (write for write in decision.writes if write.plugin == plugin)
