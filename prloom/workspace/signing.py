"""Decide whether prloom's commits are signed, as the operator's own are: by `commit.gpgSign`, with gpg or ssh."""

from __future__ import annotations

from typing import Literal

from prloom.core.text.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import git
from prloom.workspace.repository import Repository

SignMode = Literal["auto", "always", "never"]

_KEY = "commit.gpgsign"
_TRUE = frozenset({"", "true", "yes", "on", "1"})
_LONGEST = 600
_OF_GIT = "fatal: failed to write"


class SignatureError(WorkspaceError):
    """A commit could not be signed; the text has the words of gpg or ssh."""


def wanted(repo: Repository, mode: SignMode) -> bool:
    """Whether commits are to be signed: `auto` follows the operator's configuration of git."""
    if mode != "auto":
        return mode == "always"
    values = [value for key, value in git.configuration(repo.root) if key == _KEY]
    return bool(values) and values[-1].lower() in _TRUE


def failed(err: str) -> SignatureError:
    """Return the error of a commit that git could not sign, with what the program that signs has said."""
    lines = [line.strip().removeprefix("error: ") for line in err.splitlines()]
    said = printable("; ".join(line for line in lines if line and not line.startswith(_OF_GIT)), _LONGEST)
    return SignatureError(f"the commit cannot be signed: {said or 'git gave no reason'}")
