"""`prloom approve`: approve held events, and release withheld actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, selection, submit
from prloom.cli.context import Options, pass_options
from prloom.cli.output import layout
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.engine.views.request_targets import RequestTarget


@click.command("approve")
@click.argument("events", nargs=-1, metavar="[EVENT|@AUTHOR]…", shell_complete=completion.events)
@selection.plan_option
@selection.yes_option
@click.option("--release", is_flag=True, help="Send a withheld action as it is, with everything in it.")
@pass_options
def command(given: Options, events: tuple[str, ...], *, plan: str | None, yes: bool, release: bool) -> None:
    """Approve held events, so that plugins and agents may read them.

    @AUTHOR stands for all held events by this author, and --plan alone for all held events of a plan. An approval
    applies to the text that is shown; an edit voids it. EVENT may also be the id of an action that is withheld because
    it contains a secret: the action is shown with the secret masked, and is sent only with --release.
    """
    from prloom.cli.output import approval_text  # noqa: PLC0415 - `prloom approve --help` needs none
    from prloom.engine.operator import event_requests  # noqa: PLC0415 - likewise

    where = context.repository(given)
    wanted = selection.Selection(events, plan, yes)
    found = selection.find(where, wanted, ["held"])
    event_requests.check_approval(found)
    held = [target for target in found if target.event is not None]
    withheld = [target._replace(id=target.action.id) for target in found if target.action is not None]
    for line in approval_text.lines(where, [*held, *withheld]):
        click.echo(line)
    if withheld and not release:
        raise PrloomError(_still_withheld(withheld))
    selection.confirm("approve", wanted, held)
    if held:
        digests = event_requests.digests(held)
        submit.submit_request(where, "approve", held, done="Approved", digests=digests)
    if withheld:
        submit.submit_request(where, "approve", withheld, done="Released")


def _still_withheld(withheld: list[RequestTarget]) -> str:
    ids = [target.id for target in withheld]
    return (
        f"{', '.join(ids)}: nothing was sent; if everything in it may be public, "
        f"run {layout.to_run('approve', ('--release',), *ids)}"
    )
