"""`prloom forget`: stop looking after a pull request or a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import layout, terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prloom.storage.paths import RepositoryPaths
    from prloom.workspace.repository import Repository


_SHOWN = 20


@click.command("forget")
@click.argument("plan", shell_complete=completion.plans)
@click.option("--yes", is_flag=True, help="Give it up even if events, replies or TODOs are open in it.")
@click.option("--worktree", is_flag=True, help="With --yes: also remove work that exists only in its worktree.")
@pass_options
def command(given: Options, plan: str, *, yes: bool, worktree: bool) -> None:
    """Stop looking after PLAN, and remove its worktree, its history and its feedback. Its branch stays.

    Only a local branch that prloom made for what a rule adopted goes too, if the remote has all of its commits.

    If events, replies or TODOs are open in it, they are listed, and nothing is removed without --yes. Work in the
    worktree that is saved nowhere else is named, and nothing is removed without --worktree --yes. Nothing is removed
    either while an agent works on it.
    """
    from prloom.engine.adoption import forget  # noqa: PLC0415 - `prloom forget --help` needs none
    from prloom.engine.views import plan_names  # noqa: PLC0415
    from prloom.workspace import repository  # noqa: PLC0415

    where = context.repository(given)
    if _forget_draft(where, plan):
        return
    repo = repository.find(where.root)
    try:
        plan_id = context.plan_id(where, plan)
    except PrloomError:
        lost = plan_names.find_lost(where, plan)
        if lost is None:
            raise
        forget.forget_lost(repo, where, lost)
        branch = "Its branch stays."
        plan_id = lost.plan.id
    else:
        if not yes:
            _refuse_while_work_is_open(plan_id, forget.open_work(where, plan_id))
        lose_work = worktree and yes
        _name_work(repo, where, plan_id, lose_work=lose_work)
        with terminal.progress(f"removing {plan_id}"):
            branch = forget.forget(repo, where, plan_id, lose_work=lose_work)
    click.echo(f"Plan {terminal.paint(terminal.clean(plan_id), 'name')} is given up. {terminal.clean(branch)}")


def _forget_draft(where: RepositoryPaths, plan: str) -> bool:
    """Set a draft aside if there is one of that name, and no plan."""
    from prloom.engine.bus import inbox  # noqa: PLC0415 - likewise
    from prloom.engine.operator import plan_texts  # noqa: PLC0415 - likewise
    from prloom.engine.views import plan_names  # noqa: PLC0415 - likewise
    from prloom.storage import paths, repair  # noqa: PLC0415 - likewise

    if plan not in plan_names.draft_ids(where) or plan_texts.find(where, plan) != (plan, True):
        return False
    with plan_texts.open_inbox(where) as drafts:
        quarantined = repair.quarantine(drafts, paths.draft(plan), "forgotten")
        inbox.unblock(drafts, plan)
    click.echo(
        f"Draft {terminal.paint(terminal.clean(plan), 'name')} is given up. Its text is in {drafts.where(quarantined)}."
    )
    return True


def _name_work(repo: Repository, where: RepositoryPaths, plan_id: str, *, lose_work: bool) -> None:
    """Name the work that is nowhere else but in the plan's worktree; refuse to lose it, unless that is wanted."""
    from prloom.workspace import worktree  # noqa: PLC0415 - likewise

    path = where.worktree(plan_id)
    what = terminal.clean("; ".join(worktree.unsaved_work(repo, path)))
    if not what:
        return
    if not lose_work:
        lose = layout.to_run("forget", plan_id, ("--worktree", "--yes"))
        raise PrloomError(
            f"{terminal.clean(str(path))} holds work that is nowhere else ({what}); push or discard it first, "
            f"or {lose} removes it"
        )
    click.echo(f"Removing with the worktree what is nowhere else: {what}.", err=True)


def _refuse_while_work_is_open(plan_id: str, found: Sequence[str]) -> None:
    if not found:
        return
    click.echo(f"Open in plan {terminal.paint(terminal.clean(plan_id), 'name')}:")
    for line in found[:_SHOWN]:
        click.echo(f"  {terminal.clean(line)}")
    if len(found) > _SHOWN:
        click.echo(f"  … and {len(found) - _SHOWN} more; {layout.to_run('status', plan_id)} shows them")
    drop = layout.to_run("forget", plan_id, ("--yes",))
    raise PrloomError(f"nothing was removed, because work is open in plan {plan_id}; {drop} drops it")
