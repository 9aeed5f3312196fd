"""Show to a person the state of prloom in a repository: whether it is at work, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prloom.cli.output import dashboard_text, layout, terminal, waiting_text

if TYPE_CHECKING:
    from prloom.engine.views.dashboard_schema import Dashboard
    from prloom.engine.views.status_schema import StatusDocument


def above(status: StatusDocument, shown: Dashboard) -> Iterator[str]:
    """Yield what stands above everything: whether prloom is at work, and that there is no plan."""
    yield from dashboard_text.header(shown)
    if not status.plans:
        yield from layout.paragraph(waiting_text.totals(status))


def problems(status: StatusDocument) -> Iterator[str]:
    """Yield what is wrong with prloom as a whole, for a screen that does not list what needs a person there."""
    if status.dispatcher.trouble:
        yield from layout.item("trouble", terminal.paint(terminal.clean(status.dispatcher.trouble), "bad"))
    if status.config_error:
        yield from layout.paragraph(terminal.paint(_config_error(status.config_error), "bad"))


def _config_error(text: str) -> str:
    first, *others = text.splitlines()
    more = ""
    if others:
        more = f" ({len(others)} more; `prloom doctor` lists them)"
    return f"Configuration error: {terminal.clean(first)}{more}"
