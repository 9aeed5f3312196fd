"""`prloom status`: show what is waiting, and why."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, status_text, terminal
from prloom.cli.config_check import ConfigCheck
from prloom.cli.context import Options, json_option, pass_options

if TYPE_CHECKING:
    from datetime import datetime

    from prloom.engine.views.dashboard_schema import FullStatus
    from prloom.engine.views.status_schema import StatusDocument
    from prloom.storage.paths import RepositoryPaths

_PAUSE = 1.0  # seconds between two looks of --watch


@click.command("status")
@click.argument("plan", required=False, shell_complete=completion.plans)
@json_option
@click.option("--watch", is_flag=True, help="Show the status again and again until Ctrl-C.")
@pass_options
def command(given: Options, plan: str | None, *, as_json: bool, watch: bool) -> None:
    """Show what is waiting and why, for all plans or for one PLAN, named by its id or its pull request's number."""
    if watch and as_json:
        raise click.UsageError("--json and --watch cannot be combined; use one of them")
    where, _ = context.repository_to_read(given)
    if plan is None:
        named = None
    else:
        named = context.plan_id(where, plan)
    check = ConfigCheck(given)
    if watch:
        _watch(where, named, check)
    status, now = _read(where, named, check)
    if as_json:
        terminal.echo_json(_document(where, status, now))
    else:
        click.echo("\n".join(status_text.lines(status, now)))


def _read(where: RepositoryPaths, plan: str | None, check: ConfigCheck) -> tuple[StatusDocument, datetime]:
    from datetime import UTC, datetime  # noqa: PLC0415 - `prloom status --help` needs none

    from msgspec.structs import replace  # noqa: PLC0415

    from prloom.engine.views import status  # noqa: PLC0415

    now = datetime.now(UTC)
    found = status.read(where, now, plan=plan)
    error = check.error()
    return (found if error is None else replace(found, config_error=error)), now


def _document(where: RepositoryPaths, status: StatusDocument, now: datetime) -> FullStatus:
    """Return the document with the costs of each plan, which people see in `prloom costs`, and the dashboard."""
    from prloom.core import costs  # noqa: PLC0415 - see _read
    from prloom.engine.runs import listing  # noqa: PLC0415
    from prloom.engine.views import dashboard  # noqa: PLC0415
    from prloom.engine.views import status as views  # noqa: PLC0415

    grouped = costs.groups(listing.spent(where, now), lambda run: run.plan)
    priced = views.with_costs(status, {plan: costs.total(runs, plan) for plan, runs in grouped.items()})
    return dashboard.full(priced, dashboard.of(where, status, now))


def _watch(where: RepositoryPaths, plan: str | None, check: ConfigCheck) -> None:
    """Show the status again and again: on a terminal in place, elsewhere each time that something has changed."""
    from prloom.engine.views import status as views  # noqa: PLC0415 - see _read

    in_place = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    before: object = None
    drawn = 0
    while True:
        status, now = _read(where, plan, check)
        if in_place:
            drawn = _redraw(list(status_text.lines(status, now)), drawn)
        elif (timeless := views.timeless(status)) != before:
            click.echo("\n".join([*status_text.lines(status, now), ""]))
            sys.stdout.flush()
            before = timeless
        time.sleep(_PAUSE)


def _redraw(lines: list[str], drawn: int) -> int:
    """Draw lines over the rows drawn before, and return how many rows they fill; what does not fit is left out."""
    from shutil import get_terminal_size  # noqa: PLC0415 - only a terminal needs it

    columns, height = get_terminal_size()
    shown: list[str] = []
    rows = 0
    for line in lines:
        filled = max(1, -(-terminal.columns_of(line) // columns))
        if rows + filled >= height - 1:
            shown.append("…")
            rows += 1
            break
        shown.append(line)
        rows += filled
    sys.stdout.write((f"\x1b[{drawn}F" if drawn else "") + "\x1b[J")  # not by click, which with NO_COLOR drops it
    click.echo("\n".join(shown))
    return rows
