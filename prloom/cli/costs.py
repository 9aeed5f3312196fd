"""`prloom costs`: add up what the runs of agents took."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, run_selection
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import layout, terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prloom.core.reports.costs import CostGroup


@click.command("costs")
@click.argument("plan", required=False, shell_complete=completion.plans)
@click.option("--since", metavar="TIME", help=f"Count only runs that began since then: {run_selection.TIMES}")
@click.option(
    "--by", "grouping", type=click.Choice(["plan", "stage", "model", "day", "plugin"]), help="Add up by this."
)
@json_option
@pass_options
def command(given: Options, plan: str | None, *, since: str | None, grouping: str | None, as_json: bool) -> None:
    """Add up the runs of agents of all plans, or of one PLAN: their number, time, tokens and cost.

    Nothing is guessed: where an agent program reported no tokens, they are not in the sums, and such runs are counted.
    """
    from msgspec.structs import replace  # noqa: PLC0415 - `prloom costs --help` needs none

    from prloom.core.reports import costs as core  # noqa: PLC0415 - likewise
    from prloom.engine.runs import listing  # noqa: PLC0415 - likewise

    now = datetime.now(UTC)
    where, _ = context.repository_to_read(given)
    begin = run_selection.since(since, now)
    found = listing.spent(where, now, plan_id=run_selection.plan_id(given, plan), since=begin)
    if as_json and grouping is None:
        terminal.echo_json(listing.costs_of(found, begin))
        return
    if as_json:
        grouped = core.groups(found, core.KEYS[str(grouping)])
        sums = tuple(core.total(members, key) for key, members in sorted(grouped.items()))
        terminal.echo_json(replace(listing.costs_of((), begin), groups=sums))
        return
    if not found:
        click.echo("No runs yet.")
        return
    for head, by in core.KEYS.items():
        grouped = core.groups(found, by)
        is_wanted = grouping == head or (grouping is None and list(grouped) != [core.NO_PLUGIN])
        if not is_wanted:
            continue
        sums = tuple(core.total(members, key) for key, members in sorted(grouped.items()))
        click.echo("\n".join([*cost_lines(head.upper(), sums), ""]))
    click.echo("\n".join(cost_lines("TOTAL", [core.total(found, "")])))


def cost_lines(head: str, sums: Sequence[CostGroup]) -> Sequence[str]:
    """Return a table of sums; where the terminal is too narrow for it, each as a sentence below its name."""
    titles = (head, "RUNS", "TIME", "TOKENS IN", "TOKENS OUT", "COST", "NO TOKENS")
    rows = [_sum_row(each) for each in sums]
    table = terminal.table([[terminal.paint(cell, "dim") for cell in titles], *rows])
    width = terminal.line_width()
    if width is None or all(terminal.columns_of(line) <= width for line in table):
        return table
    lines = [terminal.paint(head, "dim")]
    for row in rows:
        if row[0]:
            lines.append(layout.cut(row[0], 0))
        lines += layout.paragraph(_sentence(row), indent=layout.INDENT)
    return lines


def _sentence(row: Sequence[str]) -> str:
    _, runs, time, tokens_in, tokens_out, cost, without_tokens = row
    noun = "runs"
    if runs == "1":
        noun = "run"
    words = [f"{runs} {noun}", time, f"{tokens_in} tokens in", f"{tokens_out} tokens out", cost]
    if without_tokens:
        words.append(f"{without_tokens} reported no tokens")
    return ", ".join(filter(None, words))


def _sum_row(each: CostGroup) -> list[str]:
    return [
        terminal.clean(str(each.key)),
        str(each.runs),
        terminal.duration(timedelta(seconds=each.seconds)),
        f"{each.input_tokens:,}",
        f"{each.output_tokens:,}",
        run_selection.dollars(each.cost_usd),
        str(each.unmeasured_runs) if each.unmeasured_runs else "",
    ]
