"""`prloom runs`: list what agents do and did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, run_selection
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import terminal
from prloom.cli.output.terminal import Role

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from prloom.model.run import RunRecord

_NEWEST = 50
_MACHINE = "MACHINE"
_HEADS = ("RUN", "PLAN", "STAGE", "TODO", "AGENT", _MACHINE, "STATUS", "BEGAN", "TIME", "TOKENS", "COST")
_LEFT_OUT = ("TODO", "TOKENS", "AGENT", "COST", "TIME", "STAGE", _MACHINE, "PLAN", "BEGAN")
"""The columns that a narrow terminal goes without, in this order; `--json` has them all."""
_ROLES: Mapping[str, Role] = {"running": "name", "ok": "good", "failed": "bad", "limited": "warn"}


@click.command("runs")
@click.argument("plan", required=False, shell_complete=completion.plans)
@click.option("--since", metavar="TIME", help=f"List only runs that began since then: {run_selection.TIMES}")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=_NEWEST,
    show_default=True,
    help="List the newest N runs.",
)
@json_option
@pass_options
def command(given: Options, plan: str | None, *, since: str | None, limit: int, as_json: bool) -> None:
    """List the runs of agents and checks, of all plans or of one PLAN. The newest run is the last."""
    from prloom.engine.runs import listing  # noqa: PLC0415 - `prloom runs --help` needs none

    now = datetime.now(UTC)
    where, _ = context.repository_to_read(given)
    begin = run_selection.since(since, now)
    found = listing.listed(where, now, plan_id=run_selection.plan_id(given, plan), since=begin, limit=limit)
    if as_json:
        terminal.echo_json(listing.Runs(runs=found))
        return
    if not found:
        click.echo("No runs yet.")
        return
    heads = _heads({run.machine for run in found})
    lines = _lines([_row(run, now) for run in found], terminal.line_width(), heads)
    for line, run in zip(lines, (None, *found), strict=True):
        click.echo(line)
        if run is not None and run.error:
            click.echo(f"    {terminal.fit(terminal.clean(run.error), terminal.width() - 4)}")


def _heads(machines: Collection[str | None]) -> tuple[str, ...]:
    """Return the heads of the columns for runs on these machines: without the machine, if it is always the same one."""
    if len(machines) > 1:
        return _HEADS
    return tuple(head for head in _HEADS if head != _MACHINE)


def _lines(rows: Sequence[Sequence[str]], width: int | None, heads: Sequence[str] = _HEADS) -> list[str]:
    """Return the list with these heads, without the columns for which a terminal of this width has no room."""
    lines: list[str] = []
    for count in range(len(_LEFT_OUT) + 1):
        wanted = set(heads).difference(_LEFT_OUT[:count])
        columns = [place for place, head in enumerate(_HEADS) if head in wanted]
        top = [terminal.paint(_HEADS[place], "dim") for place in columns]
        lines = terminal.table([top, *([row[place] for place in columns] for row in rows)])
        if width is None or max(map(terminal.columns_of, lines)) <= width:
            return lines
    return lines


def _row(run: RunRecord, now: datetime) -> list[str]:
    tokens = "not reported"
    if run.usage is not None:
        tokens = f"{run.usage.input_tokens + run.usage.output_tokens:,}"
    if run.status == "running":
        tokens = ""
    status = run.status
    role = _ROLES.get(status)
    cells = [run.id, run.plan, run.stage, run.todo or "", run.agent, run.machine or ""]
    return [
        *(terminal.clean(cell) for cell in cells),
        terminal.paint(status, role) if role else status,
        terminal.when(run.started_at, now, units=1),
        terminal.duration(timedelta(seconds=run.seconds)),
        tokens,
        run_selection.dollars(run.cost_usd),
    ]
