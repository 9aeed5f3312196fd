"""`prloom drop`: put events aside for good, with a reason."""

from __future__ import annotations

import click

from prloom.cli import context, submit
from prloom.cli.context import Options, pass_options
from prloom.errors import PrloomError


@click.command("drop")
@click.argument("events", nargs=-1, required=True, metavar="EVENT…")
@click.option("--reason", required=True, metavar="TEXT", help="The reason; `prloom why` shows it.")
@pass_options
def command(given: Options, events: tuple[str, ...], reason: str) -> None:
    """Drop open events permanently: plugins and agents do not look at them any more."""
    from prloom.engine.views import search  # noqa: PLC0415 - `prloom drop --help` needs none

    if not reason.strip():
        raise click.BadParameter("give a reason, in a few words", param_hint="--reason")
    where = context.repository(given)
    found = search.targets_named(where, events)
    for target in found:
        if target.action is not None:
            raise PrloomError(f"{target.id} is done, or is an action; only open events can be dropped")
    submit.submit_request(where, "drop", found, done="Dropped", reason=reason)
