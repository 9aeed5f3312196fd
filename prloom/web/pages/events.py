"""Build the page that lists events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from prloom.engine.views import events, plan_names
from prloom.engine.views.events import EventFilter, EventRow
from prloom.model.kinds import EVENT_ORDERS, STATES, EventOrder
from prloom.model.record import Record
from prloom.web.pages import spans
from prloom.web.site import Page, Query, Site

_LISTED = 100
_MOST = 2000
_ORDERS: Final[Mapping[EventOrder, str]] = {"came": "newest", "age": "longest as it is"}
"""What people are told of the orders."""


class EventDocument(Record, frozen=True, kw_only=True):
    """The rows of a list of events, and what is wrong with the plans that could not be read."""

    events: tuple[EventRow, ...]
    errors: tuple[str, ...] = ()


def page(site: Site, query: Query) -> Page:
    """Return a list of events, the newest first, or those first that have been as they are for the longest time."""
    plan = query.text("plan")
    if plan is not None:
        plan = plan_names.find(site.where, plan)
    order = query.choice("sort", EVENT_ORDERS) or "came"
    wanted = EventFilter(
        state=query.choice("state", STATES),
        type=query.text("type"),
        author=query.text("author"),
        since=spans.since(query.text("since"), site.clock()),
        limit=query.number("limit", _LISTED, _MOST),
        sort=order,
        own=query.text("all") is not None,
    )
    found = events.every(site.where, wanted, plan=plan)
    rows = found.rows
    if order == "came":
        rows = tuple(reversed(rows))
    more = {
        "query": dict(query.given),
        "states": STATES,
        "spans": spans.SPANS,
        "orders": {each: _ORDERS.get(each, each) for each in EVENT_ORDERS},
        "gists": {(each.row.plan, each.row.id): each.gist for each in found.listed},
    }
    return Page("events.html", "Events", EventDocument(events=rows, errors=found.errors), more)
