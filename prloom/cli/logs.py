"""`prloom logs`: what an agent says and does, one line for each step, with nothing in it that a terminal would obey."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NoReturn

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prloom.agents.agent import StreamEntry
    from prloom.cli.output.terminal import Role
    from prloom.engine.runs.steps import RunSteps

_PAUSE = 0.3
_SIGNS: dict[str, tuple[str, Role | None]] = {
    "text": ("", None),
    "call": ("> ", "name"),
    "result": ("  ", "dim"),
    "error": ("! ", "bad"),
    "remark": ("# ", "dim"),
}


@click.command("logs")
@click.argument("named", metavar="PLAN|RUN", shell_complete=completion.plans)
@click.option("-f", "--follow", is_flag=True, help="Go on as long as the run does; for a plan, with its next runs too.")
@click.option("--json", "as_json", is_flag=True, help="Print the activity events of the run, one on each line.")
@pass_options
def command(given: Options, named: str, *, follow: bool, as_json: bool) -> None:
    """Show what an agent says and does: in one RUN, or in the latest run of a PLAN."""
    from prloom.engine.runs import listing, records  # noqa: PLC0415 - `prloom logs --help` needs none

    show = _show
    if as_json:
        show = _show_events
    where, _ = context.repository_to_read(given)
    if records.is_run_id(named):
        folder, plan_id = listing.find(where, named)
        show(folder, plan_id, follow=follow)
        return
    plan_id = context.plan_id(where, named)
    if follow:
        _follow_runs(lambda: listing.latest(where, plan_id), lambda folder: show(folder, plan_id, follow=True))
    latest = listing.latest(where, plan_id)
    if latest is None:
        raise PrloomError(f"plan {plan_id} has no runs yet; `prloom logs {plan_id} --follow` waits for one")
    show(latest, plan_id, follow=False)


def _follow_runs(latest: Callable[[], Path | None], show: Callable[[Path], None]) -> NoReturn:
    """Show the latest run of a plan, and each that comes after it as soon as a worker has begun it."""
    from prloom.engine.runs import records  # noqa: PLC0415 - `prloom logs --help` needs none

    shown = None
    while True:
        found = latest()
        if found is None or found == shown or records.is_queued(found):
            _wait()
            continue
        shown = found
        show(found)


def _show(folder: Path, plan_id: str, *, follow: bool) -> None:
    """Print one run from its beginning; with `follow` until it ends."""
    from prloom.engine.bus import late_results  # noqa: PLC0415 - `prloom logs --help` needs none
    from prloom.engine.runs import records  # noqa: PLC0415 - `prloom logs --help` needs none
    from prloom.engine.runs.steps import RunSteps  # noqa: PLC0415 - likewise

    run = records.build(folder, plan_id, datetime.now(UTC))
    about = [run.stage, run.agent, run.model or "", f"TODO {run.todo}" if run.todo else ""]
    if run.attempt:
        about.append(f"attempt {run.attempt}")
    said = ", ".join(terminal.clean(each) for each in about if each)
    click.echo(terminal.paint(f"{run.id}: {said}, began {terminal.clock(run.started_at)}", "strong"))
    for line in lines(RunSteps(folder), wait=_wait if follow else None):
        click.echo(line)
    run = records.build(folder, plan_id, datetime.now(UTC))
    taken = terminal.duration(timedelta(seconds=run.seconds))
    if run.status == "queued":
        click.echo("It waits for a worker; --follow shows what it does then.")
        return
    if run.status == "running":
        click.echo(f"It is still running, after {taken}; --follow shows the rest.")
        return
    error = f": {terminal.clean(run.error)}" if run.error else ""
    click.echo(terminal.paint(f"It ended after {taken}: {run.status}{error}", "strong"))
    for late in late_results.read(folder):
        at = terminal.clock(late.at)
        said = terminal.clean(late.described)
        click.echo(f"The result of {terminal.clean(late.machine)} came late, at {at}, and is not used: {said}")


def _show_events(folder: Path, plan_id: str, *, follow: bool) -> None:
    """Print the activity events of one run as JSON lines; with `follow` until it ends."""
    from prloom.engine.runs import activity  # noqa: PLC0415 - `prloom logs --help` needs none

    wait = None
    if follow:
        wait = _wait
    for event in activity.events(folder, wait=wait):
        terminal.echo_json_line(event)
    if not activity.exists(folder):
        name = folder.name
        click.echo(
            f"run {name} has no recorded activity: its program was not started, or an earlier version of prloom has"
            f" done the run; `prloom logs {name}` shows its output",
            err=True,
        )


def lines(steps: RunSteps, *, wait: Callable[[], None] | None) -> Iterator[str]:
    """Yield the lines that show a run so far; with `wait`, which is called between two looks, until it ends."""
    while True:
        is_over = steps.is_over()  # first: what it says until then is read after
        for entry in steps.entries(last=is_over or wait is None):
            yield _line(entry)
        if is_over or wait is None:
            return
        wait()


def _wait() -> None:
    time.sleep(_PAUSE)


def _line(entry: StreamEntry) -> str:
    from prloom.core.text import secret_scan  # noqa: PLC0415 - `prloom logs --help` needs none

    sign, role = _SIGNS[entry.kind]
    first, *more = [line for line in entry.text.splitlines() if line.strip()] or [""]
    if entry.tool:
        first = f"{entry.tool}: {first}"
    text = f"{sign}{terminal.clean(secret_scan.masked(first))}"
    counted = ""
    if len(more) == 1:
        counted = " (and 1 more line)"
    elif more:
        counted = f" (and {len(more)} more lines)"
    text = terminal.fit(text, terminal.width() - len(counted)) + counted
    if role is None:
        return text
    return terminal.paint(text, role)
