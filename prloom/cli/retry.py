"""`prloom retry` and `prloom drop`: make waiting events due now, or end them for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import context, layout, submit
from prloom.cli.context import Options, pass_options
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.engine.views.search import RequestTarget


@click.command("retry")
@click.argument("events", nargs=-1, metavar="EVENT…")
@click.option("--deferred", is_flag=True, help="Retry all deferred events, of all plans or of the named plans.")
@click.option("--parked", is_flag=True, help="Retry all parked events, of all plans or of the named plans.")
@pass_options
def retry(given: Options, events: tuple[str, ...], *, deferred: bool, parked: bool) -> None:
    """Make deferred and parked events due now, and try failed actions again.

    EVENT is the id of an event or of an action. With --deferred or --parked, it is a plan instead.
    """
    from prloom.engine.views import search  # noqa: PLC0415 - `prloom retry --help` needs none

    states = [name for name, asked in (("deferred", deferred), ("parked", parked)) if asked]
    if not events and not states:
        raise click.UsageError("name an event or an action, or use --deferred or --parked")
    where = context.repository(given)
    if states:
        plans: list[str | None] = [context.plan_id(where, name) for name in events]
        found = [target for plan in plans or [None] for target in search.targets_in_state(where, states, plan=plan)]
    else:
        found = list(search.targets_named(where, events))
        _check(found)
    if found:
        submit.submit_request(where, "retry", found, done="Due now")
    else:
        click.echo(f"Nothing is {' or '.join(states)}.")


@click.command("drop")
@click.argument("events", nargs=-1, required=True, metavar="EVENT…")
@click.option("--reason", required=True, metavar="TEXT", help="The reason; `prloom why` shows it.")
@pass_options
def drop(given: Options, events: tuple[str, ...], reason: str) -> None:
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


def _check(found: list[RequestTarget]) -> None:
    """Raise PrloomError, before anything is written, for what does not wait for a retry."""
    for target in found:
        if target.event is None and target.action is None:
            raise PrloomError(f"{target.id} was not taken in yet; run `prloom start`")
        if target.state == "held":
            raise PrloomError(f"{target.id} is held; to approve it, run {layout.to_run('approve', target.id)}")
        if target.event is not None and target.state == "pending":
            raise PrloomError(f"{target.id} is already pending; run `prloom start`")
