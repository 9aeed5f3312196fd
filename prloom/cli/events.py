"""`prloom events`: list events and their states, in a table that fits the terminal or a few lines for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from prloom.cli import context, layout, terminal
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.terminal import Role
from prloom.model.kinds import DONE, OPEN, WAITING

if TYPE_CHECKING:
    from prloom.engine.views.events import EventFilter, EventRow, ListedEvent


@click.command("events")
@click.argument("plan", required=False)
@click.option("--state", type=click.Choice((*OPEN, *DONE)), help="List only events in this state.")
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
        since=None if since is None else context.since(since, now),
        limit=limit,
    )
    listing = events.every(where, wanted, plan=named)
    for error in listing.errors:
        click.echo(f"prloom: {terminal.clean(error)}", err=True)
    if as_json:
        terminal.echo_json({"events": listing.rows})
    elif listing.listed:
        click.echo("\n".join(_event_lines(listing.listed, now, terminal.line_width())))
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


_ROLES: Mapping[str, Role] = {"pending": "name", "deferred": "warn", "held": "warn", "parked": "bad"}
_HEADS = ("STATE", "EVENT", "PLAN", "TYPE", "AUTHOR", "CHANGED")
_EVENT, _PLAN, _TYPE, _AUTHOR = 1, 2, 3, 4
_GAP = 2
_LEAST = 8  # columns to which a plan, a type or an author may be cut
_LEAST_TEXT = 12  # columns that the text at the end needs


def _event_lines(listed: Sequence[ListedEvent], now: datetime, width: int | None) -> list[str]:
    """Return the lines of the list, none wider than `width`; None stands for a pipe, where nothing is cut."""
    rows = [_cells(each.row, now) for each in listed]
    if width is None:
        return _table(listed, rows, None)
    if width < layout.NARROW:
        return list(_blocks(listed, now, width))
    for without in ((), (_TYPE,), (_TYPE, _AUTHOR)):
        fitted = _fitted(rows, without, width)
        if fitted is not None:
            return _table(listed, fitted, width, without)
    return list(_blocks(listed, now, width))


def _cells(row: EventRow, now: datetime) -> list[str]:
    return [
        row.state,
        terminal.clean(row.id),
        terminal.clean(row.plan) or "-",
        terminal.clean(row.type),
        terminal.clean(row.author or "-"),
        layout.when(row.updated_at, now, units=1),
    ]


def _fitted(rows: Sequence[Sequence[str]], without: Sequence[int], width: int) -> list[list[str]] | None:
    """Return the rows with their plans, types and authors cut as far as the width asks; None if that is not enough.

    An id is never cut: it is there to be copied.
    """
    shown = [place for place in range(len(_HEADS)) if place not in without]
    sizes = {place: max(terminal.columns_of(row[place]) for row in (_HEADS, *rows)) for place in shown}
    room = width - _LEAST_TEXT - _GAP * len(shown)
    while sum(sizes.values()) > room:
        cuttable = [place for place in (_PLAN, _TYPE, _AUTHOR) if sizes.get(place, 0) > _LEAST]
        if not cuttable:
            return None
        widest = max(cuttable, key=lambda place: sizes[place])
        sizes[widest] -= 1
    return [
        [terminal.fit(cell, sizes[place]) if place in sizes else "" for place, cell in enumerate(row)] for row in rows
    ]


def _table(
    listed: Sequence[ListedEvent], rows: Sequence[Sequence[str]], width: int | None, without: Sequence[int] = ()
) -> list[str]:
    shown = [place for place in range(len(_HEADS)) if place not in without]
    heads = [terminal.paint(_HEADS[place], "dim") for place in shown]
    painted = [[_painted(place, row[place]) for place in shown] for row in rows]
    table = terminal.table([heads, *painted], gap=_GAP)
    taken = max(map(terminal.columns_of, table)) + _GAP
    texts = [terminal.paint("WHAT", "dim")]
    for each in listed:
        what = _what(each)
        texts.append(what if width is None else terminal.fit(what, width - taken))
    return [
        (line + " " * (taken - terminal.columns_of(line)) + text).rstrip()
        for line, text in zip(table, texts, strict=True)
    ]


def _painted(place: int, cell: str) -> str:
    if place == 0:
        return terminal.paint(cell, _ROLES.get(cell, "dim"))
    if place == _EVENT:
        return terminal.paint(cell, "strong")
    return cell


def _blocks(listed: Sequence[ListedEvent], now: datetime, width: int) -> Iterator[str]:
    """Yield three lines for each event: its state and id, where it is from, and what it is about."""
    for each in listed:
        state, event_id, plan, kind, author, changed = _cells(each.row, now)
        yield f"{terminal.paint(state, _ROLES.get(state, 'dim'))} {terminal.paint(event_id, 'strong')}"
        if author == "-":
            by = ""
        else:
            by = f" by {author}"
        yield layout.INDENT + terminal.fit(f"{plan}, {kind}{by}, {changed}", width - len(layout.INDENT))
        what = _what(each)
        if what:
            yield layout.INDENT + terminal.fit(what, width - len(layout.INDENT))


def _what(listed: ListedEvent) -> str:
    """Return why an open event waits, and what a done one was about."""
    row = listed.row
    waits = row.state in WAITING
    reason = row.reason
    if row.by not in {None, "prloom"} and row.reason:
        reason = f"{row.by}: {row.reason}"
    return terminal.clean((waits and reason) or listed.gist or row.reason or "")
