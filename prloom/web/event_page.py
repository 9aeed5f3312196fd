"""Build the pages of events: the history of one, a list of them, what has to be read, and what happened lately."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from prloom.core.text import secret_scan
from prloom.engine.views import events, outbox, plan_names, request_targets, why, why_todo
from prloom.engine.views.events import EventFilter, EventRow, Order
from prloom.engine.views.outbox import ReplyDraft
from prloom.engine.views.repository_log import LogEntry, RepositoryLog
from prloom.engine.views.request_targets import RequestTarget
from prloom.errors import PrloomError
from prloom.model.event import digest
from prloom.model.record import Record
from prloom.web.site import Page, Query, Site

_LISTED = 100
_MOST = 2000
_LATELY = timedelta(hours=24)
_SPANS = {"1h": timedelta(hours=1), "24h": _LATELY, "7d": timedelta(days=7), "30d": timedelta(days=30)}


class EventDocument(Record, frozen=True, kw_only=True):
    """The rows of a list of events, and what is wrong with the plans that could not be read."""

    events: tuple[EventRow, ...]
    errors: tuple[str, ...] = ()


class UntrustedText(Record, frozen=True, kw_only=True):
    """A held event with its text. `digest` is the text's: an approval is for exactly that."""

    id: str
    plan: str
    type: str
    author: str | None
    title: str
    body: str
    url: str | None
    digest: str
    problem: str | None = None


class WithheldAction(Record, frozen=True, kw_only=True):
    """An action that contains a secret, with its texts, in which the secret is masked."""

    id: str
    plan: str
    target: str
    error: str | None
    texts: tuple[str, ...]


class ReviewDocument(Record, frozen=True, kw_only=True):
    """What waits for a person who reads it: held events, replies to send, and actions that are withheld."""

    held: tuple[UntrustedText, ...]
    drafts: tuple[ReplyDraft, ...]
    withheld: tuple[WithheldAction, ...]


class LogDocument(Record, frozen=True, kw_only=True):
    """What happened since a time, the newest first."""

    entries: tuple[LogEntry, ...]


def event(site: Site, query: Query) -> Page:
    """Return the history of one event, named by its id or URL; that of a TODO, where the id is a TODO's."""
    named, plan = query.text("id") or "", query.text("plan")
    if plan is not None:
        plan = plan_names.find(site.where, plan)  # a folder has its name, so it has to be one of a plan
    found_todo = why_todo.find(site.where, named, plan=plan)
    if found_todo is not None:
        raise PrloomError(f"{named} is a TODO of plan {found_todo.plan}; its page is linked there")
    life = why.find(site.where, named, plan=plan)
    value = why.document(life)
    more = {
        "event": life.event,
        "plan": life.plan,
        "digest": digest(life.event),
        "steps": value.steps,
        "came_at": life.came_at,
        "earlier": life.earlier,
    }
    return Page("event.html", life.event.title or life.event.id, value, more, (life.plan,) if life.plan else ())


def listed(site: Site, query: Query) -> Page:
    """Return a list of events, the newest first, or those first that have been as they are for the longest time."""
    plan = query.text("plan")
    if plan is not None:
        plan = plan_names.find(site.where, plan)
    order: Order = "came"
    if query.text("sort") == "age":
        order = "age"
    wanted = EventFilter(
        state=query.text("state"),
        type=query.text("type"),
        author=query.text("author"),
        since=since(query.text("since"), site.clock()),
        limit=query.number("limit", _LISTED, _MOST),
        sort=order,
    )
    found = events.every(site.where, wanted, plan=plan)
    rows = found.rows
    if order == "came":
        rows = tuple(reversed(rows))
    more = {"query": dict(query.given), "gists": {(each.row.plan, each.row.id): each.gist for each in found.listed}}
    return Page("events.html", "Events", EventDocument(events=rows, errors=found.errors), more)


def since(text: str | None, now: datetime) -> datetime | None:
    """Return the time from which something is wanted; raises PrloomError for what is none of the spans there are."""
    if text is None:
        return None
    if text not in _SPANS:
        raise PrloomError(f"since={text} is no span of this page; use one of {', '.join(_SPANS)}")
    return now - _SPANS[text]


def review(site: Site, query: Query) -> Page:
    """Return what a person has to read and decide about: of all plans or of one, of all authors or of one."""
    plan, author = query.text("plan"), query.text("author")
    found = request_targets.in_state(site.where, ["held"], plan=plan)
    held = tuple(_untrusted(site, each) for each in found if each.event and author in {None, each.event.author})
    drafts = tuple(each for each in outbox.drafts(site.where).drafts if plan in {None, each.plan})
    withheld = tuple(_withheld(site, each) for each in request_targets.withheld(site.where, plan=plan))
    value = ReviewDocument(held=held, drafts=drafts, withheld=withheld)
    return Page("review.html", "To read", value, {"plan": plan, "author": author})


def _untrusted(site: Site, target: RequestTarget) -> UntrustedText:
    """Return a held event with its text; one whose text is not what came in can only be dropped."""
    opened = target.event
    assert opened is not None  # noqa: S101 - `in_state` returns events only
    try:
        read = request_targets.event(site.where, target)
    except PrloomError as error:
        return UntrustedText(
            id=target.id, plan=target.plan, type=opened.type, author=opened.author, title="", body="", url=None,
            digest="", problem=str(error),
        )  # fmt: skip
    return UntrustedText(
        id=target.id,
        plan=target.plan,
        type=read.type,
        author=opened.author,
        title=read.title,
        body=read.body,
        url=read.url,
        digest=opened.digest,
    )


def _withheld(site: Site, target: RequestTarget) -> WithheldAction:
    queued = target.action
    assert queued is not None  # noqa: S101 - `withheld` returns actions only
    texts: tuple[str, ...] = ()
    error = queued.error
    try:
        secrets = secret_scan.environment_secrets(os.environ)
        found = request_targets.action(site.where, target)
        texts = tuple(secret_scan.masked(text, secrets) for text in secret_scan.texts(found))
    except PrloomError as problem:
        error = str(problem)
    return WithheldAction(id=queued.id, plan=target.plan, target=queued.target, error=error, texts=texts)


def log(site: Site, query: Query) -> Page:
    """Return what happened lately in all plans or in one."""
    plan = query.text("plan")
    if plan is not None:
        plan = plan_names.find(site.where, plan)
    now = site.clock()
    begin = since(query.text("since") or "1h", now)
    entries = RepositoryLog(site.where, plan).recent(now, since=begin, limit=query.number("limit", 500, _MOST))
    more = {"plan": plan, "since": query.text("since") or "1h", "spans": tuple(_SPANS)}
    return Page("log.html", "Log", LogDocument(entries=tuple(reversed(entries))), more)
