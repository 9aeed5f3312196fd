"""Take a message's body from the command line or from stdin, and print one."""

from __future__ import annotations

import sys

import click

from prloom.cli import terminal
from prloom.errors import PrloomError

STDIN = "-"


def given(body: str | None, ctx: click.Context) -> str:
    """Return the body: the argument, or all of stdin where that is missing or `-`."""
    if body is not None and body != STDIN:
        return body
    stream = sys.stdin.buffer
    if stream.isatty():
        raise click.UsageError(f"no body; give it as an argument, or pipe it in: `… | {ctx.command_path} TOPIC`", ctx)
    content: bytes = stream.read()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise PrloomError(
            f"stdin is not valid UTF-8 (at byte {error.start}); messages are text; "
            "encode it first, for example with `base64`"
        ) from None


def show(body: str, *, whole_lines: bool = False) -> None:
    """Print a body alone: byte by byte into a pipe or a file, and as nothing but text on a terminal.

    With `whole_lines` a newline follows where the body has none at its end, as is always so on a terminal.
    """
    if sys.stdout.isatty():
        click.echo(terminal.clean_block(body.rstrip("\n")))
    else:
        click.echo(body.encode(), nl=whole_lines and not body.endswith("\n"))
