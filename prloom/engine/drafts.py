"""Check the inbox: announce the drafts that are new, and have plans made of those that are queued."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from prloom.engine.adoption import activate
from prloom.engine.bus import entries, inbox
from prloom.engine.bus.event_store import Clock, EventStore
from prloom.engine.bus.inbox import PlanDraft
from prloom.engine.plan.dependencies import Job
from prloom.engine.plan.rules import Rules
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.event import Event
from prloom.model.kinds import PLAN_CREATED
from prloom.model.record import Json, Timestamp
from prloom.model.work_report import RunWait
from prloom.storage import file_stamp, paths
from prloom.storage.document import Document
from prloom.storage.file_stamp import FileStamp
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import repository
from prloom.workspace.branches import OriginUnreadableError

log = logging.getLogger(__name__)

_FILE = "drafts.json"
_CALLS = 60
"""After so many checks, the drafts are read even if the folder is unchanged: a file may be written in place."""


class Drafts:
    """The drafts of a repository, as the dispatcher sees them; an idle check costs one `stat`.

    `refused` says why a queued draft could not become a plan, by draft; it is tried again when the inbox changes, and
    after a while. `waits` are those that wait for origin.
    """

    def __init__(self, root: Path, local: SafeDir, rules: Rules, clock: Clock) -> None:
        self.refused: dict[str, str] = {}
        self.waits: dict[str, RunWait] = {}
        self._tried: dict[str, str] = {}
        self._root = root
        self._local = local
        self._rules = rules
        self._clock = clock
        self._inbox = inbox.folder(local)
        self._document = Document(local.make_sub(paths.BUS, paths.BUS_STATE), _FILE)
        self._announced: dict[str, Json] | None = None
        self._under_way: set[str] = set()
        self._making = asyncio.Lock()  # one plan at a time: two drafts may name the same branch
        self._stamp: FileStamp | None = None
        self._checks = 0

    @property
    def path(self) -> str:
        """The folder to watch."""
        return self._inbox.path

    def noticed(self, folder: Path) -> bool:
        """Whether the folder that has changed is the inbox; then the drafts are read at the next check."""
        is_inbox = str(folder) == self.path
        if is_inbox:
            self._stamp = None
        return is_inbox

    def check(self, repository_bus: EventStore, spawn: Callable[[Job], None], made: Callable[[str], None]) -> bool:
        """Announce new drafts, and begin to make plans of those that are queued; return whether any was announced.

        `made` is told the id of each plan that was made.
        """
        self._checks += 1
        if self._inbox.gone():  # somebody removed the folder, and another one may be there by now
            self._inbox, self._stamp = inbox.folder(self._local), None
        stamp = inbox.stamp(self._inbox)
        if stamp == self._stamp and self._checks < _CALLS and not any(map(self._is_due, self.waits)):
            return False
        self._checks = 0
        found = [draft for each in inbox.ids(self._inbox) if (draft := inbox.read(self._inbox, each)) is not None]
        if file_stamp.is_settled(stamp[3] / 1e9, time.time()):
            self._stamp = stamp
        else:
            self._stamp = None
        queued = {draft.id for draft in found if draft.queued}
        for gone in self.refused.keys() - queued:
            del self.refused[gone]
        for gone in self.waits.keys() - queued:
            del self.waits[gone]
        self._tried = {each: text for each, text in self._tried.items() if each in queued}
        if not self._under_way:
            activate.forget_ended(self._local)
        announced = self._announce(found, repository_bus)
        for draft in found:
            waits = draft.id in self.waits and self._tried.get(draft.id) == draft.text and not self._is_due(draft.id)
            if draft.queued and draft.has_work and draft.id not in self._under_way and not waits:
                self._under_way.add(draft.id)
                self._tried[draft.id] = draft.text
                spawn(self._job(draft, made))
        return announced

    def _job(self, draft: PlanDraft, made: Callable[[str], None]) -> Job:
        async def run() -> None:
            try:
                async with self._making:
                    await asyncio.to_thread(self._activate, draft, self._clock())
            except OriginUnreadableError as error:
                self._wait(draft.id, str(error))
                return
            except PrloomError as error:
                self.waits.pop(draft.id, None)
                if self.refused.get(draft.id) != str(error):
                    log.warning("draft %s cannot become a plan: %s", draft.id, error)
                self.refused[draft.id] = str(error)
                return
            finally:
                self._under_way.discard(draft.id)
            self.refused.pop(draft.id, None)
            self.waits.pop(draft.id, None)
            log.info("draft %s became a plan", draft.id)
            made(draft.id)

        return run

    def _activate(self, draft: PlanDraft, now: datetime) -> None:
        activate.activate(repository.find(self._root), self._rules.config, draft, now)

    def _is_due(self, draft_id: str) -> bool:
        """Whether the wait of a draft is over; one that is too long is from before the clock was turned back."""
        wait, now = self.waits.get(draft_id), Timestamp.of(self._clock())
        return wait is None or wait.until is None or not timedelta() < wait.until - now <= self._rules.backoff.maximum

    def _wait(self, draft_id: str, reason: str) -> None:
        """Have a draft wait for origin, as long as it has waited before together; after the deadline, it is refused."""
        now, policy = Timestamp.of(self._clock()), self._rules.backoff
        before = self.waits.get(draft_id)
        since = now if before is None else before.since
        if before is None or before.reason != reason:
            log.warning("draft %s waits: %s", draft_id, reason)
        waited = max(now - since, timedelta())
        if waited >= policy.deadline:
            self.refused[draft_id] = reason
        until = Timestamp.of(now + min(max(waited, policy.initial), policy.maximum))
        self.waits[draft_id] = RunWait(reason=reason, since=since, until=until, plan=draft_id)

    def _announce(self, found: list[PlanDraft], bus: EventStore) -> bool:
        """Append an event for each draft that is new, exactly one: what is about to be announced is noted first."""
        if self._announced is None:
            self._announced = self._document.load().value or {}
        known = self._announced
        at = record.iso(self._clock())
        noted = {draft.id: known.get(draft.id) or {"at": at, "told": False} for draft in found}
        untold = [draft for draft in found if not noted[draft.id]["told"]]
        if noted != known:
            self._save(noted)
        if untold:
            events = [_created(draft, noted[draft.id]["at"]) for draft in untold]
            entries.append(bus.events, events, self._clock())
            self._save({each: {**note, "told": True} for each, note in noted.items()})
        return bool(untold)

    def _save(self, noted: dict[str, Json]) -> None:
        self._document.save(noted)
        self._announced = noted


def _created(draft: PlanDraft, at: str) -> Event:
    context: dict[str, Json] = {"plan": draft.id, "status": draft.front.status}
    source = draft.front.source
    if source is not None:
        context["source"] = {"system": source.system, "kind": source.kind, "id": source.id}
    return Event(
        id=f"prloom:{PLAN_CREATED}:{draft.id}:{at}",
        source="prloom",
        type=PLAN_CREATED,
        title=draft.title or draft.id,
        context=context,
        created_at=at,
    )
