"""`prloom outbox`: list the replies that wait for a person; send, edit or drop them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.cli import context, input_file, submit
from prloom.cli.context import Options, json_option, pass_options
from prloom.cli.output import layout, terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prloom.core.commands.requests import RequestVerb
    from prloom.engine.views.outbox import ReplyDraft
    from prloom.storage.paths import RepositoryPaths


_VERBS: Mapping[str, RequestVerb] = {"send": "draft_send", "drop": "draft_drop"}
_DONE = {"send": "To be posted by the next `prloom start`", "drop": "Dropped"}


@click.command("outbox")
@click.argument("action", type=click.Choice(["send", "edit", "drop"]), metavar="[ACTION]", required=False)
@click.argument("drafts", nargs=-1, metavar="[ID…]")
@click.option("--message", metavar="TEXT", help="With edit: the new text; without it, your editor opens.")
@json_option
@pass_options
def command(given: Options, *, action: str | None, drafts: tuple[str, ...], message: str | None, as_json: bool) -> None:
    """List the replies that wait until you send them, or send, edit or drop some.

    The table [outbox] of prloom.toml says which replies wait: by default, those to people who are not trusted.
    """
    _check(action, drafts, message)
    from prloom.engine.views import outbox  # noqa: PLC0415 - `prloom outbox --help` needs none

    where = context.repository(given)
    if action == "edit":
        _edit(where, _named(where, drafts)[0], message, quiet=as_json)
    elif action is not None:
        ids = [draft.id for draft in _named(where, drafts)]
        submit.submit_ids(where, _VERBS[action], ids, done=_DONE[action], err=as_json)
    if as_json:
        terminal.echo_json(outbox.drafts(where))
    elif action is None:
        from prloom.cli.output import draft_text  # noqa: PLC0415 - see above

        click.echo("\n".join(draft_text.lines(outbox.drafts(where).drafts)) or "No reply waits.")


def _check(action: str | None, drafts: tuple[str, ...], message: str | None) -> None:
    if action is not None and not drafts:
        raise click.UsageError(f"name the draft to {action}")
    if action == "edit" and len(drafts) > 1:
        raise click.UsageError("edit one draft at a time")
    if message is not None and action != "edit":
        raise click.UsageError("--message is the new text of a draft; use it with edit")


def _edit(where: RepositoryPaths, draft: ReplyDraft, message: str | None, *, quiet: bool) -> None:
    from prloom.cli.output import draft_text  # noqa: PLC0415 - `prloom outbox --help` needs none
    from prloom.core.commands import requests  # noqa: PLC0415

    text = message
    if text is None:
        text = input_file.edited(draft_text.words(draft))
    if text is None or not text.strip():
        again = layout.to_run("outbox", "drop", draft.id)
        raise PrloomError(f"the text of {draft.id} was not changed; to drop the draft, run {again}")
    if requests.with_text(draft.payload, text.strip()) == draft.payload:
        click.echo("The text is the same.", err=quiet)
        return
    submit.submit_ids(where, "draft_edit", [draft.id], done="Changed", reason=text.strip(), err=quiet)


def _named(where: RepositoryPaths, ids: Iterable[str]) -> list[ReplyDraft]:
    """Return the drafts of these ids; raises PrloomError where one is none."""
    from prloom.engine.views import outbox  # noqa: PLC0415 - `prloom outbox --help` needs none

    waiting = {draft.id: draft for draft in outbox.drafts(where).drafts}
    missing = [each for each in ids if each not in waiting]
    if missing:
        names = ", ".join(map(terminal.clean, missing))
        raise PrloomError(f"{names}: there is no such draft; {layout.to_run('outbox')} lists those that wait")
    return [waiting[each] for each in dict.fromkeys(ids)]
