"""`prloom approve`: vouch for held events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import layout, places, requesting, terminal
from prloom.cli.options import Options, pass_options
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.model.event import Event


@click.command("approve")
@click.argument("events", nargs=-1, required=True, metavar="EVENT…")
@pass_options
def command(given: Options, events: tuple[str, ...]) -> None:
    """Vouch for held events, so that plugins and agents may read them.

    A vouch is for the text as it stands there now, which is shown; an edit voids it.
    """
    from prloom.engine.views import targets  # noqa: PLC0415 - `prloom approve --help` needs none

    where = places.repository(given)
    found = targets.named(where, events)
    for target in found:
        if target.event is None and target.action is None:
            raise PrloomError(f"{target.id} has yet to be taken in; `prloom start` does that, and tells who is held")
        if target.state != "held":
            raise PrloomError(f"{target.id} is {target.state}, not held; there is nothing to vouch for")
    digests: dict[str, str] = {}
    for target in found:
        text = targets.text(where, target)
        _show(text, target.plan)
        digests[target.id] = target.event.digest if target.event else ""
    requesting.hand_in(where, "approve", found, done="Vouched for", digests=digests)


def _show(event: Event, plan: str) -> None:
    author = terminal.clean(event.author.login) if event.author else "nobody known"
    click.echo(f"{layout.shown_id(event.id)}  {terminal.clean(event.type)} by {author}, plan {terminal.clean(plan)}")
    if event.title:
        click.echo(layout.INDENT + terminal.paint(terminal.clean(event.title), "strong"))
    for line in layout.quoted(event.body):
        click.echo(line)
