"""Take a message's body from the command line, print one, and turn outcomes into words and exit codes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prloom.cli import input_file
from prloom.cli.output import terminal
from prloom.errors import PrloomError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prloom.cli.output.terminal import Role


CODES: Mapping[str, int] = {"success": 0, "failure": 3, "timed_out": 4, "pending": 5, "dead": 6, "cancelled": 7}
"""The exit code of each outcome of a conversation."""

ROLES: Mapping[str, Role] = {
    "success": "good",
    "completed": "good",
    "pending": "warn",
    "cancelled": "warn",
    "handed_back": "warn",
    "retrying": "warn",
    "failure": "bad",
    "failed": "bad",
    "timed_out": "bad",
    "dead": "bad",
    "lost": "bad",
}

_BY_STATUS: Mapping[str, str] = {"completed": "success", "failed": "failure"}


def outcome_of_status(status: str) -> str:
    """Return the outcome that the status of a reply, or of a worker's last message, stands for."""
    return _BY_STATUS.get(status, status)


STDIN = input_file.STDIN


def read_body(body: str | None, ctx: click.Context) -> str:
    """Return the body: the argument, or all of stdin where that is missing or `-`."""
    if body is not None and body != STDIN:
        return body
    if sys.stdin.isatty():
        raise click.UsageError(f"no body; give it as an argument, or pipe it in: `… | {ctx.command_path} TOPIC`", ctx)
    content = input_file.content(STDIN, remedy="send a reference to it instead")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise PrloomError(
            f"stdin is not valid UTF-8 (at byte {error.start}); messages are text; "
            "encode it first, for example with `base64`"
        ) from None


def print_body(body: str, *, whole_lines: bool = False) -> None:
    """Print a body alone: byte by byte into a pipe or a file, and as nothing but text on a terminal.

    With `whole_lines` a newline follows where the body has none at its end, as is always so on a terminal.
    """
    if sys.stdout.isatty():
        click.echo(terminal.clean_block(body.rstrip("\n")))
    else:
        click.echo(body.encode(), nl=whole_lines and not body.endswith("\n"))
