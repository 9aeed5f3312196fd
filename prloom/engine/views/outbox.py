"""List the replies that wait until a person sends them, as `prloom outbox` shows them."""

from __future__ import annotations

from prloom.core.delivery import outbox
from prloom.engine.bus import entries
from prloom.engine.views import snapshot
from prloom.engine.views.snapshot import Snapshot
from prloom.model.action import Action, Payload
from prloom.model.record import Record, Timestamp
from prloom.model.state import QueuedAction
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.reader import JournalReader


class ReplyDraft(Record, frozen=True, kw_only=True):
    """A reply that waits: the action's id, its plan, where it goes and what it says, and the event that it answers.

    `version` is another one after each change of the text.
    """

    id: str
    plan: str
    target: str
    payload: Payload
    related_event_id: str | None
    created_at: Timestamp
    version: str


class OutboxDocument(Record, frozen=True, kw_only=True):
    """What `prloom outbox --json` prints."""

    drafts: tuple[ReplyDraft, ...]


def drafts(repository: RepositoryPaths) -> OutboxDocument:
    """Return the drafts of all plans, the oldest first; one whose line cannot be read is left to `prloom doctor`."""
    found = [draft for each in snapshot.every(repository) for draft in _of_plan(repository, each)]
    return OutboxDocument(drafts=tuple(sorted(found, key=lambda draft: draft.created_at)))


def _of_plan(repository: RepositoryPaths, of: Snapshot) -> list[ReplyDraft]:
    waiting = [action for action in of.bus.state.queue.values() if action.draft]
    if not waiting:
        return []
    bus = snapshot.open_bus(repository, of.plan.id)
    if bus is None:
        return []
    with bus:
        journal = JournalReader(bus, paths.ACTIONS)
        read = [(queued, entries.action(journal.read_at(queued.position))) for queued in waiting]
    return [_draft(of.plan.id, queued, action) for queued, action in read if action is not None]


def _draft(plan: str, queued: QueuedAction, action: Action) -> ReplyDraft:
    return ReplyDraft(
        id=queued.id,
        plan=plan,
        target=queued.target,
        payload=action.payload,
        related_event_id=action.related_event_id,
        created_at=queued.since,
        version=outbox.version(queued),
    )
