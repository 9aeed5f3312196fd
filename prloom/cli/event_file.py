"""Read a file that contains events as JSON, which a person names on the command line; `-` is stdin."""

from __future__ import annotations

import click

from prloom.errors import PrloomError


def content(path: str) -> bytes:
    """Return the bytes of a file, or of stdin; raises PrloomError where it cannot be read."""
    try:
        with click.open_file(path, "rb") as file:
            read: bytes = file.read()
    except OSError as error:
        raise PrloomError(
            f"{path} cannot be read: {error.strerror}; name a file that contains events as JSON"
        ) from error
    return read
