"""`prloom pause` and `prloom resume`: stop the work on plans, and continue it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from prloom.cli import context, submit
from prloom.cli.context import Options, pass_options
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prloom.cli.context import Options
    from prloom.storage.paths import RepositoryPaths


@click.command("pause")
@click.argument("plans", metavar="[PLAN]...", nargs=-1)
@click.option("--all", "all_plans", is_flag=True, help="Pause all plans; the default if no plan is named.")
@pass_options
def pause(given: Options, plans: tuple[str, ...], *, all_plans: bool) -> None:
    """Stop the work on plans until `prloom resume`.

    New feedback is still taken in and waits, and commands such as `/prloom status` still work. A run of an agent that
    has begun goes on, and replies that are queued are still sent.
    """
    _switch(given, "pause", plans, all_plans=all_plans, done="Paused")


@click.command("resume")
@click.argument("plans", metavar="[PLAN]...", nargs=-1)
@click.option("--all", "all_plans", is_flag=True, help="Resume all plans; the default if no plan is named.")
@click.option(
    "--commit", "saving", flag_value="commit", help="Commit the changes that you made in the plan's worktree."
)
@click.option("--stash", "saving", flag_value="stash", help="Put these changes into git's stash instead.")
@pass_options
def resume(given: Options, plans: tuple[str, ...], *, all_plans: bool, saving: str | None) -> None:
    """Resume the work on plans that were paused or are blocked.

    A plan whose worktree has changes that prloom did not make is blocked; --commit or --stash says what becomes of
    them.
    """
    if saving is not None:
        _save_changes(given, plans, saving)
    _switch(given, "resume", plans, all_plans=all_plans, done="Resumed")


def _switch(
    given: Options, verb: Literal["pause", "resume"], named: Sequence[str], *, all_plans: bool, done: str
) -> None:
    """Hand in the request for the plans that are named, or for all; `done` says it in the past tense."""
    if named and all_plans:
        raise click.UsageError("name plans or use --all, not both", click.get_current_context())
    where = context.repository(given)
    plan_ids = [context.plan_id(where, plan) for plan in named] if named else _all_plans(where)
    submit.submit_ids(where, verb, plan_ids, done=done)


def _save_changes(given: Options, named: Sequence[str], saving: str) -> None:
    """Commit or stash what a person changed in the worktree of the plan that is named."""
    from prloom.engine.bus import plans  # noqa: PLC0415 - likewise
    from prloom.engine.operator import emit, own_changes, plan_texts  # noqa: PLC0415 - likewise
    from prloom.engine.operator.plan_texts import NamedPlan  # noqa: PLC0415 - likewise
    from prloom.workspace import repository  # noqa: PLC0415 - likewise

    if len(named) != 1:
        raise click.UsageError(f"--{saving} needs the name of one plan", click.get_current_context())
    where = context.repository(given)
    plan_id = context.plan_id(where, named[0])
    own_changes.require_no_worker(plan_id, plan_texts.state(where, NamedPlan(plan_id, is_draft=False)))
    with emit.open_local(where, plan_id) as local:
        branch = plans.load(local).branch
    repo, path = repository.find(where.root), where.worktree(plan_id)
    if saving == "commit":
        saved = own_changes.commit(repo, path, branch=branch, plan_id=plan_id)
    else:
        saved = own_changes.stash(repo, path, branch=branch, plan_id=plan_id)
    if saved is None:
        click.echo(f"There are no changes in the worktree of {plan_id}.")
    elif saving == "commit":
        click.echo(f"Committed your changes as {saved[:10]}.")
    else:
        click.echo(f"Stashed your changes as {saved[:10]}; `git stash pop` brings them back.")


def _all_plans(where: RepositoryPaths) -> Sequence[str]:
    from prloom.engine.bus import plans  # noqa: PLC0415 - named plans need none
    from prloom.engine.views.plan_names import NO_PLANS  # noqa: PLC0415 - likewise

    found = plans.ids(where)
    if not found:
        raise PrloomError(f"there are {NO_PLANS}")
    return found
