"""`prloom events`: list events and their states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import context, event_table, terminal, times
from prloom.cli.options import Options, json_option, pass_options

if TYPE_CHECKING:
    from prloom.engine.views.events import EventFilter

STATES = ("pending", "deferred", "held", "parked", "handled", "triaged", "dropped", "superseded")


@click.command("events")
@click.argument("plan", required=False)
@click.option("--state", type=click.Choice(STATES), help="List only events in this state.")
@click.option("--type", "kind", metavar="TYPE", help="List only events of this type, such as pr_comment.")
@click.option("--author", metavar="LOGIN", help="List only events by this author.")
@click.option(
    "--since",
    metavar="TIME",
    help="List only events that came in or changed since then: 2h, 7d, 2026-11-21 or 2026-11-21T20:16:05Z.",
)
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="List only the newest N events.")
@json_option
@pass_options
def command(
    given: Options,
    plan: str | None,
    *,
    state: str | None,
    kind: str | None,
    author: str | None,
    since: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List the events of all plans, or of one PLAN, each with its state. The newest event is the last."""
    from datetime import UTC, datetime  # noqa: PLC0415 - `prloom events --help` needs none

    from prloom.engine.views import events  # noqa: PLC0415

    now = datetime.now(UTC)
    where, config_error = context.repository_to_read(given)
    if config_error:
        click.echo(f"prloom: {terminal.clean(config_error)}", err=True)
    if plan is None:
        named = None
    else:
        named = context.plan_id(where, plan)
    wanted = events.EventFilter(
        state=state,
        type=kind,
        author=None if author is None else author.removeprefix("@"),
        since=None if since is None else times.since(since, now),
        limit=limit,
    )
    listing = events.every(where, wanted, plan=named)
    for error in listing.errors:
        click.echo(f"prloom: {terminal.clean(error)}", err=True)
    if as_json:
        terminal.echo_json({"events": listing.rows})
    elif listing.listed:
        click.echo("\n".join(event_table.lines(listing.listed, now, terminal.line_width())))
    else:
        click.echo(_nothing(named, wanted))


def _nothing(plan: str | None, wanted: EventFilter) -> str:
    of = ""
    if plan:
        of = f" of plan {plan}"
    conditions = wanted._replace(limit=None)
    if not any(conditions):
        return f"No events{of} yet; they come with `prloom start`, or by hand with `prloom emit`."
    if conditions == type(wanted)(state=wanted.state):
        return f"No event{of} is {wanted.state}."
    return f"No event{of} matches; leave out an option to see more."
