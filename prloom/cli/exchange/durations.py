"""Durations on the command line, spelled as in prloom.toml."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prloom.config import durations
from prloom.config.problems import InvalidValue

if TYPE_CHECKING:
    from datetime import timedelta


def duration(value: object) -> timedelta:
    """Return the duration that a word spells, as the `type` of an option."""
    try:
        return durations.parse(value)
    except InvalidValue as error:
        raise click.BadParameter(f"it {error}") from None
