"""`prloom new`, `prloom edit` and `prloom queue`: write plans, and hand them to the dispatcher."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from prloom.cli import completion, context, terminal
from prloom.cli.context import Options, pass_options
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from pathlib import Path

    from prloom.config.models import Config
    from prloom.engine.adoption.issue import IssuePlan
    from prloom.engine.operator.plan_texts import NamedPlan
    from prloom.storage.paths import RepositoryPaths


_EMPTY = "## TODO\n"


@click.command("new")
@click.argument("title", metavar="[TITLE]", required=False)
@click.option("--plan", "plan_id", metavar="ID", help="The plan's id; by default, it is made from the title.")
@click.option("--branch", metavar="B", help="The branch to make; by default, the plan's id.")
@click.option("--base", metavar="B", help="The branch to begin from; by default, base_branch of prloom.toml.")
@click.option("--preset", metavar="NAME", help="Use this preset of prloom.toml for the plan.")
@click.option("--file", metavar="F", type=click.Path(allow_dash=True), help="Read the plan from a file; `-` is stdin.")
@click.option("--issue", type=click.IntRange(min=1), metavar="N", help="Make the plan of an issue of the forge.")
@click.option("--design", is_flag=True, help="Have an agent write the plan for what you want.")
@click.option("--queue", is_flag=True, help="Hand the plan to the dispatcher at once.")
@pass_options
def new(
    given: Options,
    *,
    title: str | None,
    plan_id: str | None,
    branch: str | None,
    base: str | None,
    preset: str | None,
    file: str | None,
    issue: int | None,
    design: bool,
    queue: bool,
) -> None:
    """Write a new plan: a draft in the inbox, which waits until you queue it.

    Without a TITLE, a file and an issue, the plan is written in your editor ($VISUAL or $EDITOR). With --design, what
    you give is the request for which an agent writes the plan; the agent only reads the repository.
    """
    if file is not None and issue is not None:
        raise click.UsageError("give --file or --issue, not both", click.get_current_context())
    from prloom.engine.operator import new_draft  # noqa: PLC0415 - `prloom new --help` needs none

    where, config = context.repository(given), context.config(given)
    source = None
    if issue is None:
        text = _text(title, file)
    else:
        text, source = _read_issue(given, config, issue)
    blocked = None
    if design:
        from prloom.cli import design as designing  # noqa: PLC0415 - likewise

        request = f"{title or ''}\n\n{text.removeprefix(_EMPTY)}".strip()
        title = None
        text, blocked = designing.write(given, config.for_preset(preset), request, plan_id=plan_id)
        queue = queue and blocked is None
    options = new_draft.DraftOptions(title, plan_id, branch, base, preset, source, queue=queue)
    made = new_draft.create(where, config, text, options)
    _print_next(made, where.local / "inbox" / f"{made}.md", queued=queue, blocked=blocked)


def _print_next(made: str, path: Path, *, queued: bool, blocked: str | None) -> None:
    """Print where the draft is and what comes next; raises PrloomError with what keeps it from being queued."""
    if queued:
        click.echo(f"Queued {terminal.paint(made, 'name')}: the dispatcher makes its branch and worktree.")
        click.echo(f"  draft  {terminal.clean(str(path))}")
        return
    click.echo(f"Drafted {terminal.paint(made, 'name')}.")
    click.echo(f"  draft  {terminal.clean(str(path))}")
    if blocked is not None:
        raise PrloomError(f"{blocked}; correct it with `prloom edit {made}`, then `prloom queue {made}`")
    click.echo(f"Next: `prloom edit {made}`, or hand it to the dispatcher with `prloom queue {made}`.")


@click.command("edit")
@click.argument("plan", metavar="PLAN", shell_complete=completion.plans)
@click.option("--design", is_flag=True, help="Have an agent complete the plan.")
@click.option("--request", metavar="TEXT", help="With --design: what the agent is to change.")
@pass_options
def edit(given: Options, plan: str, *, design: bool, request: str | None) -> None:
    """Change a draft, or the plan.md of a plan, in your editor ($VISUAL or $EDITOR).

    What prloom writes into the plan meanwhile is merged with your changes.
    """
    from prloom.engine.operator import new_draft, plan_texts  # noqa: PLC0415 - likewise

    where = context.repository(given)
    if request is not None and not design:
        raise click.UsageError("--request belongs to --design", click.get_current_context())
    named = plan_texts.find(where, plan)
    if not named.is_draft:
        context.refuse_in_run("prloom edit")  # the boxes that it sets count as the operator's
    before = plan_texts.read(where, named)
    blocked = None
    after: str | None
    if design:
        from prloom.cli import design as designing  # noqa: PLC0415 - likewise

        after, blocked = designing.rewrite(given, named, before, request or "Complete the plan.")
    else:
        after = click.edit(before, extension=".md")
    if after is not None and "\r\n" in before:  # click has made plain line ends of them
        after = after.replace("\n", "\r\n")
    if after is None or (after == before and blocked is None):
        click.echo("Nothing was changed.")
        return
    _save(where, named, before, after)
    if blocked is not None:
        from prloom.cli import design as designing  # noqa: PLC0415 - likewise

        designing.block(where, named, blocked)
    problem = new_draft.check(where, context.config(given), named.id) if named.is_draft else None
    click.echo(f"Saved: {named.id}.")
    if problem is not None:
        click.echo(f"prloom: {terminal.clean(problem)}", err=True)
        click.echo(f"Next: correct it with `prloom edit {named.id}`.")
    elif named.is_draft:
        click.echo(f"Next: hand it to the dispatcher with `prloom queue {named.id}`.")


@click.command("queue")
@click.argument("plans", metavar="PLAN...", nargs=-1, required=True, shell_complete=completion.plans)
@pass_options
def queue(given: Options, plans: tuple[str, ...]) -> None:
    """Hand drafts to the dispatcher, which makes a branch and a worktree for each."""
    from prloom.engine.operator import new_draft  # noqa: PLC0415 - likewise

    where, config = context.repository(given), context.config(given)
    for plan in plans:
        new_draft.queue(where, config, plan)
        click.echo(f"Queued {terminal.paint(terminal.clean(plan), 'name')}.")


def _read_issue(given: Options, config: Config, number: int) -> IssuePlan:
    """Return the plan that an issue of the forge requests."""
    import asyncio  # noqa: PLC0415 - likewise
    from datetime import UTC, datetime  # noqa: PLC0415 - likewise

    from prloom.engine.adoption import issue  # noqa: PLC0415 - likewise
    from prloom.workspace import repository  # noqa: PLC0415 - likewise

    repo = repository.find(context.repo_root(given))
    with terminal.progress(f"looking up issue #{number}"):
        return asyncio.run(issue.read(repo, config, number, os.environ, datetime.now(UTC)))


def _text(title: str | None, file: str | None) -> str:
    """Return the text of a new plan: that of the file, or what the person writes."""
    from prloom.engine.operator import new_draft  # noqa: PLC0415 - likewise

    if file is not None:
        try:
            with click.open_file(file, encoding="utf-8", errors="replace") as opened:
                text: str = opened.read()
        except OSError as error:
            raise PrloomError(f"{terminal.clean(file)} cannot be read: {error.strerror}; name another file") from error
        return text
    if title is not None:
        return _EMPTY
    if not (sys.stdin.isatty() or os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        raise click.UsageError("name a TITLE, or give the plan with --file", click.get_current_context())
    written = click.edit(new_draft.TEMPLATE, extension=".md")
    if written is None or written == new_draft.TEMPLATE:
        raise PrloomError("nothing was written, so there is no new plan")
    return written


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
