"""Read what a person hands in: a file that is named on the command line, stdin, or what was written in an editor."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

import click

from prloom.cli.output import terminal
from prloom.errors import PrloomError

STDIN = "-"
MOST = 128 << 20
"""Bytes that may be handed in where nothing else limits them."""


def content(path: str, limit: int = MOST, *, remedy: str = "name another file") -> bytes:
    """Return the bytes of a file or a pipe, or of stdin; raises PrloomError where there are more than `limit`.

    A device or a folder is refused, too.
    """
    try:
        if path == STDIN:
            read = sys.stdin.buffer.read(limit + 1)
        else:
            read = _read(Path(path), limit + 1)
    except OSError as error:
        raise PrloomError(f"{terminal.clean(path)} cannot be read: {error.strerror}; {remedy}") from error
    if len(read) > limit:
        raise PrloomError(f"{_name(path)} has more than {limit} bytes; {remedy}")
    return read


def events(path: str) -> bytes:
    """Return the bytes of a file of events."""
    return content(path, remedy="name a file that contains events as JSON")


def text(path: str, limit: int) -> str:
    """Return the text of a file or of stdin, with plain line ends; raises PrloomError where it is not UTF-8."""
    return _decoded(content(path, limit), _name(path), "utf-8").replace("\r\n", "\n").replace("\r", "\n")


def edited(before: str) -> str | None:
    """Return what a person makes of a text in the editor, with plain line ends; None where nothing was written.

    What is not UTF-8 is kept, and the PrloomError names where.
    """
    ended = before
    if before and not before.endswith("\n"):
        ended = f"{before}\n"
    written: bytes | None = click.edit(ended.encode("utf-8", "surrogateescape"), extension=".md")
    if written is None:
        return None
    try:
        return _decoded(written, "what you wrote", "utf-8-sig").replace("\r\n", "\n")
    except PrloomError as error:
        with tempfile.NamedTemporaryFile(prefix="prloom-", suffix=".md", delete=False) as kept:
            kept.write(written)
        raise PrloomError(f"{error}; it is in {kept.name}") from error


def _read(path: Path, most: int) -> bytes:
    mode = path.stat().st_mode  # first, for some devices act when they are opened
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(None, "Is a directory")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise OSError(None, "It is neither a file nor a pipe")
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC), "rb") as file:
        return file.read(most)


def _decoded(read: bytes, name: str, encoding: str) -> str:
    try:
        return read.decode(encoding)
    except UnicodeDecodeError as error:
        line = read.count(b"\n", 0, error.start) + 1
        raise PrloomError(f"{name} is not UTF-8 (line {line}); save it as UTF-8") from error


def _name(path: str) -> str:
    if path == STDIN:
        return "stdin"
    return terminal.clean(path)
