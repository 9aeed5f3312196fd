"""The errors that prloom tells people about: one root, a class of its own only where a caller reacts differently."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for `logging` takes longer to import than what a state command needs
    from logging import Logger


class PrloomError(Exception):
    """Something a person can act on; the text says what, where and what now.

    The command line turns it into one line on stderr and exit code 1.
    """


class FolderRemovedError(PrloomError):
    """The folder in which the dispatcher keeps its own files was removed while it ran."""


class ConfigError(PrloomError):
    """The configuration cannot be used as it is."""


class StorageError(PrloomError):
    """A file of prloom's own could not be read or written; what was there before is still there."""


class FileTooLargeError(StorageError):
    """A file has more bytes than may be read: at least `size`."""

    def __init__(self, path: str, limit: int, size: int) -> None:
        super().__init__(f"{path} has more than {limit} bytes; move it away and try again")
        self.size = size


class UnsafePathError(StorageError):
    """A path under a worktree leads through a symbolic link or out of its folder."""


class AlreadyRunningError(PrloomError):
    """Another dispatcher holds this repository."""


class WorkspaceError(PrloomError):
    """Git refused, or the worktree is not in a state to go on."""


class AgentError(PrloomError):
    """An agent program could not be started, or its run cannot be read."""


class AgentMissingError(AgentError):
    """An agent program is not there: all of its runs wait until it is."""


class ExtensionError(PrloomError):
    """A plugin or a bridge is at fault; the text names it and the call."""


# What the machine refuses is not a bug; what to do about it.
_REMEDIES = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room in your quota",
    errno.EROFS: "make the disk writable",
    errno.EACCES: "correct the permissions",
    errno.EPERM: "correct the permissions",
    errno.EMFILE: "allow more open files with `ulimit -n`",
    errno.ENFILE: "close programs that have many files open",
    errno.ENOMEM: "close other programs, or give prloom more memory",
    errno.EAGAIN: "close other programs, or raise the limits that `ulimit -a` shows",
    errno.EIO: "check the disk",
    errno.ESTALE: "check the network file system",
    errno.ENODEV: "check the disk",
    errno.ENXIO: "check the disk",
    errno.ENOENT: "check whether something has removed it",
    errno.ENOTDIR: "check whether something has replaced it",
}
_NO_THREAD = "can't start new thread"
_NOT_LOADED = "failed to map segment"  # of a library, by the dynamic linker
_NAMED = {errno.ENOENT, errno.ENOTDIR}
"""Errors that are the machine's only where they name a file."""


def explain(error: BaseException) -> str | None:
    """Return one line about a failure that was foreseen or that the machine is the cause of; None for a bug."""
    match error:
        case BaseExceptionGroup():
            lines = dict.fromkeys(explain(each) for each in leaves(error))
            if None in lines:
                return None
            return "; ".join(filter(None, lines))
        case PrloomError():
            return str(error)
        case MemoryError():
            return f"there is not enough memory; {_REMEDIES[errno.ENOMEM]}"
        case ImportError() if _NOT_LOADED in str(error):
            return f"there is not enough memory; {_REMEDIES[errno.ENOMEM]}"
        case RuntimeError() if str(error) == _NO_THREAD:
            return f"no new thread can be started; {_REMEDIES[errno.EAGAIN]}"
        case OSError(errno=number, filename=name) if number in _REMEDIES and (name or number not in _NAMED):
            where = ""
            if name:
                where = f" ({name})"
            return f"{error.strerror}{where}; {_REMEDIES[number]}"
        case _:
            return None


def describe(error: BaseException) -> str:
    """Return one line about any failure: what `explain` says, or the kind and the text of what was raised first."""
    explained = explain(error)
    if explained is not None:
        return explained
    cause = next(leaves(error), error)
    if str(cause):
        return f"{type(cause).__name__}: {cause}"
    return type(cause).__name__


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield what a group of errors holds, or the error itself."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def log_failure(log: Logger, error: Exception, then: str) -> str:
    """Log a failure that nothing else has dealt with, a bug with its traceback, and what happens `then`.

    Return the line that people are shown. What the machine is the cause of is not a bug.
    """
    explained = explain(error)
    if explained is not None:
        log.warning("%s; %s", explained, then)
        return explained
    log.error("a bug in prloom; %s", then, exc_info=error)
    return f"a bug in prloom: {describe(error)}"
