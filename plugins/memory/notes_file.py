"""Rewrite the section of notes in one file of the repository: whole or not at all, and through no symbolic link.

The section is made anew each time; the rest of the file stays as it is.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from prloom.api import UnsafePathError

from .notes import Note

_FORBIDDEN = (("prloom", ".local"), ("prloom", "plugins"), ("prloom.toml",))
_LARGEST = 4 * 1024 * 1024  # bytes; a file that agents read is far smaller
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_one_at_a_time = threading.Lock()  # hooks of several plans run side by side in the plugin's one process

_BEGIN = "<!-- prloom:memory begin"
_END = "<!-- prloom:memory end -->"
_HEAD = (
    f"{_BEGIN}: notes from pull requests; edits here are overwritten; `/memory forget N` removes a note -->\n"
    "## Notes from reviews\n"
)


class BrokenSection(ValueError):  # noqa: N818 - its text is a sentence about the file
    """The first or last line of the section is missing."""


def path_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a path in the repository; raises ValueError for one where notes are not allowed."""
    path = Path(name)
    folded = tuple(part.casefold() for part in path.parts)
    if not name.isprintable() or not path.parts or path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name!r} is not a path in the repository; write one such as 'AGENTS.md'")
    if ".git" in folded or any(folded[: len(prefix)] == prefix for prefix in _FORBIDDEN):
        raise ValueError(f"{name!r} is not a file for notes; name a file that agents read, such as 'AGENTS.md'")
    return path.parts


def rewrite(root: Path, name: str, change: Callable[[str], str]) -> None:
    """Replace the file's text by what `change` makes of it ("" where there is no file yet).

    Raises UnsafePathError where the path leads through a symbolic link or to something that is no text file.
    """
    *folders, last = path_parts(name)
    with _one_at_a_time, _open_folder(root, folders, name) as folder:
        before, mode = _read(folder, last, name)
        after = change(before)
        if after != before:
            _write(folder, last, after.encode(), mode)


@contextmanager
def _open_folder(root: Path, folders: Sequence[str], name: str) -> Iterator[int]:
    """Yield the descriptor of the folder in which the file is; folders that are missing are made."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
            inner = _open(part, _FOLDER, folder, name)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _open(part: str, flags: int, folder: int, name: str) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise UnsafePathError(f"{name}: {part} is a symbolic link or not a folder; name the real path") from error
        raise


def _read(folder: int, last: str, name: str) -> tuple[str, int]:
    """Return the file's text and its mode."""
    try:
        # Not blocking: a pipe without a writer would block for ever.
        descriptor = _open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, folder, name)
    except FileNotFoundError:
        return "", 0o644
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise UnsafePathError(f"{name} is not a file, or is too large for a file that agents read")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read().decode("utf-8"), stat.S_IMODE(found.st_mode)
    except UnicodeDecodeError as error:
        raise UnsafePathError(f"{name} is not UTF-8, and writing to it would damage it; save it as UTF-8") from error
    finally:
        os.close(descriptor)


def _write(folder: int, last: str, content: bytes, mode: int) -> None:
    """Write beside the file, and let that take its place once it is on disk."""
    beside = f".{last}.prloom"
    with suppress(FileNotFoundError):  # left by a crash
        os.unlink(beside, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(beside, flags, mode, dir_fd=folder), "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, last, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def with_section(text: str, notes: Sequence[Note]) -> str:
    """Return the text with the section of these notes: in its place, or at the end; without notes, without one."""
    newline = "\n"
    if "\r\n" in text:
        newline = "\r\n"
    lines = text.splitlines(keepends=True)
    begins = [number for number, line in enumerate(lines) if line.startswith(_BEGIN)]
    ends = [number for number, line in enumerate(lines) if line.strip() == _END]
    if len(begins) > 1 or len(ends) != len(begins) or (begins and ends[0] < begins[0]):
        raise BrokenSection(f"the section of notes has lost its first or its last line; end it with {_END!r}")
    section = _section(notes).replace("\n", newline)
    if begins:
        before, after = "".join(lines[: begins[0]]), "".join(lines[ends[0] + 1 :])
        return before + section + after
    if not section:
        return text
    if not text:
        gap = ""
    elif text.endswith("\n"):
        gap = newline
    else:
        gap = 2 * newline
    return text + gap + section


def _section(notes: Sequence[Note]) -> str:
    if not notes:
        return ""
    items = "".join(f"- {note.text} (note {note.number}, {note.by}, {note.plan})\n" for note in notes)
    return f"{_HEAD}\n{items}\n{_END}\n"
