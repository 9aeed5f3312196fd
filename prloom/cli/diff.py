"""`prloom diff`: show what was changed for a plan, or for one of its TODOs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal
from prloom.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prloom.cli.output.terminal import Role

_ROLES: tuple[tuple[str, Role], ...] = (
    ("diff ", "strong"),
    ("+++ ", "strong"),
    ("--- ", "strong"),
    ("+", "good"),
    ("-", "bad"),
    ("@@", "name"),
)


@click.command("diff")
@click.argument("plan", metavar="PLAN", shell_complete=completion.plans)
@click.option("--todo", metavar="ID", help="Show what was done for one TODO, or attempted before it was parked.")
@pass_options
def command(given: Options, plan: str, todo: str | None) -> None:
    """Show what was changed for a plan: the commits of its branch, as one difference from its base."""
    from prloom.engine.views import plan_diff  # noqa: PLC0415 - `prloom diff --help` needs none

    where = context.repository(given)
    plan_id = context.plan_id(where, plan)
    if todo is None:
        text = plan_diff.of_plan(where, plan_id, base_branch=_base_branch(given))
    else:
        text = plan_diff.of_todo(where, plan_id, todo)
    if text:
        click.echo("\n".join(lines(text)))
    else:
        click.echo("nothing was changed", err=True)


def _base_branch(given: Options) -> str | None:
    """Return the base of the configuration; None where that cannot be read, which is said."""
    try:
        return context.config(given).base_branch
    except ConfigError as error:
        click.echo(f"prloom: {terminal.clean(str(error))}", err=True)
        return None


def lines(text: str) -> Iterator[str]:
    """Yield the lines with colours, and with nothing in them that a terminal would obey; tabs stay, for `git apply`."""
    for line in text.removesuffix("\n").split("\n"):
        shown = "\t".join(terminal.clean(part) for part in line.removesuffix("\r").split("\t"))
        role = next((role for start, role in _ROLES if line.startswith(start)), None)
        if role is None:
            yield shown
        else:
            yield terminal.paint(shown, role)
