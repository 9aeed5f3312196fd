"""Know what the token may see, and leave alone for a while what it may not."""

from __future__ import annotations

from datetime import timedelta

from prloom.api import BridgeContext, HttpError, iso

from .sansio import errors
from .sansio.cursor import Feed, GithubCursor

_BLIND = timedelta(hours=6)
"""How long what the token may not see is not asked for again."""


class TokenAccess:
    """What can be seen in this poll: "actions", "checks", "status", "branches"."""

    def __init__(self, ctx: BridgeContext, known: GithubCursor) -> None:
        self._ctx = ctx
        self._known = known

    def see(self, what: str) -> bool:
        """Whether it may be asked for."""
        until = self._known.closed_eyes.get(what, "")
        return not iso(self._ctx.now) < until <= iso(self._ctx.now + _BLIND)  # beyond that another clock was asked

    def close(self, what: str, error: HttpError) -> None:
        """Leave alone for a while what the token may not see, or what is not there; any other trouble is passed on."""
        if error.trouble not in {"forbidden", "gone"}:
            raise error
        self._known.closed_eyes[what] = iso(self._ctx.now + _BLIND)
        if what == "checks":  # those of Actions can be read by its runs, from the latest on
            self._known.actions = Feed()
        self._ctx.log.warning("this token has no access to %s, so they are not read: %s", what, errors.explained(error))
