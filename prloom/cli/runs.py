"""`prloom runs`, `prloom costs` and `prloom stop`: what agents do and did, what that took, and how to end it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, terminal
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.terminal import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prloom.core.reports.costs import CostGroup
    from prloom.model.run import RunRecord

_NEWEST = 50
_HEADS = ("RUN", "PLAN", "STAGE", "TODO", "AGENT", "STATUS", "BEGAN", "TIME", "TOKENS", "COST")
_LEFT_OUT = ("TODO", "TOKENS", "AGENT", "COST", "TIME", "STAGE", "PLAN", "BEGAN")
"""The columns that a narrow terminal goes without, in this order; `--json` has them all."""
_ROLES: Mapping[str, Role] = {"running": "name", "ok": "good", "failed": "bad", "limited": "warn"}
_SINCE = "2h, 7d, 2026-11-21 or 2026-11-21T20:16:05Z."


@click.command("runs")
@click.argument("plan", required=False, shell_complete=completion.plans)
@click.option("--since", metavar="TIME", help=f"List only runs that began since then: {_SINCE}")
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
def runs(given: Options, plan: str | None, *, since: str | None, limit: int, as_json: bool) -> None:
    """List the runs of agents and checks, of all plans or of one PLAN. The newest run is the last."""
    from prloom.engine.runs import listing  # noqa: PLC0415 - `prloom runs --help` needs none

    now = datetime.now(UTC)
    where, _ = context.repository_to_read(given)
    found = listing.listed(where, now, plan_id=_plan(given, plan), since=_since(since, now), limit=limit)
    if as_json:
        terminal.echo_json(listing.Runs(runs=found))
        return
    if not found:
        click.echo("No runs yet.")
        return
    lines = _lines([_row(run, now) for run in found], terminal.line_width())
    for line, run in zip(lines, (None, *found), strict=True):
        click.echo(line)
        if run is not None and run.error:
            click.echo(f"    {terminal.fit(terminal.clean(run.error), terminal.width() - 4)}")


@click.command("costs")
@click.argument("plan", required=False, shell_complete=completion.plans)
@click.option("--since", metavar="TIME", help=f"Count only runs that began since then: {_SINCE}")
@click.option(
    "--by", "grouping", type=click.Choice(["plan", "stage", "model", "day", "plugin"]), help="Add up by this only."
)
@json_option
@pass_options
def costs(given: Options, plan: str | None, *, since: str | None, grouping: str | None, as_json: bool) -> None:
    """Add up the runs of agents of all plans, or of one PLAN: their number, time, tokens and cost.

    What an agent program did not measure is not guessed: such runs are counted as unmeasured.
    """
    from msgspec.structs import replace  # noqa: PLC0415 - `prloom costs --help` needs none

    from prloom.core.reports import costs as core  # noqa: PLC0415 - likewise
    from prloom.engine.runs import listing  # noqa: PLC0415 - likewise

    now = datetime.now(UTC)
    where, _ = context.repository_to_read(given)
    begin = _since(since, now)
    found = listing.spent(where, now, plan_id=_plan(given, plan), since=begin)
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
        _echo_costs(head.upper(), [core.total(members, key) for key, members in sorted(grouped.items())])
    _echo_costs("TOTAL", [core.total(found, "")])


@click.command("stop")
@click.argument("run")
@pass_options
def stop(given: Options, run: str) -> None:
    """End a RUN of an agent, and pause its plan, so that prloom does not begin the same run again."""
    from prloom.engine.operator import run_stop  # noqa: PLC0415 - `prloom stop --help` needs none

    context.refuse_in_run(click.get_current_context().command_path)
    url = context.config(given).exchange.url
    stopped = run_stop.stop(context.repository(given), run, exchange_url=url, by="`prloom stop`")
    if stopped.pause is None:
        click.echo(f"Run {stopped.run} has ended already.")
        return
    click.echo(stopped.pause.message("Paused"))
    click.echo(f"Stopping {stopped.run}. To continue: prloom resume {terminal.clean(stopped.plan)}")


def _plan(given: Options, named: str | None) -> str | None:
    """Return the plan's id; a plan that is gone is known by the id that the log of runs has."""
    from prloom.errors import PrloomError  # noqa: PLC0415
    from prloom.storage import run_log  # noqa: PLC0415 - only a plan that is gone needs it

    if named is None:
        return None
    where, _ = context.repository_to_read(given)
    try:
        return context.plan_id(where, named)
    except PrloomError:
        for day in reversed(run_log.days(where.root)):
            if any(run.plan == named for run in run_log.of_day(where.root, day)):
                return named
        raise


def _since(text: str | None, now: datetime) -> datetime | None:
    if text is None:
        return None
    return context.since(text, now)


def _lines(rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """Return the list with its head, without the columns for which a terminal of this width has no room."""
    lines: list[str] = []
    for count in range(len(_LEFT_OUT) + 1):
        columns = [place for place, head in enumerate(_HEADS) if head not in _LEFT_OUT[:count]]
        heads = [terminal.paint(_HEADS[place], "dim") for place in columns]
        lines = terminal.table([heads, *([row[place] for place in columns] for row in rows)])
        if width is None or max(map(terminal.columns_of, lines)) <= width:
            return lines
    return lines


def _row(run: RunRecord, now: datetime) -> list[str]:
    tokens = "unmeasured"
    if run.usage is not None:
        tokens = f"{run.usage.input_tokens + run.usage.output_tokens:,}"
    if run.status == "running":
        tokens = ""
    status = run.status
    role = _ROLES.get(status)
    cells = [run.id, run.plan, run.stage, run.todo or "", run.agent]
    return [
        *(terminal.clean(cell) for cell in cells),
        terminal.paint(status, role) if role else status,
        terminal.when(run.started_at, now, units=1),
        terminal.duration(timedelta(seconds=run.seconds)),
        tokens,
        _dollars(run.cost_usd),
    ]


def _echo_costs(head: str, sums: Sequence[CostGroup]) -> None:
    titles = (head, "RUNS", "TIME", "TOKENS IN", "TOKENS OUT", "COST", "UNMEASURED")
    rows = [[terminal.paint(cell, "dim") for cell in titles], *(_sum_row(each) for each in sums)]
    _echo(terminal.table(rows))
    if head != "TOTAL":
        click.echo()


def _sum_row(each: CostGroup) -> list[str]:
    return [
        terminal.clean(str(each.key)),
        str(each.runs),
        terminal.duration(timedelta(seconds=each.seconds)),
        f"{each.input_tokens:,}",
        f"{each.output_tokens:,}",
        _dollars(each.cost_usd),
        str(each.unmeasured_runs) if each.unmeasured_runs else "",
    ]


def _echo(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def _dollars(cost: float | None) -> str:
    if cost is None:
        return ""
    return f"{cost:.4f} USD"
