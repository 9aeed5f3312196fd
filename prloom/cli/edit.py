"""`prloom edit`: change a draft or a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, input_file
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from pathlib import Path

    from prloom.engine.operator.plan_texts import NamedPlan
    from prloom.storage.paths import RepositoryPaths


@click.command("edit")
@click.argument("plan", metavar="PLAN", shell_complete=completion.plans)
@click.option("--design", is_flag=True, help="Have an agent complete the plan.")
@click.option("--request", metavar="TEXT", help="With --design: what the agent is to change.")
@pass_options
def command(given: Options, plan: str, *, design: bool, request: str | None) -> None:
    """Change a draft, or the plan.md of a plan, in your editor ($VISUAL or $EDITOR).

    What prloom writes into the plan meanwhile is merged with your changes.
    """
    from prloom.cli import design as designing  # noqa: PLC0415 - `prloom edit --help` needs none
    from prloom.engine.operator import new_draft, plan_texts  # noqa: PLC0415 - likewise

    where = context.repository(given)
    if request is not None and not design:
        raise click.UsageError("--request belongs to --design", click.get_current_context())
    named = plan_texts.find(where, plan)
    before = plan_texts.read(where, named)
    blocked = None
    if design:
        after, blocked = designing.rewrite(given, named, before, request or "Complete the plan.")
    else:
        after = input_file.edited(before) or before
    if "\r\n" in before:  # click has made plain line ends of them
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    if after == before and blocked is None:
        click.echo("Nothing was changed.")
        return
    _save(where, named, before, after)
    if blocked is not None:
        designing.block(where, named, blocked)
    click.echo(f"Saved: {named.id}.")
    if named.is_draft:
        _print_next(named.id, new_draft.check(where, context.config(given), named.id))


def _print_next(draft: str, problem: str | None) -> None:
    """Print what comes next for a draft; `problem` keeps it from being queued."""
    if problem is None:
        click.echo(f"Next: hand it to the dispatcher with `prloom queue {draft}`.")
        return
    click.echo(f"prloom: {terminal.clean(problem)}", err=True)
    click.echo(f"Next: correct it with `prloom edit {draft}`.")


def _save(where: RepositoryPaths, named: NamedPlan, before: str, after: str) -> None:
    """Write what the person made of the text; what somebody else has made of it meanwhile is merged with that."""
    from prloom.core.text import text_merge  # noqa: PLC0415 - likewise
    from prloom.engine.operator import plan_texts  # noqa: PLC0415 - likewise

    def merge(now: str) -> str:
        merged = text_merge.merged(before, ours=after, theirs=now)
        if merged is not None:
            return merged
        kept = _kept(where, named, after)
        raise PrloomError(
            f"plan {named.id} was changed at the same lines while you edited it; your text is in {kept}, "
            f"and the plan is as the other left it"
        )

    plan_texts.change(where, named, merge)


def _kept(where: RepositoryPaths, named: NamedPlan, text: str) -> Path:
    """Keep a text that could not be merged, and return where."""
    from prloom.storage import paths  # noqa: PLC0415 - likewise
    from prloom.storage.safe_dir import SafeDir  # noqa: PLC0415 - likewise

    name = f"{named.id}.edited"
    with SafeDir.make(where.root, *paths.LOCAL, paths.INBOX) as drafts:
        drafts.replace(name, text.encode("utf-8", "surrogateescape"))
    return where.local / paths.INBOX / name
