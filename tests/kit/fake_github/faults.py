"""What goes wrong, and when: effects and broken answers before and after the requests that a test names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from .exchange import DOCS, Breakage, Outcome, Response

RESET = Breakage("reset")
TIMEOUT = Breakage("timeout")
TRUNCATED = Breakage("truncated")
GARBAGE = Response(200, {"content-type": "application/json; charset=utf-8"}, b"<html>\xff\x00 not JSON")
BAD_GATEWAY = Response(502, {"content-type": "text/html"}, b"<html><title>Unicorn!</title></html>")

Effect = Callable[[], object] | Outcome
"""Something that happens, or what the client hears; what happens may also return what the client hears."""


def flood(size: int) -> Breakage:
    """Return an answer that is followed by this many bytes of blanks."""
    return Breakage("flood", size=size)


def answer(status: int, message: str = "", *, more: Mapping[str, Any] | None = None, **headers: str) -> Response:
    """Return an answer with a message as GitHub's are, and with `more` beside it."""
    body = {"message": message or f"Answer {status}", "documentation_url": DOCS, "status": str(status), **(more or {})}
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(status, {"content-type": "application/json; charset=utf-8", **named}, msgspec.json.encode(body))


def needs_sso(url: str) -> Response:
    """Return GitHub's answer to a token that an organisation with single sign-on has not been told of."""
    said = "Resource protected by organization SAML enforcement. You must grant your Personal Access token access."
    return answer(403, said, x_github_sso=f"required; url={url}")


def blocked(url: str) -> Response:
    """Return GitHub's answer where it has taken a repository down for legal reasons."""
    block = {"reason": "dmca", "created_at": "2026-01-01T00:00:00Z", "html_url": url}
    return answer(451, "Repository access blocked", more={"block": block})


def redirect(url: str, status: int = 302) -> Response:
    return answer(status, "Moved", location=url)


@dataclass
class Trigger:
    """An effect that waits for its request: the next ones that fit `on`, after `skip` others that do."""

    moment: Literal["before", "after"]
    effect: Effect
    on: str
    skip: int
    times: int


@dataclass
class Script:
    """The effects that wait. `on` is a pattern of method and path, such as `POST */issues/7/comments`."""

    triggers: list[Trigger] = field(default_factory=list)

    def play(self, moment: str, what: str, response: Response | None = None) -> Outcome | None:
        """Let happen what is to happen at this moment; return what the client gets in place of the true answer."""
        outcome: Outcome | None = None
        for trigger in [each for each in self.triggers if each.moment == moment and fnmatchcase(what, each.on)]:
            if trigger.skip:
                trigger.skip -= 1
                continue
            trigger.times -= 1
            if not trigger.times:
                self.triggers.remove(trigger)
            heard = trigger.effect if isinstance(trigger.effect, Response | Breakage) else trigger.effect()
            if outcome is None and isinstance(heard, Response | Breakage):
                outcome = heard
        if isinstance(outcome, Breakage) and outcome.response is None:
            return replace(outcome, response=response or Response(200, {"content-type": "application/json"}, b"[]"))
        return outcome
