"""`prloom stats`: show what was done, how long events waited, which plugins are slow, and what failed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from prloom.cli import context
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import layout, terminal

if TYPE_CHECKING:
    from prloom.core.reports.stats import PluginTimes, Spread, Stats


@click.command("stats")
@click.option("--since", metavar="TIME", help="Count only since this time: 2h, 7d, 2026-11-21 or 2026-11-21T20:16:05Z.")
@click.option("--all", "own", is_flag=True, help="Count prloom's own notices of new drafts too.")
@json_option
@pass_options
def command(given: Options, *, since: str | None, own: bool, as_json: bool) -> None:
    """Show the throughput, the waits of events, the slowest plugins, and failures, of all plans."""
    from prloom.engine.views import stats  # noqa: PLC0415 - `prloom stats --help` needs none

    where, _ = context.repository_to_read(given)
    begin = None
    if since is not None:
        begin = context.since(since, datetime.now(UTC))
    found = stats.read(where, begin, own=own)
    if as_json:
        terminal.echo_json(found)
    else:
        click.echo("\n".join(lines(found)))


def lines(found: Stats) -> Iterator[str]:
    """Yield what a person is told of the statistics."""
    from prloom.core.reports import stats as core  # noqa: PLC0415 - likewise

    done = found.throughput
    ends = ((done.handled, "handled"), (done.triaged, "triaged"), (done.dropped, "dropped"))
    counts = ", ".join(f"{count} {name}" for count, name in (*ends, (done.superseded, "superseded")) if count)
    yield from layout.paragraph(f"Events: {done.events_in} came in{f'; {counts}' if counts else ''}.")
    yield from layout.paragraph(
        f"TODOs done: {done.todos_done}; actions delivered: {done.actions_delivered}; runs: {done.runs}."
    )
    yield from layout.paragraph(f"From the arrival of an event to its end: {_spread(found.waits)}.")
    if found.plugins:
        yield from ("", terminal.paint("Plugins, the slowest first", "strong"))
        yield from layout.rows([[terminal.clean(each.plugin), _plugin(each)] for each in found.plugins])
    if found.failures:
        yield from ("", terminal.paint("Failures", "strong"))
        yield from layout.rows([[str(each.count), f"{core.words(each)} {_name(each.name)}"] for each in found.failures])


def _name(name: str) -> str:
    return terminal.clean(name or "the repository")


def _plugin(each: PluginTimes) -> str:
    """Return how long the calls of a plugin took, and what the runs of agents cost that it has asked for."""
    words = [_spread(each.times)]
    if each.failures:
        words.append(f"{each.failures} failed")
    if each.runs:
        words.append(f"{each.runs} {'run' if each.runs == 1 else 'runs'} of agents")
    if each.cost_usd is not None:
        words.append(f"${each.cost_usd:.2f}")
    return "; ".join(words)


def _spread(times: Spread) -> str:
    if times.p50_ms is None or times.p95_ms is None or times.longest_ms is None:
        return "none yet"
    spans = (("p50", times.p50_ms), ("p95", times.p95_ms), ("longest", times.longest_ms))
    words = ", ".join(f"{name} {terminal.duration(timedelta(milliseconds=span))}" for name, span in spans)
    return f"{times.count} {'time' if times.count == 1 else 'times'}, {words}"
