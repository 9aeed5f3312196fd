"""`prloom exchange notify`: report each conversation that has ended, once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prloom.cli.context import Options, pass_options
from prloom.cli.exchange import context, output
from prloom.cli.output import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prloom.exchange.claim import Ended
    from prloom.exchange.exchange import Exchange

_SECONDS = 60  # that a command for one conversation may take


@click.command("notify", epilog="Example:  prloom exchange notify --command 'notify-send prloom'")
@click.argument("conversations", nargs=-1, metavar="[CONVERSATION]...")
@click.option("--once", is_flag=True, help="Report the conversations that have ended, and exit.")
@click.option("--command", "line", metavar="CMD", help="Run this for each, instead of printing a line.")
@context.database_option
@pass_options
def command(
    given: Options, /, conversations: tuple[str, ...], line: str | None, database: str | None, *, once: bool
) -> None:
    """Report each tracked conversation that has ended once, also if several notifiers run.

    `publish` and `request` track their conversation unless you give --no-track; a CONVERSATION named here is tracked
    from now on. CMD is run without a shell. It gets the id and the outcome as JSON on its stdin, and in
    PRLOOM_CONVERSATION_ID and PRLOOM_OUTCOME. If it fails, it is run again two minutes later.
    """
    argv = _argv(line)
    with context.open_exchange(given, database) as exchange:
        for name in conversations:
            exchange.subscribe(name)
        failed = _report_all(exchange, argv, once=once)
    raise click.exceptions.Exit(int(failed))


def _argv(line: str | None) -> Sequence[str]:
    import shlex  # noqa: PLC0415 - only a command needs it

    try:
        argv = shlex.split(line or "")
    except ValueError as error:
        raise click.UsageError(f"--command cannot be read: {error}") from None
    if line is not None and not argv:
        raise click.UsageError("--command is empty; name a program")
    return argv


def _report_all(exchange: Exchange, argv: Sequence[str], *, once: bool) -> bool:
    """Report each conversation that has ended, and wait for more unless `once`; return whether a report failed."""
    from datetime import timedelta  # noqa: PLC0415 - `--help` needs none

    lease = timedelta(seconds=2 * _SECONDS)
    failed = False
    # One at a time: each is reported before its lease is over, however long the ones before it take.
    for ended in exchange.notifications(lease, patience=timedelta(0) if once else None):
        if _report(ended, argv):
            exchange.ack_notification(ended)
        else:
            failed = True
    return failed


def _report(ended: Ended, argv: Sequence[str]) -> bool:
    if argv:
        return _run(ended, argv)
    how = terminal.paint(ended.outcome.replace("_", " "), output.ROLES[ended.outcome])
    signal = ""
    if sys.stderr.isatty():
        signal = "\a"
    click.echo(f"{signal}{terminal.clean(ended.conversation_id)}  {how}", err=True)
    return True


def _run(ended: Ended, argv: Sequence[str]) -> bool:
    """Run the command; return whether it succeeded."""
    import json  # noqa: PLC0415 - only a command needs them
    import os  # noqa: PLC0415
    import subprocess  # noqa: PLC0415

    about = {"conversationId": ended.conversation_id, "outcome": ended.outcome}
    environ = os.environ | {"PRLOOM_CONVERSATION_ID": ended.conversation_id, "PRLOOM_OUTCOME": ended.outcome}
    try:
        done = subprocess.run(argv, input=json.dumps(about), env=environ, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        if isinstance(error, subprocess.TimeoutExpired):
            why = f"it took longer than {_SECONDS} s"
        else:
            why = str(error)
    else:
        why = ""
        if done.returncode:
            why = f"exit code {done.returncode}"
    if why:
        click.echo(
            f"prloom: {argv[0]} failed for conversation {terminal.clean(ended.conversation_id)}: {why}", err=True
        )
    return not why
