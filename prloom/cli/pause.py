"""`prloom pause` and `prloom resume`: stop the work on plans, and continue it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

import click

from prloom.cli import completion, context, submit
from prloom.cli.context import Options, pass_options
from prloom.cli.output import layout
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prloom.engine.operator.own_changes import How
    from prloom.storage.paths import RepositoryPaths


@click.command("pause")
@click.argument("plans", metavar="[PLAN]...", nargs=-1, shell_complete=completion.plans)
@click.option("--all", "all_plans", is_flag=True, help="Pause all plans.")
@pass_options
def pause(given: Options, plans: tuple[str, ...], *, all_plans: bool) -> None:
    """Stop the work on plans until `prloom resume`.

    Without a plan and without --all, it asks on a terminal before it pauses all plans, and elsewhere it refuses. New
    feedback is still taken in and waits, and commands such as `/prloom status` still work. A run of an agent that has
    begun continues, and replies that are queued are still sent. A queued plan is a draft again until it is resumed.
    """
    if not plans and not all_plans:
        _confirm_all(_all_plans(context.repository(given)))
    drafts, others = _drafts(given, plans)
    if drafts:
        from prloom.engine.operator import new_draft  # noqa: PLC0415 - most plans that are paused are no drafts

        for each in drafts:
            new_draft.unqueue(context.repository(given), each)
            click.echo(f"Paused: {each}. It is a draft until {layout.to_run('resume', each)}.")
    if others or not drafts:
        _switch(given, "pause", others, all_plans=all_plans, done="Paused")


def _confirm_all(plan_ids: Sequence[str]) -> None:
    """Ask before all plans are paused although none was named; raises PrloomError where that is refused."""
    if not sys.stdin.isatty():
        raise PrloomError(
            f"no plan is named, and nothing was paused; to pause one, run {layout.to_run('pause', 'PLAN')}; "
            f"to pause all, run {layout.to_run('pause', ('--all',))}"
        )
    if not click.confirm(f"Pause all plans ({', '.join(plan_ids)})?"):
        raise PrloomError("nothing was paused, because the answer was no")


@click.command("resume")
@click.argument("plans", metavar="[PLAN]...", nargs=-1, shell_complete=completion.plans)
@click.option("--all", "all_plans", is_flag=True, help="Resume all plans; the default if no plan is named.")
@click.option("--commit", is_flag=True, help="First commit the worktree's changes, as your own work.")
@click.option("--stash", is_flag=True, help="First put the worktree's changes onto git's stash.")
@pass_options
def resume(given: Options, plans: tuple[str, ...], *, all_plans: bool, commit: bool, stash: bool) -> None:
    """Resume the work on plans that were paused or blocked.

    A TODO that blocks a plan is tried again. Any other reason for a block is checked again, and blocks the plan again
    if it still applies. `prloom status` shows why a plan is blocked.
    """
    if commit and stash:
        raise click.UsageError("give --commit or --stash, not both", click.get_current_context())
    how: How | None = None
    if commit:
        how = "commit"
    elif stash:
        how = "stash"
    if how is not None and not plans:
        raise click.UsageError(f"--{how} needs the name of a plan", click.get_current_context())
    drafts, others = _drafts(given, plans)
    if drafts:
        from prloom.engine.operator import new_draft  # noqa: PLC0415 - most plans that are resumed are no drafts

        for each in drafts:
            if new_draft.queue(context.repository(given), context.config(given), each):
                click.echo(f"Resumed: {each}. It is queued.")
            else:
                click.echo(f"Nothing changed: {each} is queued already.")
    if others:
        _save_worktrees(given, others, how)
    if others or not drafts:
        _switch(given, "resume", others, all_plans=all_plans, done="Resumed")


def _drafts(given: Options, named: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the drafts among these names, which have no worktree, and the other plans."""
    if not named:
        return (), ()
    from prloom.engine.operator import plan_texts  # noqa: PLC0415 - `prloom pause --help` needs none

    where = context.repository(given)
    found = [plan_texts.find(where, each) for each in named]
    return [each.id for each in found if each.is_draft], [each.id for each in found if not each.is_draft]


def _save_worktrees(given: Options, named: Sequence[str], how: How | None) -> None:
    """Commit or stash the changes in the worktrees of these plans; without that, refuse plans that they block."""
    from prloom.engine.operator import own_changes  # noqa: PLC0415 - `prloom resume --help` needs none

    where = context.repository(given)
    config = context.config(given)
    for each in named:
        plan_id = context.plan_id(where, each)
        if how is None:
            own_changes.refuse_where_still_there(where, config, plan_id)
            continue
        made = own_changes.settle(where, config, plan_id, how)
        if made is None:
            click.echo(f"Nothing to {how} in the worktree of {plan_id}.")
        elif how == "commit":
            click.echo(f"Committed in the worktree of {plan_id}: {made[:10]}.")
        else:
            click.echo(f"Stashed from the worktree of {plan_id}; `git stash apply {made[:10]}` brings it back.")


def _switch(
    given: Options, verb: Literal["pause", "resume"], named: Sequence[str], *, all_plans: bool, done: str
) -> None:
    """Hand in the request for the plans that are named, or for all; `done` says it in the past tense."""
    if named and all_plans:
        raise click.UsageError("name plans or use --all, not both", click.get_current_context())
    where = context.repository(given)
    plan_ids = [context.plan_id(where, plan) for plan in named] if named else _all_plans(where)
    submit.submit_ids(where, verb, plan_ids, done=done)


def _all_plans(where: RepositoryPaths) -> Sequence[str]:
    from prloom.engine.bus import plans  # noqa: PLC0415 - named plans need none
    from prloom.engine.views.dashboard_words import NO_PLANS  # noqa: PLC0415 - likewise

    found = plans.ids(where)
    if not found:
        raise PrloomError(f"there are {NO_PLANS}")
    return found
