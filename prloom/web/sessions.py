"""Know who may see the pages: a link that works once, or a password, is exchanged for the cookie of a session."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

IDLE: Final = timedelta(hours=24)
"""After which a session that nobody uses is over."""

MOST: Final = 50
"""Sessions at a time; one more ends the one that was not used for the longest time."""

PAUSE: Final = timedelta(seconds=2)
"""After a wrong password, in which the next one from the same address is not compared."""

SHORTEST_PASSWORD: Final = 12
_BYTES: Final = 32


@dataclass
class BrowserSession:
    """A browser that was let in. `csrf` is what a form of its pages has to send, `notice` what its next page says."""

    id: str
    csrf: str
    used_at: datetime
    notice: str = ""
    failed: bool = False

    def take_notice(self) -> tuple[str, bool]:
        """Return what the next page says, and whether that is a failure; it is said once."""
        notice, failed = self.notice, self.failed
        self.notice, self.failed = "", False
        return notice, failed

    def accepts(self, csrf: str) -> bool:
        """Whether a form comes from a page of this session."""
        return same(self.csrf, csrf)


@dataclass
class Sessions:
    """The sessions of this process, in memory: they end with it.

    `on_used` is told of the token that takes the place of a used one.
    """

    clock: Callable[[], datetime]
    password: str | None = None
    on_used: Callable[[str], None] | None = None
    link_token: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES))
    _sessions: dict[str, BrowserSession] = field(default_factory=dict)
    _wrong_at: dict[str, datetime] = field(default_factory=dict)

    def redeem(self, token: str) -> BrowserSession | None:
        """Return a new session for the token of the link, which is used up then; None for any other token."""
        if not same(self.link_token, token):
            return None
        self.link_token = secrets.token_urlsafe(_BYTES)
        if self.on_used is not None:
            self.on_used(self.link_token)
        return self._begin()

    def log_in(self, password: str, address: str) -> BrowserSession | None:
        """Return a new session for the password; None where it does not fit."""
        if not self.fits(password, address):
            return None
        return self._begin()

    def fits(self, password: str, address: str) -> bool:
        """Whether this is the password; in the moments after a wrong one from an address, nothing from there is."""
        now = self.clock()
        self._wrong_at = {each: at for each, at in self._wrong_at.items() if now - at < PAUSE}
        if self.password is None or address in self._wrong_at:
            return False
        if not same(self.password, password):
            self._wrong_at[address] = now
            return False
        return True

    def find(self, session_id: str) -> BrowserSession | None:
        """Return the session of a cookie, which is used now; None where there is none, or it is over."""
        found = self._sessions.get(session_id)
        now = self.clock()
        if found is None:
            return None
        if now - found.used_at > IDLE:
            del self._sessions[session_id]
            return None
        found.used_at = now
        return found

    def end(self, session: BrowserSession) -> None:
        """End a session: its cookie opens nothing any more."""
        self._sessions.pop(session.id, None)

    def _begin(self) -> BrowserSession:
        now = self.clock()
        made = BrowserSession(secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES), now)
        self._sessions[made.id] = made
        while len(self._sessions) > MOST:
            oldest = min(self._sessions.values(), key=lambda each: each.used_at)
            del self._sessions[oldest.id]
        return made


def same(wanted: str, given: str) -> bool:
    """Whether two secrets are the same, in a time that tells nothing of them."""
    return hmac.compare_digest(wanted.encode(), given.encode())
