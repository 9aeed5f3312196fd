"""Keep one JSON object in a file that is always whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from prloom.errors import StorageError
from prloom.storage import asides, locks, wire
from prloom.storage.folder import READ_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prloom.storage.folder import Folder

LABEL = "corrupt"


class Loaded(NamedTuple):
    """What a document held; None if it is missing or could not be read, and then `reason` says why it could not.

    `aside` is the path that an unreadable file was moved to.
    """

    value: dict[str, Any] | None
    reason: str | None = None
    aside: str | None = None


class Document:
    """A JSON object in a file: written whole and safely, under the folder's lock. Errors are StorageErrors."""

    __slots__ = ("folder", "limit", "name")

    def __init__(self, folder: Folder, name: str, *, limit: int = READ_LIMIT) -> None:
        self.folder = folder
        self.name = name
        self.limit = limit

    @property
    def path(self) -> str:
        """The file's path, for messages."""
        return self.folder.where(self.name)

    def peek(self) -> Loaded:
        """Read the document without a lock and without changing anything."""
        found = self.folder.stat(self.name)
        if found is None:
            return Loaded(None)
        if found.st_size > self.limit:
            return Loaded(None, f"it has {found.st_size} bytes, more than {self.limit}")
        content = self.folder.read_bytes(self.name, limit=self.limit)
        if content is None:
            return Loaded(None)
        value = wire.decode(content)
        return Loaded(None, value.reason) if isinstance(value, wire.Unreadable) else Loaded(value)

    def load(self) -> Loaded:
        """Read the document; one that cannot be read is set aside as `<name>.corrupt-<UTC time>`."""
        found = self.peek()
        if found.reason is None:
            return found
        with locks.held(self.folder):
            return self._load()

    def save(self, value: Mapping[str, Any]) -> None:
        """Write the document whole: after a crash at any point it is the old one or the new one."""
        content = self._encode(value)
        with locks.held(self.folder):
            self.folder.replace(self.name, content)

    def update(self, change: Callable[[Loaded], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Load, change and save as one step against all other processes; return what was saved.

        `change` must not use other documents or journals of the same folder: they wait for the same lock.
        """
        with locks.held(self.folder):
            value = change(self._load())
            self.folder.replace(self.name, self._encode(value))
        return value

    def _load(self) -> Loaded:
        found = self.peek()
        if found.reason is None:
            return found
        aside = asides.move(self.folder, self.name, LABEL)
        return found._replace(aside=self.folder.where(aside))

    def _encode(self, value: Mapping[str, Any]) -> bytes:
        content = wire.encode(value, pretty=True)
        if len(content) > self.limit:
            raise StorageError(f"{self.path} would have {len(content)} bytes, more than {self.limit}; keep less in it")
        return content
