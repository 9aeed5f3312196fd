"""`prloom log`: show what is decided, run, delivered and refused in all plans, as it happens."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import layout, terminal

if TYPE_CHECKING:
    from prloom.cli.output.terminal import Role
    from prloom.engine.views.log_entry import LogEntry

_NEWEST = 100
_PAUSE = 0.5
_ROLES: dict[str, Role] = {"error": "bad", "run": "dim"}


@click.command("log")
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens next, until Ctrl-C.")
@click.option("--plan", metavar="PLAN", help="Show only this plan.", shell_complete=completion.plans)
@click.option("--since", metavar="TIME", help="Begin at this time: 2h, 7d, 2026-11-21 or 2026-11-21T20:16:05Z.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Show only the newest N entries. The default is {_NEWEST}, or all with --since.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one entry on each line.")
@pass_options
def command(
    given: Options, *, follow: bool, plan: str | None, since: str | None, limit: int | None, as_json: bool
) -> None:
    """Show what happened lately in all plans: decisions, runs that ended, deliveries and errors. The newest is last."""
    from prloom.engine.views.repository_log import RepositoryLog  # noqa: PLC0415 - `prloom log --help` needs none

    now = datetime.now(UTC)
    where, _ = context.repository_to_read(given)
    named = None
    if plan is not None:
        named = context.plan_id(where, plan)
    begin = None
    if since is not None:
        begin = context.since(since, now)
    log = RepositoryLog(where, named)
    shown = log.recent(now, since=begin, limit=limit or _default_limit(begin))
    _show(shown, as_json=as_json)
    if not shown and not follow and not as_json:
        click.echo(_nothing(RepositoryLog(where, named).recent(now, since=None, limit=1), begin))
    while follow:
        time.sleep(_PAUSE)
        _show(log.new(datetime.now(UTC)), as_json=as_json)


def _nothing(last: Sequence[LogEntry], begin: datetime | None) -> str:
    """Return that nothing happened, since a time or ever; `last` has what happened last, if anything did."""
    if not last:
        return "Nothing has happened yet; it begins with `prloom start`."
    return (
        f"Nothing has happened since {layout.clock(begin or last[0].ts)}; the last entry is of "
        f"{layout.clock(last[0].ts)}, and `prloom log` shows it."
    )


def _default_limit(begin: datetime | None) -> int | None:
    if begin is None:
        return _NEWEST
    return None


def _show(entries: Iterable[LogEntry], *, as_json: bool) -> None:
    """Print entries, with a mask in place of secrets."""
    from prloom.core.text import secret_scan  # noqa: PLC0415 - `prloom log --help` needs none
    from prloom.model import record  # noqa: PLC0415 - likewise

    for entry in entries:
        if as_json:
            terminal.echo_json_line(secret_scan.masked_document(record.to_builtins(entry)))
        else:
            click.echo("\n".join(_lines(entry)))


def line(entry: LogEntry) -> str:
    """Return an entry for a person, with a mask in place of secrets."""
    return f"{layout.clock(entry.ts)}  {_painted(entry, _text(entry))}"


def _lines(entry: LogEntry) -> Iterator[str]:
    """Yield an entry as lines that fit the terminal: its text beside its time, or below it on a narrow one."""
    width = terminal.line_width()
    start = f"{layout.clock(entry.ts)}  "
    if width is not None and width < layout.NARROW:
        yield start.rstrip()
        start = layout.INDENT
    for part in layout.fitted(_text(entry), len(start)):
        yield start + _painted(entry, part)
        start = " " * len(start)


def _text(entry: LogEntry) -> str:
    from prloom.core.text import secret_scan  # noqa: PLC0415 - `prloom log --help` needs none

    return terminal.clean(secret_scan.masked(entry.text))


def _painted(entry: LogEntry, text: str) -> str:
    role = _ROLES.get(entry.kind)
    if role is None:
        return text
    return terminal.paint(text, role)
