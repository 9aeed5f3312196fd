"""Tell whether the configuration is valid, without the import of pydantic that a full check costs, where possible."""

from __future__ import annotations

import os
from binascii import crc32
from contextlib import suppress
from typing import TYPE_CHECKING

from prloom import __version__
from prloom.cli import context
from prloom.config import layers
from prloom.errors import ConfigError, StorageError
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.safe_dir import SafeDir

if TYPE_CHECKING:
    from prloom.cli.context import Options
    from prloom.config.layers import Layer

_ANY_TEXT = ("base_branch",)
"""Keys for which every text is valid."""


class ConfigCheck:
    """The configuration of one command line, checked again only when it has changed."""

    def __init__(self, given: Options) -> None:
        self._given = given
        self._checked: int | None = None
        self._error: str | None = None

    def error(self) -> str | None:
        """Return what is wrong with the configuration, one line for each problem; None if it is valid."""
        root = context.repo_root(self._given)
        try:
            said = layers.read(root, os.environ, self._given.overrides)
        except ConfigError as error:
            return str(error)
        found = _fingerprint(said)
        if found != self._checked:
            self._error = None
            if not _is_plain(said) and _remembered(self._given) != found:
                self._error = _full_check(self._given)
                if self._error is None:
                    remember_valid(self._given)
            self._checked = found
        return self._error


def remember_valid(given: Options) -> None:
    """Note that the present configuration was checked and is valid, so that `prloom status` need not check it again.

    Nothing is noted where prloom has no folder yet.
    """
    root = context.repo_root(given)
    said = layers.read(root, os.environ, given.overrides)
    with suppress(StorageError, OSError):
        local = SafeDir.open(root, *paths.LOCAL)
        if local is None:
            return
        document = Document(local, paths.CONFIG_CHECK, lasting=False)
        value = {"valid": _fingerprint(said)}
        with local:
            if document.peek().value != value:
                document.save(value)


def _full_check(given: Options) -> str | None:
    try:
        context.config(given)
    except ConfigError as error:
        return str(error)
    return None


def _remembered(given: Options) -> object:
    try:
        local = SafeDir.open(context.repo_root(given), *paths.LOCAL)
        if local is None:
            return None
        with local:
            return (Document(local, paths.CONFIG_CHECK).peek().value or {}).get("valid")
    except StorageError:
        return None


def _is_plain(said: tuple[Layer, ...]) -> bool:
    """Return whether the configuration is valid at first sight."""
    merged = layers.merge(said)
    return all(key in _ANY_TEXT and isinstance(value, str) and value for key, value in merged.items())


def _fingerprint(said: tuple[Layer, ...]) -> int:
    return crc32(repr((__version__, said)).encode("utf-8", "surrogatepass"))
