"""Show the drafts of a repository among its plans."""

from __future__ import annotations

import os

from prloom.core.plans import plan_file
from prloom.engine.views.snapshot import Snapshot
from prloom.model.plan import Plan
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths


def every(repository: RepositoryPaths) -> tuple[Snapshot, ...]:
    """Return a snapshot of each draft, whose status is `draft` or `queued`; one that cannot be used has an error."""
    if not os.path.lexists(repository.local / paths.INBOX):
        return ()
    from prloom.engine.bus import inbox  # noqa: PLC0415 - most repositories have no draft

    found = []
    for draft in inbox.every(repository):
        error = draft.error or draft.block
        plan = Plan(
            id=draft.id,
            branch=draft.front.branch or draft.id,
            base=draft.front.base,
            title=draft.title,
            status=draft.front.status,
            preset=draft.front.preset,
            created_at=draft.changed_at,
            blocked=error is not None,
        )
        found.append(Snapshot(plan, repository.root, todos=plan_file.todos(draft.text), error=error, is_draft=True))
    return tuple(found)
