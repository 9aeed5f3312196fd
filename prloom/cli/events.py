"""`prloom events`: list events and their states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import layout, places, terminal
from prloom.cli.options import Options, json_option, pass_options
from prloom.cli.terminal import Role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from prloom.engine.views.events import Listed, Row

STATES = ("pending", "deferred", "held", "parked", "handled", "triaged", "dropped", "superseded")

_ROLES: Mapping[str, Role] = {"pending": "name", "deferred": "warn", "held": "warn", "parked": "bad"}


@click.command("events")
@click.argument("plan", required=False)
@click.option("--state", type=click.Choice(STATES), help="Only events in this state.")
@json_option
@pass_options
def command(given: Options, plan: str | None, state: str | None, *, as_json: bool) -> None:
    """List all events there ever were, or those of one PLAN, with what became of each."""
    from prloom.engine.views import events  # noqa: PLC0415 - `prloom events --help` needs none

    where = places.repository(given)
    named = None if plan is None else places.plan_id(where, plan)
    listing = events.every(where, plan=named, state=state)
    for error in listing.errors:
        click.echo(f"prloom: {terminal.clean(error)}", err=True)
    if as_json:
        terminal.echo_json({"events": listing.rows})
    elif listing.listed:
        click.echo("\n".join(_lines(listing.listed)))
    else:
        click.echo(_nothing(named, state))


def _nothing(plan: str | None, state: str | None) -> str:
    of = f" of plan {plan}" if plan else ""
    if state is not None:
        return f"No event{of} is {state}."
    return f"No events{of} yet; they come with `prloom start`, or by hand with `prloom emit`."


def _lines(listed: Sequence[Listed]) -> list[str]:
    from datetime import UTC, datetime  # noqa: PLC0415 - only for people

    now = datetime.now(UTC)
    heads = [terminal.paint(name, "dim") for name in ("STATE", "EVENT", "PLAN", "TYPE", "AUTHOR", "CHANGED")]
    table = terminal.table([heads, *(_cells(each.row, now) for each in listed)])
    taken = max(map(terminal.columns_of, table)) + 2
    texts = [terminal.paint("WHAT", "dim"), *(layout.cut(_what(each), taken) for each in listed)]
    return [
        (line + " " * (taken - terminal.columns_of(line)) + text).rstrip()
        for line, text in zip(table, texts, strict=True)
    ]


def _cells(row: Row, now: datetime) -> list[str]:
    return [
        terminal.paint(row.state, _ROLES.get(row.state, "dim")),
        layout.shown_id(row.id),
        terminal.clean(row.plan) or "-",
        terminal.clean(row.type),
        terminal.clean(row.author or "-"),
        layout.when(row.updated_at, now),
    ]


def _what(listed: Listed) -> str:
    """Return why an open event waits, and what a done one was about."""
    row = listed.row
    waits = row.state in {"deferred", "held", "parked"}
    reason = f"{row.by}: {row.reason}" if row.by and row.reason else row.reason
    return terminal.clean((waits and reason) or listed.gist or row.reason or "")
