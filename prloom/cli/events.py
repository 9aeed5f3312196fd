"""`prloom events`: list events and their states, in a table that fits the terminal or a few lines for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import layout, terminal
from prloom.cli.output.terminal import Role
from prloom.model.kinds import EVENT_ORDERS, STATES, WAITING, EventOrder

if TYPE_CHECKING:
    from prloom.engine.views.events import EventFilter, EventRow, ListedEvent
    from prloom.engine.views.history import CausedTodo


@click.command("events")
@click.argument("plan", required=False, shell_complete=completion.plans)
@click.option("--state", type=click.Choice(STATES), help="List only events in this state.")
@click.option("--type", "kind", metavar="TYPE", help="List only events of this type, such as pr_comment.")
@click.option("--author", metavar="LOGIN", help="List only events by this author.")
@click.option(
    "--since",
    metavar="TIME",
    help="List only events that came in or changed since then: 2h, 7d, 2026-11-21 or 2026-11-21T20:16:05Z.",
)
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="List only the newest N events.")
@click.option(
    "--sort",
    type=click.Choice(EVENT_ORDERS),
    default="came",
    help="List the newest event last, or the event whose state is the oldest first.",
)
@click.option("--all", "own", is_flag=True, help="List prloom's own notices of new drafts too.")
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
    sort: EventOrder,
    own: bool,
    as_json: bool,
) -> None:
    """List the events of all plans, or of one PLAN, each with its state. Without --sort, the newest is the last."""
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
        sort=sort,
        own=own,
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
    everything = type(wanted)()
    conditions = wanted._replace(limit=everything.limit, sort=everything.sort, own=everything.own)
    if conditions == everything:
        return f"No events{of} yet; they come with `prloom start`, or by hand with `prloom emit`."
    if conditions == everything._replace(state=wanted.state):
        return f"No event{of} is {wanted.state}."
    return f"No event{of} matches; leave out an option to see more."


_ROLES: Mapping[str, Role] = {"pending": "name", "deferred": "warn", "held": "warn", "parked": "bad"}
_GAP = 2
_LEAST = 8  # columns to which a plan, a type or an author may be cut
_LEAST_TEXT = 12  # columns that the text at the end needs


class Column(NamedTuple):
    """A column of the table.

    On a narrow terminal, a column that is `cuttable` becomes narrower; columns with a `left_out` are left out in the
    order of that number. On one that has no room for columns, an event has a block of lines, in which the cell stands
    behind `before`, for the events that it is `in_block` for.
    """

    head: str
    cell: Callable[[EventRow, datetime], str]
    role: Callable[[str], Role | None] = lambda _: None
    cuttable: bool = False
    left_out: int | None = None
    before: str = ", "
    in_block: Callable[[EventRow], bool] = lambda _: True


COLUMNS = (
    Column("STATE", lambda row, _: row.state, role=lambda state: _ROLES.get(state, "dim")),
    Column("EVENT", lambda row, _: terminal.clean(row.id), role=lambda _: "strong"),  # never cut: it is to be copied
    Column("PLAN", lambda row, _: terminal.clean(row.plan) or "-", cuttable=True),
    Column("TYPE", lambda row, _: terminal.clean(row.type), cuttable=True, left_out=1),
    Column(
        "AUTHOR",
        lambda row, _: terminal.clean(row.author or "-"),
        cuttable=True,
        left_out=2,
        before=" by ",
        in_block=lambda row: bool(row.author),
    ),
    Column("CHANGED", lambda row, now: layout.when(row.updated_at, now, units=1)),
)
"""The columns, in their order; the text that says what an event is about comes after them."""


def _event_lines(listed: Sequence[ListedEvent], now: datetime, width: int | None) -> list[str]:
    """Return the lines of the list, none wider than `width`; None stands for a pipe, where nothing is cut."""
    if width is None:
        return _table(listed, COLUMNS, _rows(listed, COLUMNS, now), None)
    if width < layout.NARROW:
        return list(_blocks(listed, now, width))
    for most in sorted({column.left_out or 0 for column in COLUMNS}):
        columns = [column for column in COLUMNS if column.left_out is None or column.left_out > most]
        fitted = _fitted(columns, _rows(listed, columns, now), width)
        if fitted is not None:
            return _table(listed, columns, fitted, width)
    return list(_blocks(listed, now, width))


def _rows(listed: Sequence[ListedEvent], columns: Sequence[Column], now: datetime) -> list[list[str]]:
    return [[column.cell(each.row, now) for column in columns] for each in listed]


def _fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[list[str]] | None:
    """Return the rows with their cells cut as far as the width asks; None if that is not enough."""
    heads = [column.head for column in columns]
    sizes = [max(map(terminal.columns_of, cells)) for cells in zip(heads, *rows, strict=True)]
    room = width - _LEAST_TEXT - _GAP * len(columns)
    while sum(sizes) > room:
        cuttable = [place for place, column in enumerate(columns) if column.cuttable and sizes[place] > _LEAST]
        if not cuttable:
            return None
        sizes[max(cuttable, key=lambda place: sizes[place])] -= 1
    return [[terminal.fit(cell, size) for cell, size in zip(row, sizes, strict=True)] for row in rows]


def _table(
    listed: Sequence[ListedEvent], columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None
) -> list[str]:
    heads = [terminal.paint(column.head, "dim") for column in columns]
    painted = [[_painted(column, cell) for column, cell in zip(columns, row, strict=True)] for row in rows]
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


def _painted(column: Column, cell: str) -> str:
    role = column.role(cell)
    if role is None:
        return cell
    return terminal.paint(cell, role)


def _blocks(listed: Sequence[ListedEvent], now: datetime, width: int) -> Iterator[str]:
    """Yield three lines for each event: its state and id, where it is from, and what it is about."""
    for each in listed:
        yield " ".join(_painted(column, column.cell(each.row, now)) for column in COLUMNS[:2])
        yield layout.INDENT + terminal.fit(_facts(each.row, now), width - len(layout.INDENT))
        what = _what(each)
        if what:
            yield layout.INDENT + terminal.fit(what, width - len(layout.INDENT))


def _facts(row: EventRow, now: datetime) -> str:
    """Return the cells of an event behind its state and id, as one text."""
    first, *others = (column for column in COLUMNS[2:] if column.in_block(row))
    return first.cell(row, now) + "".join(column.before + column.cell(row, now) for column in others)


def _what(listed: ListedEvent) -> str:
    """Return why an open event waits, and what a done one was about."""
    row = listed.row
    waits = row.state in WAITING
    reason = row.reason
    if row.by not in {None, "prloom"} and row.reason:
        reason = f"{row.by}: {row.reason}"
    what = terminal.clean((waits and reason) or "") or layout.title(listed.gist or row.reason or "")
    return "; ".join(filter(None, [what, *(_todo(todo) for todo in row.todos or ())]))


def _todo(todo: CausedTodo) -> str:
    """Return what became of a TODO that an event caused."""
    commit = ""
    if todo.commit is not None:
        commit = f" in {terminal.clean(todo.commit[:10])}"
    return f"TODO {terminal.clean(todo.id)} {terminal.clean(todo.state)}{commit}"
