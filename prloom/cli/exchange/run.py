"""`prloom exchange run`: run a command for each message of a topic, and log each on stderr."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from prloom.cli.context import Options, duration, pass_options
from prloom.cli.exchange import context, output
from prloom.cli.output import terminal

if TYPE_CHECKING:
    from prloom.exchange.worker.worker import MessageProgress, WorkerEvent


_FAILED = 1


@click.command(
    "run",
    epilog="Example:  prloom exchange run upper --success-topic shouted -- tr a-z A-Z",
)
@click.argument("topic")
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("--topic", "more_topics", multiple=True, metavar="T", help="Another topic to work on; may be repeated.")
@click.option("--success-topic", metavar="T", help="Where replies go.  [default: TOPIC.completed]")
@click.option("--failure-topic", metavar="T", help="Where failures go.  [default: TOPIC.failed]")
@click.option("--timeout", type=duration, default="60s", show_default=True, help="How long the command may run.")
@click.option(
    "--lease", type=duration, default="90s", show_default=True, help="How long a silent worker keeps a message."
)
@click.option("--group", metavar="NAME", default="default", show_default=True, help="The name of these workers.")
@click.option("--concurrency", type=click.IntRange(1, 1000), default=1, show_default=True, metavar="N", help="Workers.")
@click.option("--once", is_flag=True, help="Handle one message, and exit with its result.")
@click.option(
    "--max-attempts",
    type=click.IntRange(1, 1_000_000),
    default=5,
    show_default=True,
    metavar="N",
    help="How often to try a message that does not set this itself.",
)
@click.option("--retry-failures", is_flag=True, help="Try a message again even if the command failed.")
@click.option(
    "--grace", type=duration, default="5s", show_default=True, help="How long a command may continue after a stop."
)
@context.database_option
@pass_options
def command(
    given: Options,
    /,
    topic: str,
    argv: tuple[str, ...],
    more_topics: tuple[str, ...],
    database: str | None,
    *,
    concurrency: int,
    once: bool,
    **limits: str | timedelta | int | bool | None,
) -> None:
    """Claim messages on TOPIC and run COMMAND for each of them. The body is its stdin, and its stdout is the reply.

    With exit code 0, the reply goes to the success topic, with another one to the failure topic, after the time-out to
    TOPIC.timed_out. If the command cannot be started, or its worker dies, the message is tried again. Ctrl-C or SIGTERM
    stops the worker: its message is finished within the grace period, or returned. A second Ctrl-C returns it at once.
    """
    if once and concurrency > 1:
        raise click.UsageError("--once handles one message; leave out --concurrency")
    from prloom.exchange.worker.command_job import CommandJobs  # noqa: PLC0415
    from prloom.exchange.worker.config import WorkerConfig, checked  # noqa: PLC0415
    from prloom.exchange.worker.pool import WorkerPool  # noqa: PLC0415 - `--help` needs none

    config = checked(WorkerConfig(topics=(topic, *more_topics), command=argv, **limits))  # type: ignore[arg-type]
    with context.open_exchange(given, database) as exchange:
        # Another process, in whatever folder, opens the same exchange by this name.
        name = getattr(exchange.store, "path", None) or context.name_of(given, database) or ""
    pool = WorkerPool(config, CommandJobs(config), lambda: context.open_exchange(given, name), name=name, report=show)
    progress = None
    if concurrency > 1:
        pool.work_with(concurrency)
    else:
        progress = pool.work(once=once)
    if progress is None:
        raise KeyboardInterrupt("stopped by Ctrl-C or SIGTERM; other workers get the messages that it has not finished")
    raise click.exceptions.Exit(_code(progress))


def _code(progress: MessageProgress) -> int:
    """Return the exit code of `--once`; what is to be tried again, or went to another worker, did not end here."""
    return output.CODES.get(output.outcome_of_status(progress.outcome), _FAILED)


_WORDS = {"retrying": "failed"}  # the line also says when it is tried again


def show(event: WorkerEvent) -> None:
    """Print an event; a stderr that nobody reads ends no work."""
    from prloom.exchange.worker.worker import MessageProgress  # noqa: PLC0415 - `--help` needs none

    if isinstance(event, MessageProgress) and event.outcome == "began" and not sys.stderr.isatty():
        return
    with suppress(OSError):
        click.echo(f"{terminal.clock(datetime.now(UTC))}  {line(event)}", err=True)


def line(event: WorkerEvent) -> str:
    """Return an event as one line."""
    from prloom.exchange.worker.worker import MessageProgress  # noqa: PLC0415 - `--help` needs none

    if isinstance(event, MessageProgress):
        where = f"{terminal.paint(event.topic, 'name')} {event.message_id} attempt {event.attempt}"
        word = _WORDS.get(event.outcome, event.outcome.replace("_", " "))
        return f"{where}: {terminal.paint(word, output.ROLES.get(event.outcome, 'dim'))}{_details(event)}"
    wait = terminal.duration(timedelta(seconds=event.pause))
    return f"{terminal.paint('error', 'bad')}: {terminal.clean(event.error)}; retrying in {wait}"


def _details(progress: MessageProgress) -> str:
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
