"""A browser without a screen: it sends what a browser sends, to the application in this process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from starlette.testclient import TestClient

from prloom.web import access, app
from prloom.web.sessions import Sessions
from prloom.web.site import Site

PORT = 7717
BASE = f"http://127.0.0.1:{PORT}"


class Browser(TestClient):
    """A browser: it says which page a request comes from, and keeps the cookie."""

    def __init__(self, site: Site, sessions: Sessions, address: str = "127.0.0.1") -> None:
        names = access.names(address, PORT)
        super().__init__(app.build(site, sessions, names), base_url=BASE, follow_redirects=False)
        self.sessions = sessions

    def let_in(self) -> Browser:
        """Open the link that was printed."""
        answer = self.get(f"/login?token={self.sessions.link_token}")
        assert answer.status_code == 303
        return self

    @property
    def csrf(self) -> str:
        """What the forms of the pages send."""
        return next(iter(self.sessions._sessions.values())).csrf

    def act(self, action: str, **fields: object) -> str:
        """Send the form of an action, and return what the next page says of it."""
        sent = {"csrf": self.csrf, "back": "/log", **fields}
        answer = self.post(f"/actions/{action}", data=sent, headers={"origin": BASE})
        assert (answer.status_code, answer.headers["location"]) == (303, "/log"), answer.text
        session = next(iter(self.sessions._sessions.values()))
        return session.take_notice()[0]

    def json(self, path: str) -> dict:
        """Return the document behind a page."""
        answer = self.get(path, headers={"accept": "application/json"})
        assert answer.status_code == 200, answer.text
        return answer.json()


class Time:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **span: float) -> None:
        self.now += timedelta(**span)
