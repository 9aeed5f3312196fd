"""Build the page of an event: its history."""

from __future__ import annotations

from prloom.engine.views import plan_names, why, why_todo
from prloom.errors import PrloomError
from prloom.model.event import digest
from prloom.model.kinds import OPEN, PUT_OFF
from prloom.web.site import Page, Query, Site


def page(site: Site, query: Query) -> Page:
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
        "is_open": value.state in OPEN,
        "is_put_off": value.state in PUT_OFF,
        "steps": value.steps,
        "came_at": life.came_at,
        "earlier": life.earlier,
    }
    return Page("event.html", life.event.title or life.event.id, value, more, (life.plan,) if life.plan else ())
