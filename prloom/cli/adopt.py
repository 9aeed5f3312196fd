"""`prloom adopt`: look after a pull request or a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import context
from prloom.cli.context import Options, pass_options
from prloom.cli.output import layout, terminal

if TYPE_CHECKING:
    from pathlib import Path

    from prloom.config.models import Config
    from prloom.model.plan import Plan

_DIGITS = 12  # more than any forge has counted to


def _number(ctx: click.Context, param: click.Parameter, given: str | None) -> int | None:
    """Return the number of a pull request, as people write it."""
    if given is None:
        return None
    digits = given.removeprefix("#")
    if not (digits.isascii() and digits.isdecimal() and digits.strip("0")) or len(digits) > _DIGITS:
        shown = terminal.clean(given)
        raise click.UsageError(
            f"{shown} is not the number of a pull request; "
            f"to adopt a branch without a pull request, run `prloom adopt --branch {shown}`",
            ctx,
        )
    return int(digits)


@click.command()
@click.argument("pr", callback=_number, required=False)
@click.option("--branch", metavar="B", help="Look after a branch that has no pull request on a forge.")
@click.option(
    "--plan", "plan_id", metavar="ID", help="The plan's id; by default, it is made from the branch or the number."
)
@click.option("--preset", metavar="NAME", help="Use this preset of prloom.toml for the plan.")
@click.option(
    "--work/--no-work",
    default=None,
    help="Whether prloom may commit to the branch, or lists TODOs only; by default, it commits to your own branches.",
)
@click.option(
    "--dry-run", is_flag=True, help="Adopt nothing; list what the rules of [[adopt]] in prloom.toml would adopt."
)
@pass_options
def command(
    given: Options,
    pr: int | None,
    branch: str | None,
    plan_id: str | None,
    preset: str | None,
    *,
    work: bool | None,
    dry_run: bool,
) -> None:
    """Look after the pull request PR, or after a branch without one.

    The branch gets its own git worktree, and a plan. Write feedback for a branch without a forge into the file
    prloom/.local/review.md of this worktree.
    """
    if dry_run:
        if pr is not None or branch is not None:
            raise click.UsageError("--dry-run lists what the rules would adopt; leave out everything else")
        _list_matches(given)
        return
    if pr is not None and branch is None:
        config = _config(given)
        plan = _adopt_pull_request(given, config, pr, plan_id=plan_id, preset=preset, work=work)
    elif branch is not None and pr is None:
        config = _config(given)
        plan = _adopt_branch(given, config, branch, plan_id=plan_id, preset=preset, work=work is not False)
    else:
        raise click.UsageError("name either the number of a pull request, or --branch B")
    _print_next(plan, context.repo_root(given), config)


def _config(given: Options) -> Config:
    from prloom.cli import config_check  # noqa: PLC0415 - the help needs none

    config = context.config(given)
    config_check.remember_valid(given)
    return config


def _adopt_branch(
    given: Options, config: Config, branch: str, *, plan_id: str | None, preset: str | None, work: bool
) -> Plan:
    # 100 ms of imports that other commands need not pay.
    from datetime import UTC, datetime  # noqa: PLC0415

    from prloom.engine.adoption import adopt  # noqa: PLC0415
    from prloom.workspace import repository  # noqa: PLC0415

    repo, now = repository.find(context.repo_root(given)), datetime.now(UTC)
    with terminal.progress(f"creating a worktree for {branch}"):
        return adopt.adopt_branch(repo, config, branch, plan_id=plan_id, preset=preset, work=work, now=now)


def _adopt_pull_request(
    given: Options, config: Config, pr: int, *, plan_id: str | None, preset: str | None, work: bool | None
) -> Plan:
    import asyncio  # noqa: PLC0415 - likewise
    import os  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    from prloom.engine.adoption import pull_request  # noqa: PLC0415
    from prloom.workspace import repository  # noqa: PLC0415

    repo, now = repository.find(context.repo_root(given)), datetime.now(UTC)
    with terminal.progress(f"looking up pull request #{pr}"):
        return asyncio.run(
            pull_request.adopt_pull_request(
                repo, config, pr, plan_id=plan_id, preset=preset, work=work, environ=os.environ, now=now
            )
        )


def _print_next(plan: Plan, root: Path, config: Config) -> None:
    """Print what looks after the branch now, and where feedback goes."""
    from prloom.engine.bus import plans  # noqa: PLC0415 - likewise

    worktree = plans.locate(root, config.worktrees_dir).worktree(plan.id)
    click.echo(f"Plan {terminal.paint(plan.id, 'name')} looks after branch {terminal.clean(plan.branch)}.")
    click.echo(f"  worktree  {terminal.clean(str(worktree))}")
    click.echo(f'  feedback  {terminal.clean(str(worktree / "prloom/.local/review.md"))}, as "- [ ] …" items')
    if not plan.work:
        click.echo("  work      prloom may not commit to the branch; it lists TODOs only")
    click.echo("Next: run `prloom start`, or `prloom start --once` for one round.")


def _list_matches(given: Options) -> None:
    """Print the open pull requests that the rules fit, and what becomes of each."""
    import asyncio  # noqa: PLC0415 - likewise
    import os  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    from prloom.engine.adoption import pull_request  # noqa: PLC0415
    from prloom.workspace import repository  # noqa: PLC0415

    repo, config = repository.find(context.repo_root(given)), context.config(given)
    with terminal.progress("looking up the open pull requests"):
        found = asyncio.run(pull_request.preview(repo, config, os.environ, datetime.now(UTC)))
    for each in found:
        outcome = "would be adopted; prloom lists TODOs only"
        if each.reason is not None:
            outcome = f"would not be adopted: {each.reason}"
        elif each.work:
            outcome = "would be adopted; prloom works on it"
        author = terminal.clean(each.pull.author or "ghost")
        click.echo(f"#{each.pull.number}  {layout.title(each.pull.title)}  (by {author})")
        click.echo(f"  rule  {terminal.clean(each.rule.name())}")
        click.echo(f"  {outcome}")
    if not found:
        click.echo("No rule fits an open pull request.")
