"""The folder of one agent run: its files, their forms, and what has become of the run.

The agent works as the same user in the same worktree, so every file may have been replaced: nothing is opened through a
symbolic link, nothing but an ordinary file is read, and never more than a limit.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from prloom.agents.agent import EndedBy, LimitReport, RunResult, RunValue
from prloom.core.text import bounds
from prloom.errors import AgentError
from prloom.model import record, run
from prloom.processes import Process

PROMPT: Final = "prompt.md"
INVOCATION: Final = run.INVOCATION
MESSAGE: Final = "message.json"
OUTPUT: Final = "output.jsonl"
STDERR: Final = "stderr.log"
ANSWER: Final = "answer.json"
RESULT: Final = "result.json"
EXIT: Final = "exit.json"
SUPERVISOR: Final = "supervisor.json"
ELSEWHERE: Final = "elsewhere"
"""Names the other machine on which the program of a run was started."""
LOCK: Final = run.LOCK
TOOL_WAIT: Final = "tool.lock"
"""Is locked as long as the run waits for a tool of prloom's; its time is when it last did."""
TEMPORARY: Final = ".tmp"

LARGE: Final = 1 << 26
"""Bytes read at most of a run's message, which holds its prompt, and of its result."""

SMALL: Final = 1 << 20
"""Bytes read at most of a file that prloom or the agent writes whole (an answer, a result)."""

_LONGEST: Final = 1 << 17
"""Characters of the final message that are written into the result; the output has all of it."""

_T = TypeVar("_T")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO put in a file's place must not hold us
_LOCKED = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ProcessWatch(RunValue, frozen=True):
    """`supervisor.json`: which processes run and watch, and since when."""

    run: str
    supervisor: Process
    agent: Process
    started_at: datetime | None = None


class ProcessExit(RunValue, frozen=True):
    """`exit.json`: how the run ended. `code` is negative for a signal, 127 where nothing could be started.

    `refusal` is the limit of the model's server that the run had met and not got over.
    """

    code: int
    ended_by: EndedBy
    started_at: datetime
    ended_at: datetime
    duration_ms: int
    truncated: bool = False
    stderr_truncated: bool = False
    left_over: int = 0
    error: str | None = None
    refusal: LimitReport | None = None


def create(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make the folder of a run, and these files in it, one after the other.

    Raises AgentError where the folder is there already, and where it or a file cannot be made.
    """
    try:
        folder.mkdir(mode=0o700)
        with _opened(folder.parent) as fd:
            os.fsync(fd)  # that it is missing must mean that something removed it, also after a power failure
    except OSError as error:
        raise AgentError(
            f"the run's folder {folder} cannot be made ({error.strerror}); is the worktree writable?"
        ) from error
    try:
        for name, content in files.items():
            write_new(folder, name, content)
    except OSError as error:
        raise AgentError(
            f"run {folder.name} could not be started in {folder}: {error.strerror}; check the disk and the permissions"
        ) from error


def problem(folder: Path) -> str | None:
    """Return why the folder of a run cannot be read, as the end of a sentence about it, or None."""
    try:
        with _opened(folder) as fd:
            os.fstat(fd)
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            return "was replaced by something that is not a folder"
        return f"cannot be opened ({error.strerror})"
    return None


def loss(folder: Path) -> str | None:
    """Return what is wrong with the folder of a run that was prepared, as the end of a sentence about it, or None."""
    found = problem(folder)
    if found is None and read(folder, MESSAGE, 0) is None:
        return "was emptied"
    return found


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, _FOLDER)
    try:
        yield fd
    finally:
        os.close(fd)


def open_new(folder: Path, name: str) -> int:
    """Return a descriptor of a new file, mode 0600; raise FileExistsError when the name is taken, by whatever."""
    with _opened(folder) as fd:
        return os.open(name, _CREATE, 0o600, dir_fd=fd)


def open_shared(folder: Path, name: str, *, create: bool = True) -> int:
    """Return a descriptor of a file that several processes lock, made if need be; raises OSError."""
    with _opened(folder) as fd:
        return os.open(name, _LOCKED | (os.O_CREAT if create else 0), 0o600, dir_fd=fd)


def write_new(folder: Path, name: str, content: bytes) -> None:
    """Write a new file; raise FileExistsError when the name is taken."""
    with os.fdopen(open_new(folder, name), "wb") as file:
        file.write(content)


def replace(folder: Path, name: str, content: bytes) -> None:
    """Write the file whole: a reader sees the old content or the new, and after a crash as well."""
    temporary = f".{name}.{secrets.token_hex(4)}{TEMPORARY}"
    with _opened(folder) as fd:
        try:
            with os.fdopen(os.open(temporary, _CREATE, 0o600, dir_fd=fd), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=fd)
            raise
        os.fsync(fd)


def read(folder: Path, name: str, limit: int = SMALL) -> bytes | None:
    """Return the file's first bytes, at most `limit`; None when there is no such ordinary file."""
    return _read(folder, name, limit, from_end=False)


def read_end(folder: Path, name: str, limit: int) -> bytes | None:
    """Return the file's last bytes, at most `limit`; None when there is no such ordinary file."""
    return _read(folder, name, limit, from_end=True)


def _read(folder: Path, name: str, limit: int, *, from_end: bool) -> bytes | None:
    try:
        with _opened(folder) as fd:
            opened = os.open(name, _READ, dir_fd=fd)
    except OSError:
        return None
    try:
        return _content(opened, limit, from_end=from_end)
    except OSError:  # the disk cannot read it
        return None
    finally:
        os.close(opened)


def _content(opened: int, limit: int, *, from_end: bool) -> bytes | None:
    about = os.fstat(opened)
    if not stat.S_ISREG(about.st_mode):
        return None
    with open(opened, "rb", closefd=False) as file:
        file.seek(max(0, about.st_size - limit) if from_end else 0)
        return file.read(limit)


def read_from(folder: Path, name: str, offset: int, limit: int) -> bytes:
    """Return bytes of the file from an offset on, at most `limit`; none where there is no such ordinary file."""
    try:
        with _opened(folder) as fd:
            opened = os.open(name, _READ, dir_fd=fd)
    except OSError:
        return b""
    try:
        is_file = stat.S_ISREG(os.fstat(opened).st_mode)
        return os.pread(opened, limit if is_file else 0, offset)
    except OSError:  # the disk cannot read it
        return b""
    finally:
        os.close(opened)


def read_answer(folder: Path) -> str | None:
    """Return what the agent wrote as its answer, or None when there is none; longer than a mebibyte is none either."""
    content = read(folder, ANSWER, SMALL + 1)
    if not content or len(content) > SMALL:
        return None
    return content.decode("utf-8", "replace")


def write_result(folder: Path, result: RunResult) -> None:
    """Write `result.json`; what was not measured (usage, cost) is null in it.

    Of a very long message it has the beginning: the list of runs reads all of these files.
    """
    replace(folder, RESULT, encode(msgspec.structs.replace(result, message=bounds.cut(result.message, _LONGEST))))


def read_result(folder: Path) -> RunResult | None:
    """Return the run's recorded result, also where an earlier prloom wrote a long one; None where there is none."""
    return load(folder, RESULT, RunResult, LARGE)


def encode(value: RunValue) -> bytes:
    """Return the JSON of a run's file, readable for people."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def load(folder: Path, name: str, kind: type[_T], limit: int = SMALL) -> _T | None:
    """Return the file's content as a value; None when it is missing, too long or not of that form."""
    content = read(folder, name, limit)
    if content is None:
        return None
    try:
        return record.decode(kind, content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
