"""Build the first page: what needs a person, what goes on, what waits, and all plans."""

from __future__ import annotations

from prloom.engine.views import dashboard
from prloom.errors import ConfigError
from prloom.web import remedies
from prloom.web.site import Page, Query, Site


def page(site: Site, query: Query) -> Page:
    """Return the first page."""
    problem = None
    try:
        site.read_config()
    except ConfigError as error:
        problem = str(error)
    value = dashboard.read(site.where, site.clock(), config_error=problem, cache=site.cache)
    return Page("dashboard.html", "Overview", value, {"remedies": [remedies.of(each) for each in value.needs]})
