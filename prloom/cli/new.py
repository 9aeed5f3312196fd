"""`prloom new`: write a new plan, as a draft."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from prloom.cli import context, input_file
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from pathlib import Path

    from prloom.config.models import Config
    from prloom.engine.adoption.issue import IssuePlan
    from prloom.engine.operator.new_draft import Created
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
def command(
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
        request = f"{title or ''}\n\n{text.removeprefix(_EMPTY)}".strip()
        text, blocked = _design(given, config.for_preset(preset), request, plan_id)
        title, queue = None, queue and blocked is None
    options = new_draft.DraftOptions(title, plan_id, branch, base, preset, source, queue=queue)
    try:
        made = new_draft.create(where, config, text, options)
    except PrloomError as error:
        if design:
            raise _with_text_kept(error, where, text) from error
        raise
    if blocked is not None:
        new_draft.block(where, made.id, blocked)
    _print_next(made, where.local / "inbox" / f"{made.id}.md", blocked=blocked)


def _design(given: Options, config: Config, request: str, plan_id: str | None) -> tuple[str, str | None]:
    """Have an agent write a plan; return its text, and why a plugin keeps it from being queued, if one does."""
    from prloom.cli import design  # noqa: PLC0415 - likewise
    from prloom.core.plans import front_matter  # noqa: PLC0415 - likewise

    text, blocked = design.write(given, config, request, plan_id=plan_id)
    if blocked is not None:
        text = front_matter.with_status(text, "draft")
    return text, blocked


def _with_text_kept(error: PrloomError, where: RepositoryPaths, text: str) -> PrloomError:
    """Keep what an agent has written for a plan that cannot be made, and return an error that says where it is."""
    from prloom.cli import design  # noqa: PLC0415 - likewise

    return PrloomError(f"{error}; what was written is in {design.keep(where, text)}")


def _print_next(made: Created, path: Path, *, blocked: str | None) -> None:
    """Print where the draft is and what comes next; raises PrloomError with what keeps it from being queued."""
    if made.queued:
        what = "the dispatcher makes its branch and worktree"
        if not made.has_work:
            what = f"it waits for a TODO, which `prloom todo {made.id} add TEXT` adds"
        click.echo(f"Queued {terminal.paint(made.id, 'name')}: {what}.")
        click.echo(f"  draft  {terminal.clean(str(path))}")
        return
    click.echo(f"Drafted {terminal.paint(made.id, 'name')}.")
    click.echo(f"  draft  {terminal.clean(str(path))}")
    if blocked is not None:
        raise PrloomError(f"{blocked}; correct it with `prloom edit {made.id}`, then `prloom queue {made.id}`")
    click.echo(f"Next: `prloom edit {made.id}`, or hand it to the dispatcher with `prloom queue {made.id}`.")


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
    from prloom.engine.bus import inbox  # noqa: PLC0415 - likewise
    from prloom.engine.operator import new_draft  # noqa: PLC0415 - likewise

    if file is not None:
        return input_file.text(file, inbox.LONGEST)
    if title is not None:
        return _EMPTY
    if not (sys.stdin.isatty() or os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        raise click.UsageError("name a TITLE, or give the plan with --file", click.get_current_context())
    written = input_file.edited(new_draft.TEMPLATE)
    if written is None or written == new_draft.TEMPLATE:
        raise PrloomError("nothing was written, so there is no new plan")
    return written
