"""`prloom approve`: approve held events, and release withheld actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, layout, selection, submit, terminal
from prloom.cli.context import Options, pass_options
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.engine.views.request_targets import RequestTarget
    from prloom.model.action import Action
    from prloom.model.event import Event
    from prloom.storage.paths import RepositoryPaths


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
    from prloom.engine.operator import event_requests  # noqa: PLC0415 - `prloom approve --help` needs none

    context.refuse_in_run("prloom approve")  # before a held text is shown
    where = context.repository(given)
    wanted = selection.Selection(events, plan, yes)
    found = selection.find(where, wanted, ["held"])
    event_requests.check_approval(found)
    held = [target for target in found if target.event is not None]
    withheld = [target._replace(id=target.action.id) for target in found if target.action is not None]
    _show_all(where, held, withheld)
    if withheld and not release:
        raise PrloomError(_still_withheld(withheld))
    selection.confirm("approve", wanted, held)
    if held:
        digests = event_requests.digests(held)
        submit.submit_request(where, "approve", held, done="Approved", digests=digests)
    if withheld:
        submit.submit_request(where, "approve", withheld, done="Released")


def _show_all(where: RepositoryPaths, held: list[RequestTarget], withheld: list[RequestTarget]) -> None:
    from prloom.engine.views import request_targets  # noqa: PLC0415 - `prloom approve --help` needs none

    for target in held:
        _show(request_targets.event(where, target), target.plan)
    for target in withheld:
        _show_action(request_targets.action(where, target), target.plan)


def _still_withheld(withheld: list[RequestTarget]) -> str:
    ids = [target.id for target in withheld]
    return (
        f"{', '.join(ids)}: nothing was sent; if everything in it may be public, "
        f"run {layout.to_run('approve', '--release', *ids)}"
    )


def _show_action(action: Action, plan: str) -> None:
    """Show what an action would publish, with the secrets masked: what is in a terminal is soon in a log."""
    import os  # noqa: PLC0415 - only what is withheld needs them

    from prloom.core.text import secret_scan  # noqa: PLC0415

    kind, target = terminal.clean(action.kind), terminal.clean(action.target.target)
    click.echo(f"{layout.shown_id(action.id)}  {kind} to {target}, plan {terminal.clean(plan)}")
    for text in secret_scan.texts(action):
        for line in layout.quoted(secret_scan.masked(text, secret_scan.environment_secrets(os.environ))):
            click.echo(line)


def _show(event: Event, plan: str) -> None:
    if event.author:
        author = terminal.clean(event.author.login)
    else:
        author = "an unknown author"
    click.echo(f"{layout.shown_id(event.id)}  {terminal.clean(event.type)} by {author}, plan {terminal.clean(plan)}")
    if event.title:
        click.echo(layout.INDENT + terminal.paint(terminal.clean(event.title), "strong"))
    for line in layout.quoted(event.body):
        click.echo(line)
