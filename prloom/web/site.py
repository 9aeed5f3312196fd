"""Hold what the pages are about: a repository, its configuration, and the time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from prloom.config.models import Config
from prloom.engine.views.snapshot import SnapshotCache
from prloom.errors import PrloomError
from prloom.storage.paths import RepositoryPaths

T = TypeVar("T", bound=str)


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Site:
    """A repository as the pages show it. `read_config` reads the configuration anew; it raises ConfigError."""

    where: RepositoryPaths
    read_config: Callable[[], Config]
    environ: Mapping[str, str]
    clock: Callable[[], datetime] = utc_now
    cache: SnapshotCache = field(default_factory=SnapshotCache)


class Page(NamedTuple):
    """A page: its template, the value behind it, which is also its JSON, and what only people need beside that."""

    template: str
    title: str
    value: object
    more: Mapping[str, Any] = {}
    parts: tuple[str, ...] = ()
    """Whose changes a page shows: the ids of plans and runs; all, where none is named."""
    is_masked: bool = False
    """Whether its texts may have secrets, which nobody is shown."""


class QueryError(PrloomError):
    """A part of the query of an address cannot be used; the page is refused, and not only missing."""


class Query(NamedTuple):
    """What the address of a page asks for."""

    path: Mapping[str, str]
    given: Mapping[str, str]

    def text(self, name: str) -> str | None:
        """Return a part of the query that is not empty, or None."""
        return self.given.get(name) or None

    def number(self, name: str, otherwise: int, most: int) -> int:
        """Return a number of at least 1 and at most `most`. Raises QueryError."""
        text = self.text(name)
        if text is None:
            return otherwise
        if not text.isascii() or not text.isdecimal() or not text.strip("0"):
            raise QueryError(f"{name}={text} is not a number; write one from 1 to {most}")
        return min(int(text[:9]), most)

    def choice(self, name: str, choices: Collection[T]) -> T | None:
        """Return a part of the query that is one of these, or None where it is empty. Raises QueryError."""
        text = self.text(name)
        if text is None:
            return None
        for each in choices:
            if each == text:
                return each
        raise QueryError(f"{name}={text} is none of its values; use one of {', '.join(choices)}")
