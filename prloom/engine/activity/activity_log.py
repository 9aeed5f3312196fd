"""The activity of a repository: everything that writes events of the activity stream does so here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

from prloom.core.text import secret_scan
from prloom.core.text.secret_scan import SecretMask
from prloom.engine.activity.publisher import Publisher
from prloom.engine.activity.started_runs import StartedRuns
from prloom.engine.activity.stream import ActivityStream, StreamPosition, StreamTools
from prloom.engine.bus.event_store import Clock
from prloom.model.activity import ActivityDraft, ActivityEvent
from prloom.model.record import Json
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths


class _OpenRun(NamedTuple):
    stream: ActivityStream
    lock: asyncio.Lock


class ActivityLog:
    """Writes and publishes activity events; one for each dispatcher, and for the thread of its event loop.

    `publisher` is where to subscribe. `environ` is the dispatcher's own environment: the secrets in it never reach an
    event.
    """

    def __init__(self, where: RepositoryPaths, clock: Clock, environ: Mapping[str, str]) -> None:
        self.publisher = Publisher()
        self._where = where
        self._secrets = secret_scan.environment_secrets(environ)
        self._mask = SecretMask(self._secrets)
        self._tools = StreamTools(clock, lambda: self._mask, self.publisher)
        self._plans: dict[str | None, ActivityStream] = {}
        self._runs: dict[str, _OpenRun] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._started = StartedRuns(where.root)

    def hide(self, what: str, secret: str) -> Callable[[], None]:
        """Take a secret, which `what` names, out of all events until the function that is returned is called."""
        self._secrets[what] = secret
        self._mask = SecretMask(self._secrets)

        def forget() -> None:
            self._secrets.pop(what, None)
            self._mask = SecretMask(self._secrets)

        return forget

    def mask(self) -> SecretMask:
        """Return what takes the secrets out that are known by now."""
        return self._mask

    def record(
        self,
        kind: str,
        data: Mapping[str, Json],
        *,
        plan_id: str | None,
        run_id: str | None = None,
        stage: str | None = None,
        parent_id: str | None = None,
    ) -> ActivityEvent:
        """Write an event, publish it, and return it; without a run it belongs to the plan, or to the repository.

        Without a `parent_id` the parent is what the event belongs to by its data: the start of what it ends, or of the
        run.
        """
        draft = ActivityDraft(type=kind, data=data)
        if run_id is None:
            return self._of_plan(plan_id).add(draft, parent_id=parent_id)
        found = self._runs.get(run_id)
        if found is not None:
            return found.stream.add(draft, parent_id=parent_id)
        stream = ActivityStream(self.place(plan_id, run_id, stage), self._tools)  # the number comes from the file
        return stream.add(draft, parent_id=parent_id)

    async def open_run(self, place: StreamPosition) -> ActivityStream:
        """Return the stream of a run, which `record` adds to until `close_run`; only one at a time has it."""
        assert place.run_id is not None  # noqa: S101 - what is opened is a run's
        lock = self._locks.setdefault(place.run_id, asyncio.Lock())
        await lock.acquire()
        try:
            stream = await asyncio.to_thread(ActivityStream, place, self._tools)
        except BaseException:
            lock.release()
            raise
        self._runs[place.run_id] = _OpenRun(stream, lock)
        return stream

    def note_begun(self, run_id: str, plan_id: str | None) -> None:
        """Note that a run begins, so that its start and its end will be written, whatever becomes of prloom."""
        self._started.add(run_id, plan_id)

    def close_run(self, run_id: str) -> None:
        """Forget the stream of a run that is over."""
        found = self._runs.pop(run_id, None)
        if found is not None:
            self._started.remove(run_id)
            found.lock.release()

    def unended(self) -> dict[str, str | None]:
        """Return the runs that were noted and whose end is not written, each with its plan."""
        return self._started.all()

    def follows(self, plan_id: str, run_id: str) -> bool:
        """Whether events can be added to a run of a plan, because it goes on."""
        found = self._runs.get(run_id)
        return found is not None and found.stream.place.plan_id == plan_id

    def is_open(self, run_id: str) -> bool:
        """Whether a run goes on, as far as this dispatcher knows."""
        return run_id in self._locks

    def place(self, plan_id: str | None, run_id: str | None, stage: str | None = None) -> StreamPosition:
        """Return where the activity of a run is, or of a plan."""
        parts: tuple[str, ...] = paths.LOCAL
        if run_id is not None:
            parts = (*paths.LOCAL, paths.RUNS, run_id)
        return StreamPosition(self._root(plan_id), parts, plan_id or None, run_id, stage)

    def _root(self, plan_id: str | None) -> Path:
        if plan_id:
            return self._where.worktree(plan_id)
        return self._where.root

    def _of_plan(self, plan_id: str | None) -> ActivityStream:
        key = plan_id or None
        if key not in self._plans:
            self._plans[key] = ActivityStream(self.place(key, None), self._tools)
        return self._plans[key]
