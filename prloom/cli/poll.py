"""`prloom poll`: ask the sources for feedback now."""

from __future__ import annotations

import click

from prloom.cli import places
from prloom.cli.options import Options, pass_options


@click.command("poll")
@click.argument("plan", required=False)
@pass_options
def command(given: Options, plan: str | None) -> None:
    """Make the running dispatcher poll its sources now, whatever their intervals say.

    A source is polled for all plans at once, even if you name one PLAN.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 - `prloom poll --help` needs none

    from prloom.core.requests import Request  # noqa: PLC0415
    from prloom.engine.operator import control  # noqa: PLC0415
    from prloom.engine.views import published  # noqa: PLC0415
    from prloom.storage import paths  # noqa: PLC0415
    from prloom.storage.folder import Folder  # noqa: PLC0415

    where = places.repository(given)
    named = () if plan is None else (places.plan_id(where, plan),)
    local = Folder.open(where.root, *paths.LOCAL)
    if local is None or not published.dispatcher(local).running:
        click.echo("No dispatcher is running; to poll, run `prloom start`, or `prloom start --once` for one round.")
        return
    now = datetime.now(UTC)
    with local:
        control.ask(local, Request(control.request_id(now), "poll", named), now)
    click.echo("Asked the running dispatcher to poll now.")
