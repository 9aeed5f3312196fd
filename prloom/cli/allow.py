"""`prloom allow` and `prloom deny`: decide about a call of a tool that waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import dispatcher_request
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal

if TYPE_CHECKING:
    from prloom.model.permission import Choice


@click.command("allow")
@click.argument("request", metavar="REQUEST")
@click.option("--always", is_flag=True, help="Allow all later calls of this tool for this plan as well.")
@pass_options
def allow(given: Options, request: str, *, always: bool) -> None:
    """Allow the call of a tool that waits for a person.

    `prloom status` lists the requests. Only a person can allow one: the command refuses where an agent's run gives it.
    """
    choice: Choice = "allow"
    done = "Allowed"
    if always:
        choice, done = "allow_always", "Allowed, with all later calls for the plan"
    _decide(given, request, choice, done)


@click.command("deny")
@click.argument("request", metavar="REQUEST")
@pass_options
def deny(given: Options, request: str) -> None:
    """Deny the call of a tool that waits for a person, or leave an agent's question without an answer."""
    _decide(given, request, "deny", "Denied")


def _decide(given: Options, request: str, choice: Choice, done: str) -> None:
    asked = {"request": request, "choice": choice}
    answer = dispatcher_request.answer(given, asked)
    tool, plan = terminal.clean(str(answer["tool"])), terminal.clean(str(answer["plan"]))
    click.echo(f"{done}: {tool} in {plan}.")
