"""`prloom emit`: append an event by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from prloom.cli import completion, context, input_file
from prloom.cli.context import Options, pass_options
from prloom.cli.output import terminal
from prloom.model.event import SEVERITIES
from prloom.model.kinds import TRUST_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from prloom.model.event import Event, Severity
    from prloom.model.plan import Plan

STDIN = input_file.STDIN
DEFAULT_TYPE = "pr_comment"


@click.command("emit")
@click.argument("plan", shell_complete=completion.plans)
@click.option("--body", metavar="TEXT", help="The text; `-` reads it from stdin.")
@click.option("--file", "path", metavar="FILE", help="Events as JSON: an object, an array, or lines; `-` reads stdin.")
@click.option("--type", "kind", metavar="T", help="The type.  [default: pr_comment]")
@click.option("--author", metavar="A", help="The author; by default, the operator.")
@click.option("--trust", type=click.Choice(TRUST_LEVELS), help="The author's permission.  [default: operator]")
@click.option("--id", "event_id", metavar="ID", help="The id, which must be new; by default, prloom makes one.")
@click.option("--title", metavar="TEXT", help="A line above the body.")
@click.option("--url", metavar="URL", help="Where the event can be seen.")
@click.option("--severity", type=click.Choice(SEVERITIES), help="Severity.  [default: info]")
@pass_options
def command(
    given: Options, /, plan: str, body: str | None, path: str | None, trust: str | None, **about: str | None
) -> None:
    """Append an event to a plan's bus, as if it came from a source, and print its id.

    It counts as the operator's, unless --trust says otherwise. --file appends complete events, either all or none.
    An agent's run cannot emit: its words would count as yours.
    """
    if (body is None) == (path is None):
        raise click.UsageError("give --body TEXT or --file FILE")
    for name, value in about.items():
        _check_option("--id" if name == "event_id" else f"--{name}".replace("kind", "type"), value)
    if path is not None and any(about.values()):
        raise click.UsageError("--file can be combined only with --trust; the events contain everything else")
    where = context.repository(given)
    plan_id = context.plan_id(where, plan)
    from datetime import UTC, datetime  # noqa: PLC0415 - `prloom emit --help` needs none

    from prloom.engine.operator import emit  # noqa: PLC0415

    now = datetime.now(UTC)
    if path is not None:
        name = path
        if path == STDIN:
            name = "stdin"
        events = emit.parse(input_file.events(path), name)
    else:
        events = (_event(emit.plan(where, plan_id), body or "", now, about),)
    emit.append(where, plan_id, [emit.with_trust(event, trust) for event in events], now)
    for event in events:
        click.echo(terminal.clean(event.id))


def _check_option(option: str, value: str | None) -> None:
    """Refuse what would not be read as it was meant: an empty author, say, would be the operator."""
    from prloom.model.event import LONGEST_ID  # noqa: PLC0415 - `prloom emit --help` needs none

    if value is not None and not value.strip() and option != "--title":
        raise click.UsageError(f"{option} is empty; give it a value, or remove it")
    if option == "--id" and value is not None and len(value) > LONGEST_ID:
        raise click.UsageError(f"--id has {len(value)} characters; use at most {LONGEST_ID}")


def _event(plan: Plan, body: str, now: datetime, about: Mapping[str, str | None]) -> Event:
    """Return the event that the options describe."""
    import os  # noqa: PLC0415 - only an event without an id needs it

    from prloom.model import record  # noqa: PLC0415
    from prloom.model.event import Author, Event  # noqa: PLC0415

    if body == STDIN:
        text = _stdin()
    else:
        text = body
    if not text.strip() and not about["title"]:
        raise click.UsageError("the body is empty; write what the event is about")
    author = about["author"]
    return Event(
        id=about["event_id"] or f"cli-{now:%Y%m%dT%H%M%S}-{os.urandom(4).hex()}",
        source="cli",
        type=about["kind"] or DEFAULT_TYPE,
        title=about["title"] or "",
        severity=cast("Severity", about["severity"] or "info"),
        body=text,
        author=Author(author) if author else None,
        url=about["url"],
        created_at=record.iso(now),
        pr=plan.pr,
    )


def _stdin() -> str:
    read = input_file.content(STDIN, remedy="shorten the text")
    return read.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
