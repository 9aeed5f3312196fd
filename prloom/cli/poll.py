"""`prloom poll`: ask the sources for feedback now."""

from __future__ import annotations

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, pass_options


@click.command("poll")
@click.argument("plan", required=False, shell_complete=completion.plans)
@pass_options
def command(given: Options, plan: str | None) -> None:
    """Make the running dispatcher poll its sources now, whatever their intervals say.

    A source is polled for all plans at once, even if you name one PLAN.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 - `prloom poll --help` needs none

    from prloom.core.commands.requests import OperatorRequest  # noqa: PLC0415
    from prloom.engine.operator import control, submission  # noqa: PLC0415
    from prloom.engine.views import runtime_status  # noqa: PLC0415
    from prloom.storage import paths  # noqa: PLC0415
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415

    where = context.repository(given)
    named = () if plan is None else (context.plan_id(where, plan),)
    local = SafeDir.open(where.root, *paths.LOCAL)
    if local is None or not runtime_status.dispatcher(local).running:
        click.echo("No dispatcher is running; to poll, run `prloom start`, or `prloom start --once` for one round.")
        return
    now = datetime.now(UTC)
    with local:
        control.append_request(local, OperatorRequest(control.request_id(now), "poll", named), now)
        silence = submission.silence(local, now)
    if silence is not None:
        click.echo(f"Saved, to poll. It is not done yet: {silence}.")
        return
    click.echo("Asked the running dispatcher to poll now.")
