"""Print on stderr what a worker does: a line for each message, and on a terminal one more when it begins."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from prloom.cli import terminal
from prloom.cli.exchange import exit_codes

if TYPE_CHECKING:
    from prloom.exchange.worker.worker import Progress, WorkerEvent


_WORDS = {"retrying": "failed"}  # the line also says when it is tried again


def show(event: WorkerEvent) -> None:
    """Print an event; a closed stderr ends no work."""
    from prloom.exchange.worker.worker import Progress  # noqa: PLC0415 - `--help` needs none

    if isinstance(event, Progress) and event.outcome == "began" and not sys.stderr.isatty():
        return
    with suppress(OSError):
        click.echo(f"{terminal.clock(datetime.now(UTC))}  {line(event)}", err=True)


def line(event: WorkerEvent) -> str:
    """Return an event as one line."""
    from prloom.exchange.worker.worker import Progress  # noqa: PLC0415 - `--help` needs none

    if isinstance(event, Progress):
        where = f"{terminal.paint(event.topic, 'name')} {event.message_id} attempt {event.attempt}"
        word = _WORDS.get(event.outcome, event.outcome.replace("_", " "))
        return f"{where}: {terminal.paint(word, exit_codes.ROLES.get(event.outcome, 'dim'))}{_details(event)}"
    wait = terminal.duration(timedelta(seconds=event.pause))
    return f"{terminal.paint('error', 'bad')}: {terminal.clean(event.error)}; retrying in {wait}"


def _details(progress: Progress) -> str:
    if progress.outcome == "began":
        return ""
    preposition = "after"
    if progress.outcome == "completed":
        preposition = "in"
    details = f" {preposition} {terminal.duration(timedelta(seconds=progress.seconds))}"
    if progress.pause is not None:
        details += f"; retrying in {terminal.duration(timedelta(seconds=progress.pause))}"
    if progress.why:
        details += f": {terminal.clean(progress.why)}"
    if progress.reply:
        details += f" -> {progress.reply}"
    return details
