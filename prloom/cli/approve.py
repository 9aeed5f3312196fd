"""`prloom approve`: vouch for held events, and release what was withheld."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import layout, places, requesting, terminal
from prloom.cli.options import Options, pass_options
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.engine.views.targets import Target
    from prloom.model.action import Action
    from prloom.model.event import Event


@click.command("approve")
@click.argument("events", nargs=-1, required=True, metavar="EVENT…")
@click.option("--release", is_flag=True, help="Send a withheld action as it is, with all that is in it.")
@pass_options
def command(given: Options, events: tuple[str, ...], *, release: bool) -> None:
    """Vouch for held events, so that plugins and agents may read them.

    A vouch is for the text as it stands there now, which is shown; an edit voids it. EVENT may also be an action that
    is withheld because it holds a secret: it is shown with the secret masked, and sent with --release only.
    """
    from prloom.engine.views import targets  # noqa: PLC0415 - `prloom approve --help` needs none

    where = places.repository(given)
    found = targets.named(where, events)
    for target in found:
        if target.event is None and target.action is None:
            raise PrloomError(f"{target.id} has yet to be taken in; `prloom start` does that, and tells who is held")
        if target.state not in {"held", "withheld"}:
            raise PrloomError(f"{target.id} is {target.state}, not held; there is nothing to vouch for")
    held = [target for target in found if target.event is not None]
    withheld = [target._replace(id=target.action.id) for target in found if target.action is not None]
    for target in held:
        _show(targets.text(where, target), target.plan)
    for target in withheld:
        _show_action(targets.action(where, target), target.plan)
    if withheld and not release:
        raise PrloomError(_still_withheld(withheld))
    if held:
        digests = {target.id: target.event.digest for target in held if target.event is not None}
        requesting.hand_in(where, "approve", held, done="Vouched for", digests=digests)
    if withheld:
        requesting.hand_in(where, "approve", withheld, done="Released")


def _still_withheld(withheld: list[Target]) -> str:
    ids = [target.id for target in withheld]
    return (
        f"{', '.join(ids)}: nothing was sent; if all of it may be public, {layout.to_run('approve', '--release', *ids)}"
    )


def _show_action(action: Action, plan: str) -> None:
    """Show what an action would publish, with the secrets masked: what is in a terminal is soon in a log."""
    import os  # noqa: PLC0415 - only what is withheld needs them

    from prloom.core import leaks  # noqa: PLC0415

    kind, target = terminal.clean(action.kind), terminal.clean(action.target.target)
    click.echo(f"{layout.shown_id(action.id)}  {kind} to {target}, plan {terminal.clean(plan)}")
    for text in leaks.texts(action):
        for line in layout.quoted(leaks.masked(text, leaks.known(os.environ))):
            click.echo(line)


def _show(event: Event, plan: str) -> None:
    author = terminal.clean(event.author.login) if event.author else "nobody known"
    click.echo(f"{layout.shown_id(event.id)}  {terminal.clean(event.type)} by {author}, plan {terminal.clean(plan)}")
    if event.title:
        click.echo(layout.INDENT + terminal.paint(terminal.clean(event.title), "strong"))
    for line in layout.quoted(event.body):
        click.echo(line)
