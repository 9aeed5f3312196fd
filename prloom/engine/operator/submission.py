"""Hand a request of the operator to the dispatcher, or carry it out at once where none runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from prloom.core.commands import requests
from prloom.core.commands.requests import OperatorRequest, RequestVerb
from prloom.core.text.shown_text import clean
from prloom.engine.operator import control, offline
from prloom.engine.views import dashboard_words, runtime_status, snapshot
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

_WORDS: Mapping[RequestVerb, str] = {
    "todo_open": "open",
    "todo_go": "allow",
    "draft_send": "send",
    "draft_edit": "edit",
    "draft_drop": "drop",
    "retry_agent": "retry",
}
"""What people call a request, where that is not its verb."""


_NEEDLESS: Mapping[RequestVerb, str] = {
    "pause": "is paused already",
    "resume": "is not paused, not blocked, and waits for nothing that a person can end",
    "block": "is blocked already, for the same reason",
    "unblock": "is not blocked",
    "rebase": "is about to be rebased already",
    "todo_open": "is open already, and waits for nothing that a person can end",
    "todo_go": "may begin already",
    "retry_agent": "is not waited for",
}
"""Why a request changes nothing, by what it is."""


class Submission(NamedTuple):
    """A request that was handed in. `left` is why it is not carried out yet; None where it is.

    `silence` is what is wrong with the dispatcher that runs but does not read it, and what to do about that. A
    `needless` request changes nothing in what was there when it was handed in.
    """

    verb: RequestVerb
    ids: tuple[str, ...]
    left: str | None
    silence: str | None = None
    needless: bool = False

    @property
    def is_done(self) -> bool:
        """Whether the request is carried out already."""
        return self.left is None

    def message(self, done: str) -> str:
        """Return what became of the request; `done` says it in the past tense."""
        names, word = ", ".join(map(clean, self.ids)), _WORDS.get(self.verb, self.verb)
        if self.left is None and self.needless:
            return f"Nothing changed: {names} {_NEEDLESS[self.verb]}."
        if self.left is None:
            return f"{done}: {names}."
        if self.silence is not None:
            return f"Saved, to {word}: {names}. It is not done yet: {self.silence}."
        if self.left == offline.RUNNING:
            sent = f"Sent to the running dispatcher, to {word}: {names}."
            if self.needless:
                return f"{sent} It changes nothing now: {names} {_NEEDLESS[self.verb]}."
            return sent
        return f"Saved for the next `prloom start`, to {word}: {names}. It cannot be done now: {clean(self.left)}."


def submit(
    where: RepositoryPaths,
    verb: RequestVerb,
    named: Iterable[str],
    *,
    reason: str | None = None,
    digests: Mapping[str, str] | None = None,
    plan: str | None = None,
) -> Submission:
    """Write down a request that names events, actions or plans by their ids, or TODOs of a plan; have it carried out.

    The caller has made sure that a person gives it, and no process of an agent's run.
    """
    now = datetime.now(UTC)
    ids = tuple(dict.fromkeys(named))
    request = OperatorRequest(control.request_id(now), verb, ids, reason=reason, digests=digests, plan=plan)
    with SafeDir.make(where.root, *paths.LOCAL) as local:
        needless = _changes_nothing(where, request, now)
        control.append_request(local, request, now)
        left = offline.carry_out(where, lambda: datetime.now(UTC))
        if left == offline.RUNNING:
            return Submission(verb, ids, left, silence(local, now), needless)
    return Submission(verb, ids, left, needless=needless)


def _changes_nothing(where: RepositoryPaths, request: OperatorRequest, now: datetime) -> bool:
    """Whether a request about the work on plans changes nothing in any of them, as far as their files tell."""
    if request.verb not in _NEEDLESS:
        return False
    found = snapshot.every(where)
    return not any(
        each.error
        or requests.changes(request, each.bus.state)
        or requests.work(request, each.plan.id, each.bus.state, now)
        for each in found
    )


def silence(local: SafeDir, now: datetime) -> str | None:
    """Return what is wrong with a dispatcher that runs and does not answer, and what to do about it; or None."""
    found = runtime_status.dispatcher(local, now)
    if not found.silent_since:
        return None
    return f"{dashboard_words.silence(found)}; {dashboard_words.after_silence(found)}"
