"""`prloom drop`: end events for good."""

from __future__ import annotations

import click

from prloom.cli import completion, context, selection, submit
from prloom.cli.context import Options, pass_options
from prloom.model.kinds import OPEN


@click.command("drop")
@click.argument("events", nargs=-1, metavar="[EVENT|@AUTHOR]…", shell_complete=completion.events)
@click.option("--reason", required=True, metavar="TEXT", help="The reason; `prloom why` shows it.")
@selection.plan_option
@selection.yes_option
@pass_options
def command(given: Options, events: tuple[str, ...], *, reason: str, plan: str | None, yes: bool) -> None:
    """Drop open events permanently: plugins and agents do not look at them any more.

    @AUTHOR stands for all open events by this author, and --plan alone for all open events of a plan.
    """
    from prloom.engine.operator import event_requests  # noqa: PLC0415 - `prloom drop --help` needs none

    if not reason.strip():
        raise click.BadParameter("give a reason, in a few words", param_hint="--reason")
    where = context.repository(given)
    wanted = selection.Selection(events, plan, yes, options=("--reason", reason))
    found = selection.find(where, wanted, OPEN)
    event_requests.check_drop(found)
    selection.confirm("drop", wanted, found)
    submit.submit_request(where, "drop", found, done="Dropped", reason=reason)
