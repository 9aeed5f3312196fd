"""A browser without a screen: it sends what a browser sends, to the application in this process."""

from __future__ import annotations

from typing import Any, cast

from fake_clock import Clock as Time
from starlette.testclient import TestClient

from prloom.web import access, app
from prloom.web.sessions import Sessions
from prloom.web.site import Site

PORT = 7717
__all__ = ["BASE", "Browser", "Time"]

BASE = f"http://127.0.0.1:{PORT}"


class Browser(TestClient):
    """A browser: it says which page a request comes from, and keeps the cookie."""

    def __init__(self, site: Site, sessions: Sessions) -> None:
        names = access.names("127.0.0.1", PORT)
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

    def json(self, path: str) -> dict[str, Any]:
        """Return the document behind a page."""
        answer = self.get(path, headers={"accept": "application/json"})
        assert answer.status_code == 200, answer.text
        return cast("dict[str, Any]", answer.json())
