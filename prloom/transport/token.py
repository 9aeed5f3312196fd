"""Find the token of a bridge: in a file, in the environment, or from the program that keeps it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from prloom import programs
from prloom.errors import PrloomError

LIMIT = timedelta(seconds=30)
"""How long the program that keeps it may take."""
LARGEST = 16 * 1024
"""Bytes of a file that may be a token."""
FILE = "_FILE"
"""After a variable's name: the variable that names a file with the token."""


class NoTokenError(PrloomError):
    """No token was found; the text says where one can be put."""


class Token(NamedTuple):
    """A token, and in words where it is from."""

    text: str
    source: str

    def __repr__(self) -> str:
        return f"Token({self.source!r})"


def find(variables: tuple[str, ...], command: tuple[str, ...], environ: Mapping[str, str]) -> Token:
    """Return the first token there is: of the variables in their order, else what the command prints.

    `NAME_FILE` comes before `NAME`. If it is set, the token must be in that file: nothing else is tried.
    Raises NoTokenError.
    """
    for name in variables:
        if path := environ.get(name + FILE, "").strip():
            return Token(_written(path, name + FILE), f"the file {path} ({name}{FILE})")
        if text := environ.get(name, "").strip():
            return Token(text, name)
    hints = []
    if variables:
        hints.append(f"set {variables[0]}, or name a file that contains it in {variables[0]}{FILE}")
    if command:
        text, problem = _printed(command, environ)
        if text:
            return Token(text, f"`{' '.join(command)}`")
        hints.append(f"make sure that `{' '.join(command)}` prints one ({problem})")
    raise NoTokenError(f"there is no token: {', or '.join(hints)}")


def _written(path: str, variable: str) -> str:
    try:
        with Path(path).open(encoding="ascii") as file:
            text = file.read(LARGEST).strip()
    except OSError as error:
        raise NoTokenError(f"{variable} names {path}, which cannot be read: {error.strerror}; fix it") from error
    except ValueError as error:
        raise NoTokenError(f"{variable} names {path}, which does not contain a token; write one into it") from error
    if not text:
        raise NoTokenError(f"{variable} names {path}, which is empty; write a token into it")
    return text


def _printed(command: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, str]:
    """Return what the command prints, and where that is nothing, what went wrong."""
    program = programs.locate(command[0], environ)
    if program is None:
        return "", "it is not installed"
    try:
        ended = subprocess.run(
            [program, *command[1:]],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT.total_seconds(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        return "", f"it could not be run: {type(error).__name__}"
    if ended.returncode != 0:
        return "", f"it ended with exit code {ended.returncode}"
    return ended.stdout.strip(), "it prints nothing"
