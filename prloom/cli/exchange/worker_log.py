"""Tell on stderr what a worker does: a line for each message, and on a terminal one more when it begins."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from prloom.cli import terminal
from prloom.cli.exchange import exit_codes
from prloom.exchange.worker.progress import Progress, WorkerError

if TYPE_CHECKING:
    from prloom.exchange.worker.progress import News


_WORDS = {"retrying": "failed"}  # when it is tried again is told beside it


def tell(news: News) -> None:
    """Print the news; a stderr that nobody reads ends no work."""
    if isinstance(news, Progress) and news.how == "began" and not sys.stderr.isatty():
        return
    with suppress(OSError):
        click.echo(f"{terminal.clock(datetime.now(UTC))}  {line(news)}", err=True)


def line(news: News) -> str:
    """Return the news as one line."""
    match news:
        case WorkerError(error=error, pause=pause):
            wait = terminal.duration(timedelta(seconds=pause))
            return f"{terminal.paint('error', 'bad')}: {terminal.clean(error)}; retrying in {wait}"
        case Progress():
            where = f"{terminal.paint(news.topic, 'name')} {news.message_id} attempt {news.attempt}"
            how = _WORDS.get(news.how, news.how.replace("_", " "))
            return f"{where}: {terminal.paint(how, exit_codes.ROLES.get(news.how, 'dim'))}{_about(news)}"


def _about(told: Progress) -> str:
    if told.how == "began":
        return ""
    preposition = "after"
    if told.how == "completed":
        preposition = "in"
    took = f" {preposition} {terminal.duration(timedelta(seconds=told.seconds))}"
    if told.pause is None:
        again = ""
    else:
        again = f"; retrying in {terminal.duration(timedelta(seconds=told.pause))}"
    if told.why:
        why = f": {terminal.clean(told.why)}"
    else:
        why = ""
    return f"{took}{again}{why}{f' -> {told.reply}' if told.reply else ''}"
