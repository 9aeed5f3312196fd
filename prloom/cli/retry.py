"""`prloom retry`: try again now what waits: events, actions, TODOs, and all that waits for an agent program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, selection, submit
from prloom.cli.context import Options, pass_options
from prloom.model.agent_names import AGENT_NAMES, AUTO, GIT
from prloom.model.kinds import PUT_OFF

if TYPE_CHECKING:
    from prloom.engine.views.request_targets import RequestTarget
    from prloom.storage.paths import RepositoryPaths


@click.command("retry")
@click.argument("events", nargs=-1, metavar="[EVENT|TODO|@AUTHOR]…", shell_complete=completion.events)
@click.option("--deferred", is_flag=True, help="Retry all deferred events, of all plans or of the named plans.")
@click.option("--parked", is_flag=True, help="Retry all parked events, of all plans or of the named plans.")
@click.option(
    "--agent",
    metavar="NAME",
    type=click.Choice((*AGENT_NAMES, AUTO, GIT)),
    help="Try this agent program again, for all that waits until it can be used.",
)
@selection.plan_option
@selection.yes_option
@pass_options
def command(
    given: Options,
    events: tuple[str, ...],
    *,
    deferred: bool,
    parked: bool,
    agent: str | None,
    plan: str | None,
    yes: bool,
) -> None:
    """Make deferred and parked events due now, and try TODOs that wait and failed actions again.

    EVENT is the id of an event or of an action; @AUTHOR stands for all deferred and parked events by this author. With
    --deferred or --parked, EVENT is a plan instead. --agent ends the wait for a usage limit, a sign-in or a
    program that is missing; `auto` stands for any agent program, and `git` for an identity to commit with.
    """
    from prloom.engine.operator import event_requests  # noqa: PLC0415 - `prloom retry --help` needs none

    states = [name for name, asked in (("deferred", deferred), ("parked", parked)) if asked]
    if agent is not None:
        if events or states or plan is not None:
            raise click.UsageError("give --agent or what to retry, not both", click.get_current_context())
        submit.submit_ids(context.repository(given), "retry_agent", [agent], done="Due now")
        return
    if not events and not states and plan is None:
        raise click.UsageError(
            "name an event, a TODO, an action or an @AUTHOR, or use --plan, --deferred, --parked or --agent"
        )
    where = context.repository(given)
    if states:
        wanted = selection.Selection((), plan, yes, options=(*(f"--{name}" for name in states), *events))
        found = _in_states(where, events, states, plan)
        if not found:
            click.echo(f"Nothing is {' or '.join(states)}.")
            return
    else:
        wanted = selection.Selection(events, plan, yes)
        found = selection.find(where, wanted, PUT_OFF, actions="failed", todos=True)
        event_requests.check_retry(found)
    selection.confirm("retry", wanted, found)
    others = [each for each in found if each.todo is None]
    if others:
        submit.submit_request(where, "retry", others, done="Due now")
    for todo in found:
        if todo.todo is not None:
            submit.submit_ids(where, "todo_open", [todo.id], plan=todo.plan, done="Due now")


def _in_states(
    where: RepositoryPaths, names: tuple[str, ...], states: list[str], plan: str | None
) -> list[RequestTarget]:
    """Return what is in these states: in all plans, or in those that are named."""
    from prloom.engine.views import request_targets  # noqa: PLC0415 - `prloom retry --help` needs none

    named = [*names]
    if plan is not None:
        named.append(plan)
    plans: list[str | None] = [context.plan_id(where, name) for name in named]
    return [target for each in plans or [None] for target in request_targets.in_state(where, states, plan=each)]
