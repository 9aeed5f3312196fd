"""`prloom status`: show what needs the operator, what goes on, what waits, and all plans, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec import Struct

from prloom.cli import completion, context
from prloom.cli.config_check import ConfigCheck
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import dashboard_text, status_text, terminal

if TYPE_CHECKING:
    from datetime import datetime

    from prloom.engine.views.dashboard_schema import Dashboard, FullStatus
    from prloom.engine.views.status_schema import StatusDocument
    from prloom.storage.paths import RepositoryPaths


class ShownStatus(Struct, frozen=True):
    """What is shown: the status of all plans or of one, and the dashboard that is made of it."""

    status: StatusDocument
    dashboard: Dashboard
    now: datetime


class Wanted(Struct, frozen=True):
    """What the command line asks for: all plans, or one; `whole`: with everything about each of them."""

    where: RepositoryPaths
    check: ConfigCheck
    plan: str | None = None
    whole: bool = False


@click.command("status")
@click.argument("plan", required=False, shell_complete=completion.plans)
@json_option
@click.option("--all", "whole", is_flag=True, help="Show everything about every plan, and the bridges and plugins.")
@click.option("--watch", is_flag=True, help="Show the status again and again until q or Ctrl-C.")
@pass_options
def command(given: Options, plan: str | None, *, as_json: bool, whole: bool, watch: bool) -> None:
    """Show what needs you, what goes on, what waits, and all plans, on one screen; or everything about one PLAN.

    PLAN is an id, a branch, or the number or URL of a pull request.
    """
    if watch and as_json:
        raise click.UsageError("--json and --watch cannot be combined; use one of them")
    where, _ = context.repository_to_read(given)
    named = None
    if plan is not None:
        from prloom.engine.operator import plan_texts  # noqa: PLC0415 - only a name needs it

        named = plan_texts.find(where, plan).id
    wanted = Wanted(where, ConfigCheck(given), named, whole)
    if watch:
        from prloom.cli import watch as screens  # noqa: PLC0415 - only a watch needs it
        from prloom.engine.views import status as views  # noqa: PLC0415

        screens.watch(
            lambda: _read(wanted),
            lambda shown: _lines(wanted, shown, scrolls=True),
            lambda shown: views.timeless(shown.status),
        )
        return
    shown = _read(wanted)
    if as_json:
        terminal.echo_json(_document(where, shown))
    else:
        click.echo("\n".join(_lines(wanted, shown)))


def _read(wanted: Wanted) -> ShownStatus:
    from datetime import UTC, datetime  # noqa: PLC0415 - `prloom status --help` needs none

    from msgspec.structs import replace  # noqa: PLC0415

    from prloom.engine.views import dashboard, status  # noqa: PLC0415

    now = datetime.now(UTC)
    found = status.read(wanted.where, now, plan=wanted.plan)
    error = wanted.check.error()
    if error is not None:
        found = replace(found, config_error=error)
    return ShownStatus(found, dashboard.of(wanted.where, found, now), now)


def _lines(wanted: Wanted, shown: ShownStatus, *, scrolls: bool = False) -> list[str]:
    """Return what is shown, as lines; all of it where the screen scrolls."""
    if wanted.plan is not None:
        from prloom.cli.output import plan_text  # noqa: PLC0415 - only one plan needs it

        return list(plan_text.lines(wanted.where, shown.status, shown.dashboard, shown.now))
    if wanted.whole:
        from prloom.cli.output import repository_text  # noqa: PLC0415 - likewise

        return list(repository_text.lines(wanted.where, shown.status, shown.dashboard, shown.now))
    above = list(status_text.above(shown.status, shown.dashboard))
    if scrolls:
        return dashboard_text.whole(shown.dashboard, above)
    return dashboard_text.screen(shown.dashboard, above, _height())


def _height() -> int | None:
    """Return how many rows the status may take, for the prompt comes after it; None where that is not known."""
    rows = terminal.height()
    if rows is None:
        return None
    return rows - 1


def _document(where: RepositoryPaths, shown: ShownStatus) -> FullStatus:
    """Return the document with the costs of each plan, which people see in `prloom costs`, and the dashboard."""
    from prloom.core.reports import costs  # noqa: PLC0415 - see _read
    from prloom.engine.runs import listing  # noqa: PLC0415
    from prloom.engine.views import dashboard  # noqa: PLC0415
    from prloom.engine.views import status as views  # noqa: PLC0415

    grouped = costs.groups(listing.spent(where, shown.now), lambda run: run.plan)
    priced = views.with_costs(shown.status, {plan: costs.total(runs, plan) for plan, runs in grouped.items()})
    return dashboard.full(priced, shown.dashboard)
