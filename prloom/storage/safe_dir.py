"""Read and write the files of a folder without ever following a symbolic link."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from prloom.errors import FileTooLargeError, StorageError, UnsafePathError
from prloom.storage import disk as disks
from prloom.storage import os_errors, paths
from prloom.storage.disk import REAL, Disk

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE_MODE = paths.FILE_MODE
READ_LIMIT = 64 * 1024 * 1024
TEMPORARY = ".tmp"
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe in a file's place must not wait for its other end.
_OPEN_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class SafeDir:
    """An open folder; below the root it was opened from, nothing is followed through a symbolic link.

    Names are single components. Whatever is not a regular file in a file's place (link, pipe, device, folder) is an
    UnsafePathError; what the system refuses is a StorageError. Use it as a context manager, or close it.
    """

    __slots__ = ("disk", "fd", "path")

    def __init__(self, fd: int, path: str, disk: Disk) -> None:
        self.fd = fd
        self.path = path
        self.disk = disk

    @classmethod
    def open(cls, root: str | os.PathLike[str], *parts: str, disk: Disk = REAL) -> Self | None:
        """Open a folder below a root that the operator named (itself perhaps a link); None if either is missing."""
        try:
            top = cls._root(root, disk)
        except FileNotFoundError:
            return None
        with top:
            return top.sub(*parts)

    @classmethod
    def make(cls, root: str | os.PathLike[str], *parts: str, disk: Disk = REAL) -> Self:
        """Open a folder below an existing root, making what is missing of `parts`."""
        try:
            top = cls._root(root, disk)
        except FileNotFoundError as error:
            raise StorageError(f"there is no folder {os.fspath(root)}; create it, or name another one") from error
        with top:
            return top.make_sub(*parts)

    def sub(self, *parts: str) -> Self | None:
        """Open a folder beneath this one, or None if it is missing."""
        return self._descend(parts, make=False)

    def make_sub(self, *parts: str) -> Self:
        """Open a folder beneath this one, making what is missing."""
        found = self._descend(parts, make=True)
        assert found is not None  # noqa: S101 (a step that makes never comes back empty)
        return found

    def close(self) -> None:
        """Close the descriptor; a second call does nothing."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def gone(self) -> bool:
        """Whether the folder was removed since it was opened (its worktree is gone)."""
        return os.fstat(self.fd).st_nlink == 0

    def where(self, *names: str) -> str:
        """Return the path of something in here, for messages only."""
        return "/".join((self.path.rstrip("/"), *names))

    @classmethod
    def _root(cls, root: str | os.PathLike[str], disk: Disk) -> Self:
        path = os.path.realpath(root)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise os_errors.failed("open the folder", path, error) from error
        return cls(paths.make_folder_private(fd, path), path, disk)

    def _descend(self, parts: tuple[str, ...], *, make: bool) -> Self | None:
        cls = type(self)
        if not parts:
            with os_errors.translated("open the folder", self):
                return cls(os.open(".", _OPEN_FOLDER, dir_fd=self.fd), self.path, self.disk)
        here = self
        for part in parts:
            fd = here._step(part, make=make)
            path = here.where(part)
            if here is not self:
                here.close()
            if fd is None:
                return None
            here = cls(paths.make_folder_private(fd, path), path, self.disk)
        return here

    def _step(self, part: str, *, make: bool) -> int | None:
        self._check(part)
        try:
            return os.open(part, _OPEN_FOLDER, dir_fd=self.fd)
        except FileNotFoundError:
            if not make:
                return None
        except OSError as error:
            raise os_errors.refused("open the folder", self, part, error) from error
        with os_errors.translated("make the folder", self, part):
            with suppress(FileExistsError):
                self.disk.mkdir(part, self.fd, paths.FOLDER_MODE)
            self.disk.fsync(self.fd)
            return os.open(part, _OPEN_FOLDER, dir_fd=self.fd)

    # ---- reading

    def names(self) -> tuple[str, ...]:
        """Return the names of all that is in here, sorted."""
        with os_errors.translated("list", self):
            return tuple(sorted(os.listdir(self.fd)))  # noqa: PTH208 (by descriptor, which pathlib cannot)

    def stat(self, name: str) -> os.stat_result | None:
        """Return the `stat` of a regular file, or None if it is missing."""
        self._check(name)
        try:
            found = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise os_errors.failed("look at", self.where(name), error) from error
        if not stat.S_ISREG(found.st_mode):
            raise os_errors.unsafe(self, name)
        return found

    def exists(self, name: str) -> bool:
        """Whether a regular file of that name is in here."""
        return self.stat(name) is not None

    def open_to_read(self, name: str) -> int | None:
        """Open a regular file for reading and return the descriptor, which the caller closes; None if it is missing."""
        try:
            return self._open(name, os.O_RDONLY)[0]
        except FileNotFoundError:
            return None

    def read_bytes(self, name: str, *, limit: int = READ_LIMIT) -> bytes | None:
        """Return a file's whole content, or None if it is missing; more than `limit` bytes are a FileTooLargeError."""
        try:
            fd, found = self._open(name, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            content = os.read(fd, min(found.st_size, limit) + 1)
        except OSError as error:
            raise os_errors.failed("read", self.where(name), error) from error
        finally:
            os.close(fd)
        if len(content) > limit:
            raise FileTooLargeError(self.where(name), limit, max(found.st_size, len(content)))
        return content

    # ---- writing

    def open_to_append(self, name: str) -> int:
        """Open a regular file for reading and appending, making it if it is missing; the caller closes it."""
        flags = os.O_RDWR | os.O_APPEND
        try:
            return self._open(name, flags)[0]
        except FileNotFoundError:
            pass
        with os_errors.translated("make", self, name):
            fd = self.disk.create(name, self.fd, flags | _OPEN_FILE, FILE_MODE)
        try:
            self._require_file(fd, name)
            self.sync()  # or a crash of the machine could take the name away, and with it what was flushed
        except BaseException:
            os.close(fd)
            raise
        return fd

    def replace(
        self, name: str, content: bytes | Iterable[bytes], *, mode: int = FILE_MODE, lasting: bool = True
    ) -> None:
        """Write a file whole: after a crash at any point it is the old one or the new one.

        The content may come in pieces. A file that need not be `lasting` may, for a moment, still be the old one after
        the machine has crashed.
        """
        self.stat(name)
        temporary = self.prepare(name, content, mode=mode)
        try:
            self.rename(temporary, name)
        except BaseException:
            self.drop(temporary)
            raise
        if lasting:
            self.sync()

    def prepare(self, name: str, content: bytes | Iterable[bytes], *, mode: int = FILE_MODE) -> str:
        """Write a flushed temporary file that is to become `name`, and return the temporary name."""
        self._check(name)
        temporary = f".{name}.{os.urandom(6).hex()}{TEMPORARY}"
        self.write_new(temporary, (content,) if isinstance(content, bytes) else content, mode=mode, of=name)
        return temporary

    def write_new(self, name: str, chunks: Iterable[bytes], *, mode: int = FILE_MODE, of: str | None = None) -> None:
        """Write a file that must not exist yet, and flush it; its name is durable after `sync`.

        Errors speak of the file that it is to become, where it is `of` one.
        """
        self._check(name)
        with os_errors.translated("write", self, of or name):
            fd = self.disk.create(name, self.fd, os.O_WRONLY | os.O_EXCL | _OPEN_FILE, mode)
            try:
                for chunk in chunks:
                    disks.write_all(self.disk, fd, chunk)
                self.disk.fsync(fd)
            except BaseException:
                self.drop(name)
                raise
            finally:
                os.close(fd)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, replacing what has that name; durable after `sync`."""
        self._check(old)
        self._check(new)
        with os_errors.translated("replace", self, new):
            self.disk.rename(old, new, self.fd)

    def link(self, old: str, new: str) -> None:
        """Give a file a second name, which must be free; durable after `sync`."""
        self._check(old)
        self._check(new)
        with os_errors.translated("link", self, new):
            self.disk.link(old, new, self.fd)

    def remove(self, name: str) -> None:
        """Remove a file; a missing one is no error."""
        self._check(name)
        with suppress(FileNotFoundError), os_errors.translated("remove", self, name, missing_too=False):
            self.disk.unlink(name, self.fd)

    def drop(self, name: str) -> None:
        """Try to remove a temporary file; one that stays is swept later."""
        with suppress(OSError):
            self.disk.unlink(name, self.fd)

    def sync(self) -> None:
        """Wait until the folder's names are on the disk."""
        with os_errors.translated("flush", self):
            self.disk.fsync(self.fd)

    def _open(self, name: str, flags: int) -> tuple[int, os.stat_result]:
        self._check(name)
        try:
            fd = os.open(name, flags | _OPEN_FILE, dir_fd=self.fd)
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise os_errors.refused("open", self, name, error) from error
        try:
            return fd, self._require_file(fd, name)
        except BaseException:
            os.close(fd)
            raise

    def _check(self, name: str) -> None:
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            raise UnsafePathError(f"{name!r} cannot be a name in {self.path}: it must be a single plain name")

    def _require_file(self, fd: int, name: str) -> os.stat_result:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise os_errors.unsafe(self, name)
        paths.make_file_private(fd, found.st_mode, self.path, name)
        return found
