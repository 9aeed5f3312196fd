"""`prloom logs`: what an agent says and does, one line for each step, with nothing in it that a terminal would obey."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import partial
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
    from prloom.storage.paths import RepositoryPaths

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
    """Show what an agent says and does: in one RUN, or in the latest run of a PLAN by an agent.

    For a PLAN, it also shows what has happened in the plan beside its runs since this run began.
    """
    from prloom.engine.runs import listing, records  # noqa: PLC0415 - `prloom logs --help` needs none

    show = _show
    if as_json:
        show = _show_events
    where, _ = context.repository_to_read(given)
    if records.is_run_id(named):
        folder, plan_id = listing.find(where, named)
        wait = None
        if follow:
            wait = _wait
        show(folder, plan_id, wait=wait)
        return
    plan_id = context.plan_id(where, named)
    latest = listing.latest(where, plan_id)
    beside = _PlanLines(where, plan_id, latest, as_json=as_json)
    if follow:
        _follow_runs(partial(listing.latest, where, plan_id), partial(show, plan_id=plan_id), beside)
    if latest is not None:
        show(latest, plan_id, wait=None)
    beside.show()
    if latest is None and not beside.has_shown:
        raise PrloomError(f"plan {plan_id} has no runs yet; `prloom logs {plan_id} --follow` waits for one")


class _PlanLines:
    """Prints what happens in a plan beside its runs, from the beginning of a run on."""

    def __init__(self, where: RepositoryPaths, plan_id: str, run: Path | None, *, as_json: bool) -> None:
        from prloom.engine.runs import records  # noqa: PLC0415 - `prloom logs --help` needs none
        from prloom.engine.runs.handled_activity import HandledActivity  # noqa: PLC0415 - likewise
        from prloom.engine.runs.plan_activity import PlanActivity  # noqa: PLC0415 - likewise

        since = None
        if run is not None:
            since = records.build(run, plan_id, datetime.now(UTC)).started_at
        self.has_shown = False
        self._activity = PlanActivity(where, plan_id, since)
        self._handled = HandledActivity()
        self._as_json = as_json

    def show(self) -> None:
        """Print what is new, each line with its time."""
        for stored in self._activity.new():
            if self._as_json:
                terminal.echo_json_line(stored.event)
            elif (entry := self._handled.entry(stored)) is not None:
                at = terminal.clock(datetime.fromtimestamp(stored.event.timestamp / 1000, UTC))
                click.echo(_line(entry, at))
            else:
                continue
            self.has_shown = True

    def wait(self) -> None:
        """Print what is new, and wait for the next look."""
        self.show()
        _wait()


def _follow_runs(latest: Callable[[], Path | None], show: Callable[..., None], beside: _PlanLines) -> NoReturn:
    """Show the latest run of a plan, and each that comes after it as soon as a worker has begun it."""
    from prloom.engine.runs import records  # noqa: PLC0415 - `prloom logs --help` needs none

    shown = None
    while True:
        found = latest()
        if found is None or found == shown or records.is_queued(found):
            beside.wait()
            continue
        shown = found
        show(found, wait=beside.wait)


def _show(folder: Path, plan_id: str, *, wait: Callable[[], None] | None) -> None:
    """Print one run from its beginning; with `wait`, which is called between two looks, until it ends."""
    from prloom.engine.bus import late_results  # noqa: PLC0415 - `prloom logs --help` needs none
    from prloom.engine.runs import records  # noqa: PLC0415 - `prloom logs --help` needs none
    from prloom.engine.runs.steps import RunSteps  # noqa: PLC0415 - likewise

    run = records.build(folder, plan_id, datetime.now(UTC))
    about = [run.stage, run.agent, run.model or "", f"TODO {run.todo}" if run.todo else ""]
    if run.attempt:
        about.append(f"attempt {run.attempt}")
    said = ", ".join(terminal.clean(each) for each in about if each)
    click.echo(terminal.paint(f"{run.id}: {said}, began {terminal.clock(run.started_at)}", "strong"))
    for line in lines(RunSteps(folder), wait=wait):
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


def _show_events(folder: Path, plan_id: str, *, wait: Callable[[], None] | None) -> None:
    """Print the activity events of one run as JSON lines; with `wait` until it ends, as `_show` does."""
    from prloom.engine.runs import activity  # noqa: PLC0415 - `prloom logs --help` needs none

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


def _line(entry: StreamEntry, at: str = "") -> str:
    from prloom.core.text import secret_scan  # noqa: PLC0415 - `prloom logs --help` needs none

    sign, role = _SIGNS[entry.kind]
    first, *more = [line for line in entry.text.splitlines() if line.strip()] or [""]
    if entry.tool:
        first = f"{entry.tool}: {first}"
    if at:
        first = f"{at}  {first}"
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
