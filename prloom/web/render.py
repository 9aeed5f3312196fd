"""Write pages: every text is shown as text, whoever has written it, and every value is at hand as JSON too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import UNSET
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Scope

from prloom.core.reports import stats
from prloom.core.text import secret_scan, shown_text, time_text
from prloom.engine.views import dashboard_words
from prloom.model import record
from prloom.web import charts

REFRESH: Final = "x-prloom-refresh"
"""The header of a page that reads itself again: what was done is said on the page to which its action leads."""

HERE: Final = Path(__file__).parent
_MOST_WAITS: Final = 30
_TONES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("held", "parked", "draft", "question", "confirm", "proposed", "paused", "brake"), "warn"),
    **dict.fromkeys(("withheld", "kept", "limited", "violated", "rejected", "delayed", "retrying"), "warn"),
    **dict.fromkeys(("blocked", "failed", "lost", "bridge", "source", "plugin", "settings", "error"), "bad"),
    **dict.fromkeys(("dispatcher", "config", "unreadable", "interrupted", "expired"), "bad"),
    **dict.fromkeys(("running", "working", "doing", "active", "started", "pending", "starting"), "busy"),
    **dict.fromkeys(("done", "ok", "delivered", "handled", "triaged", "enabled", "merged", "committed"), "good"),
    **dict.fromkeys(("admitted", "vouched", "review", "approved", "accepted"), "good"),
}
"""The colours of states; a state without one is grey."""


def page(scope: Scope, template: str, values: Mapping[str, Any], *, status: int = 200) -> Response:
    """Return a page for people."""
    session = scope.get("state", {}).get("session")
    notice, failed, csrf = "", False, ""
    if session is not None:
        csrf = session.csrf
    if session is not None and REFRESH not in Headers(scope=scope):
        notice, failed = session.take_notice()
    around = {"path": address(scope), "csrf": csrf, "notice": notice, "failed": failed, "now": datetime.now(UTC)}
    return HTMLResponse(environment().get_template(template).render(**around, **values), status)


def document(value: object, *, masked: bool = False) -> Response:
    """Return a value as JSON, in ASCII only; with a mask in place of the secrets in its texts."""
    found = record.to_builtins(value)
    if masked:
        found = secret_scan.masked_document(found)
    return Response(json.dumps(found), media_type="application/json")


def wants_json(scope: Scope) -> bool:
    """Whether a program asks, and not a person's browser."""
    accept = Headers(scope=scope).get("accept", "")
    return "application/json" in accept and "text/html" not in accept


def refusal(scope: Scope, status: int, text: str, title: str = "Refused") -> Response:
    """Return a refusal in one line: as a page, or as JSON."""
    if wants_json(scope):
        return JSONResponse({"error": shown_text.clean(text)}, status)
    return page(scope, "refused.html", {"title": title, "text": text}, status=status)


def sign_in(scope: Scope, *, needs_password: bool, wrong: bool = False, undone: bool = False) -> Response:
    """Return the page for somebody who is not let in; `undone` says that an action was requested, and nothing done."""
    if wants_json(scope):
        text = "open the link that `prloom web` has printed"
        if undone:
            text = f"nothing was done; {text}"
        return JSONResponse({"error": text}, 401)
    values = {"title": "Sign in", "needs_password": needs_password, "wrong": wrong, "undone": undone}
    return page(scope, "sign_in.html", values, status=401)


def address(scope: Scope) -> str:
    """Return the path and the query of a request, as a link has them."""
    query = scope.get("query_string", b"").decode("ascii", "replace")
    path = quote(scope.get("path", "/"), safe="/:@")
    if query:
        return f"{path}?{query}"
    return path


@cache
def environment() -> Environment:
    """Return the templates. Each text that they print is made visible first, and then escaped."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(_FILTERS)
    made.tests["given"] = lambda value: value is not UNSET and value is not None
    made.globals.update(bars=charts.bars, columns=charts.columns, tones=_TONES, most=_MOST_WAITS)
    return made


def age(milliseconds: float | None) -> str:
    """Return an age in one unit; nothing where it is not known."""
    if milliseconds is None:
        return ""
    return time_text.duration(timedelta(milliseconds=milliseconds), units=1)


def span(milliseconds: float) -> str:
    """Return the time until something, in two units: of a single one, nearly half could be missing."""
    return time_text.duration(timedelta(seconds=milliseconds // 1000))


def ago(when: object, now: datetime) -> Markup:
    """Return a time as seen from now, what is to come in two units; the page's script keeps it up to date."""
    at = _time(when)
    if at is None:
        return escape(shown_text.clean(str(when or "")))
    shown = time_text.when(at, now, units=2 if at > now else 1)
    return Markup('<time datetime="{}" title="{}" data-ago>{}</time>').format(record.iso(at), _clock(at), shown)


def moment(when: object) -> Markup:
    """Return a time as date and time of this machine."""
    at = _time(when)
    if at is None:
        return escape(shown_text.clean(str(when or "")))
    return Markup('<time datetime="{}">{}</time>').format(record.iso(at), _clock(at))


def dollars(cost: float | None) -> str:
    """Return a cost; a question mark where nobody has measured it."""
    if cost is None:
        return "?"
    if 0 < cost < 0.01:  # noqa: PLR2004 - a cent
        return "< $0.01"
    return f"${cost:,.2f}"


def gist(text: str, longest: int = 160) -> str:
    """Return the first line of a text."""
    line = shown_text.clean(text.strip().partition("\n")[0])
    if len(line) <= longest:
        return line
    return f"{line[: longest - 1]}…"


def as_field(value: str, name: str) -> tuple[str, str]:
    """Return a hidden field of a form."""
    return name, value


def commands(text: str) -> Markup:
    """Return a text in which each command between backquotes looks like one."""
    parts = [escape(_visible(part)) for part in text.split("`")]
    if len(parts) % 2 == 0:
        return escape(_visible(text))
    shown = [Markup("<code>{}</code>").format(part) if number % 2 else part for number, part in enumerate(parts)]
    return Markup("").join(shown)


def clock_of(milliseconds: int) -> str:
    """Return the time of day of an activity event."""
    return f"{datetime.fromtimestamp(milliseconds / 1000).astimezone():%H:%M:%S}"


def summary(data: Mapping[str, Any]) -> str:
    """Return what an activity event says, in one line."""
    parts = [f"{name}: {gist(_plain(value), 300)}" for name, value in data.items() if value not in (None, "", [], {})]
    return gist(" · ".join(parts), 600)


def words(payload: object) -> str:
    """Return the words of a reply."""
    return str(getattr(payload, "message", None) or getattr(payload, "summary", None) or "")


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _part(text: str) -> str:
    """Return a text as one part of a link."""
    return quote(str(text), safe="")


def _time(when: object) -> datetime | None:
    if isinstance(when, datetime):
        return when
    if isinstance(when, str):
        return record.read_time(when)
    return None


def _clock(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def _visible(value: object) -> object:
    """Return what a template prints: of a text, what hides or reorders others is written out; None is nothing."""
    if value is None or value is UNSET:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        if value.isascii() and value.isprintable():
            return str(value)
        return shown_text.clean_block(value)
    return value


_FILTERS: Final[Mapping[str, Any]] = {
    "age": age,
    "ago": ago,
    "as_field": as_field,
    "clock_of": clock_of,
    "commands": commands,
    "counts": dashboard_words.counts,
    "dollars": dollars,
    "efforts": dashboard_words.efforts,
    "failure": stats.words,
    "gist": gist,
    "masked": secret_scan.masked,
    "moment": moment,
    "part": _part,
    "span": span,
    "tokens": dashboard_words.tokens,
    "state": dashboard_words.state,
    "step": dashboard_words.step,
    "summary": summary,
    "without_tokens": dashboard_words.without_tokens,
    "words": words,
}
