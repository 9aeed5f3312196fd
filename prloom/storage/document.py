"""Keep one JSON object in a file that is always whole."""

from __future__ import annotations

from binascii import crc32
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from prloom.errors import FileTooLargeError, StorageError
from prloom.storage import json_codec
from prloom.storage.envelope import SCHEMA_VERSION
from prloom.storage.safe_dir import READ_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from prloom.storage.safe_dir import SafeDir

LABEL = "corrupt"

CHECK = "$check"
"""The last key of a document that prloom wrote: the CRC-32 of all that is before it, as eight digits.

It shows damage that leaves valid JSON. It does not say which program wrote the document; another program that writes
one may leave it out.
"""
_CHECKED = b'\n  "$check": "%08x"\n}\n'
_SIZE = len(_CHECKED % 0)


class LoadedDocument(Struct, frozen=True):
    """What a document held; None if it is missing or could not be read, and then `reason` says why it could not.

    `quarantined` is the path that an unreadable file was moved to.
    """

    value: dict[str, Any] | None
    reason: str | None = None
    quarantined: str | None = None


class Document:
    """A JSON object in a file: written whole and safely, under the folder's lock. Errors are StorageErrors.

    One that need not be `lasting` may, for a moment, still be the old one after a crash of the machine: a flush less.
    """

    __slots__ = ("folder", "lasting", "limit", "name")

    def __init__(self, folder: SafeDir, name: str, *, limit: int = READ_LIMIT, lasting: bool = True) -> None:
        self.folder = folder
        self.name = name
        self.limit = limit
        self.lasting = lasting

    @property
    def path(self) -> str:
        """The file's path, for messages."""
        return self.folder.where(self.name)

    def peek(self) -> LoadedDocument:
        """Read the document without a lock and without changing anything."""
        try:
            content = self.folder.read_bytes(self.name, limit=self.limit)
        except FileTooLargeError as error:
            return LoadedDocument(None, f"it has {error.size} bytes, more than {self.limit}")
        if content is None:
            return LoadedDocument(None)
        return self._read(content)

    def load(self) -> LoadedDocument:
        """Read the document; one that cannot be read is set aside as `<name>.corrupt-<UTC time>`."""
        found = self.peek()
        if found.reason is None:
            return found
        with self._locked():
            return self._load()

    def save(self, value: Mapping[str, Any]) -> None:
        """Write the document whole: after a crash at any point it is the old one or the new one."""
        content = self._encode(value)
        with self._locked():
            self.folder.replace(self.name, content, lasting=self.lasting)

    def update(self, change: Callable[[LoadedDocument], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Load, change and save as one step against all other processes; return what was saved.

        `change` must not use other documents or journals of the same folder: they wait for the same lock.
        """
        with self._locked():
            value = change(self._load())
            self.folder.replace(self.name, self._encode(value), lasting=self.lasting)
        return value

    def _locked(self) -> AbstractContextManager[None]:
        from prloom.storage import locks  # noqa: PLC0415 - a command that only reads needs none

        return locks.locked(self.folder)

    def _read(self, content: bytes) -> LoadedDocument:
        value = json_codec.decode(content)
        if isinstance(value, json_codec.Unreadable):
            return LoadedDocument(None, value.reason)
        value.pop(CHECK, None)
        version = value.get("schemaVersion")
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise StorageError(
                f"{self.path} has the schemaVersion {version}, and this prloom knows {SCHEMA_VERSION}; "
                "the file was not changed; update prloom"
            )
        if _is_whole(content):
            return LoadedDocument(value)
        return LoadedDocument(None, f"its content does not match its {CHECK}")

    def _load(self) -> LoadedDocument:
        found = self.peek()
        if found.reason is None:
            return found
        from prloom.storage import repair  # noqa: PLC0415 - only damage needs it

        quarantined = repair.quarantine(self.folder, self.name, LABEL)
        return replace(found, quarantined=self.folder.where(quarantined))

    def _encode(self, value: Mapping[str, Any]) -> bytes:
        text = b"{"
        if value:
            text = json_codec.encode(value, pretty=True)[: -len(b"\n}\n")]
        content = text + (b"," if value else b"") + _CHECKED % crc32(text)
        if len(content) > self.limit:
            raise StorageError(f"{self.path} would have {len(content)} bytes, more than {self.limit}; store less in it")
        return content


def _is_whole(content: bytes) -> bool:
    """Whether a document is what was written, by the checksum at its end."""
    if content[-_SIZE - 1 :].lstrip(b",{")[:14] != _CHECKED[:14]:
        return True
    text = content[:-_SIZE].removesuffix(b",")
    return content[-_SIZE:] == _CHECKED % crc32(text)
