"""Build the page of what happened lately."""

from __future__ import annotations

from prloom.engine.views import plan_names
from prloom.engine.views.log_entry import LogEntry
from prloom.engine.views.repository_log import RepositoryLog
from prloom.model.record import Record
from prloom.web.pages import spans
from prloom.web.site import Page, Query, Site

_MOST = 2000


class LogDocument(Record, frozen=True, kw_only=True):
    """What happened since a time, the newest first."""

    entries: tuple[LogEntry, ...]


def page(site: Site, query: Query) -> Page:
    """Return what happened lately in all plans or in one."""
    plan = query.text("plan")
    if plan is not None:
        plan = plan_names.find(site.where, plan)
    now = site.clock()
    begin = spans.since(query.text("since") or "1h", now)
    entries = RepositoryLog(site.where, plan).recent(now, since=begin, limit=query.number("limit", 500, _MOST))
    more = {"plan": plan, "since": query.text("since") or "1h", "spans": spans.SHORT}
    return Page("log.html", "Log", LogDocument(entries=tuple(reversed(entries))), more, is_masked=True)
