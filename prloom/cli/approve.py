"""`prloom approve`: approve held events, and release withheld actions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prloom.cli import context, layout, submit, terminal
from prloom.cli.context import Options, pass_options
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from prloom.engine.views.search import RequestTarget
    from prloom.model.action import Action
    from prloom.model.event import Event
    from prloom.storage.paths import RepositoryPaths


@click.command("approve")
@click.argument("events", nargs=-1, required=True, metavar="EVENT|@AUTHOR…")
@click.option("--plan", metavar="PLAN", help="Approve only events of this plan.")
@click.option("--yes", is_flag=True, help="Approve several events of an author without asking.")
@click.option("--release", is_flag=True, help="Send a withheld action as it is, with everything in it.")
@pass_options
def command(given: Options, events: tuple[str, ...], *, plan: str | None, yes: bool, release: bool) -> None:
    """Approve held events, so that plugins and agents may read them.

    @AUTHOR stands for all held events by this author. An approval applies to the text that is shown; an edit voids it.
    EVENT may also be the id of an action that is withheld because it contains a secret: the action is shown with the
    secret masked, and is sent only with --release.
    """
    where = context.repository(given)
    if plan is None:
        named = None
    else:
        named = context.plan_id(where, plan)
    found = _found(where, events, named)
    held = [target for target in found if target.event is not None]
    withheld = [target._replace(id=target.action.id) for target in found if target.action is not None]
    _show_all(where, held, withheld)
    if withheld and not release:
        raise PrloomError(_still_withheld(withheld))
    if not yes:
        _confirm_authors(events, held)
    if held:
        digests = {target.id: target.event.digest for target in held if target.event is not None}
        submit.submit_request(where, "approve", held, done="Approved", digests=digests)
    if withheld:
        submit.submit_request(where, "approve", withheld, done="Released")


def _found(where: RepositoryPaths, names: tuple[str, ...], plan: str | None) -> list[RequestTarget]:
    """Return the held events and withheld actions that are meant, each once; raises PrloomError about any other."""
    from prloom.engine.views import search  # noqa: PLC0415 - `prloom approve --help` needs none

    found: list[RequestTarget] = []
    for name in names:
        if name.startswith("@"):
            found += search.targets_held_by(where, name.removeprefix("@"), plan=plan)
        else:
            found += search.targets_named(where, [name], plan=plan)
    for target in found:
        if target.event is None and target.action is None:
            raise PrloomError(f"prloom has not taken in {target.id} yet; run `prloom start`, then approve it")
        if target.state not in {"held", "withheld"}:
            raise PrloomError(f"{target.id} is {target.state}, not held; there is nothing to approve")
    return list({(target.plan, target.id): target for target in found}.values())


def _show_all(where: RepositoryPaths, held: list[RequestTarget], withheld: list[RequestTarget]) -> None:
    from prloom.engine.views import search  # noqa: PLC0415 - see _found

    for target in held:
        _show(search.target_event(where, target), target.plan)
    for target in withheld:
        _show_action(search.target_action(where, target), target.plan)


def _confirm_authors(names: tuple[str, ...], held: list[RequestTarget]) -> None:
    """Ask before more than one event is approved that was not named itself; raises PrloomError where nobody can be."""
    unnamed = [target for target in held if target.id not in names]
    if len(unnamed) <= 1:
        return
    if not sys.stdin.isatty():
        again = layout.to_run("approve", *names, "--yes")
        raise PrloomError(f"{len(unnamed)} events match, and nothing was approved; to approve all of them, run {again}")
    click.confirm(f"Approve these {len(held)} events?", abort=True)


def _still_withheld(withheld: list[RequestTarget]) -> str:
    ids = [target.id for target in withheld]
    return (
        f"{', '.join(ids)}: nothing was sent; if everything in it may be public, "
        f"run {layout.to_run('approve', '--release', *ids)}"
    )


def _show_action(action: Action, plan: str) -> None:
    """Show what an action would publish, with the secrets masked: what is in a terminal is soon in a log."""
    import os  # noqa: PLC0415 - only what is withheld needs them

    from prloom.core import secret_scan  # noqa: PLC0415

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
