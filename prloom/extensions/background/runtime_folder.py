"""Make the private folders in which daemons, and prloom itself, have their sockets."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

from prloom.errors import ExtensionError

LONGEST = 103 if sys.platform == "darwin" else 107
"""Bytes that a socket's path may have: sun_path less its terminator, unix(7)."""

SOCKET = "daemon.sock"
_PRIVATE = 0o700
_OTHERS = 0o077
_DIGITS = 12


def make(repo_root: Path, name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the private folder of this name, such as a plugin's key, for this repository; make it if need be.

    It is below the platform's runtime folder, or, where that is missing, not private or has too long a path, below
    the folder for temporary files. Raises ExtensionError where another user has something in its place.
    """
    problem = "no folder is private and has a path that is short enough"
    for folder in _candidates(repo_root, name, environ):
        try:
            _make_private(folder.parent)
            _make_private(folder)
        except OSError as error:
            problem = f"{error.filename or folder}: {error.strerror or error}"
            continue
        return folder
    raise ExtensionError(f"a folder for sockets cannot be made: {problem}; set XDG_RUNTIME_DIR to a private folder")


def expected(repo_root: Path, name: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder that `make` makes unless something is in its place; None where no path is short enough."""
    return next(_candidates(repo_root, name, environ), None)


def socket_path(folder: Path, wanted: str | None) -> Path | None:
    """Return the path of a daemon's socket: the wanted one, relative to the folder; None where it is outside of it."""
    if wanted is None:
        return folder / SOCKET
    path = Path(os.path.normpath(folder / wanted))
    real = Path(os.path.realpath(path.parent))
    if path.parent != folder or real != Path(os.path.realpath(folder)) or len(os.fsencode(path)) > LONGEST:
        return None
    return path


def clear_socket(path: Path) -> None:
    """Remove a socket that an ended daemon left; raises ExtensionError for anything else, which is left as it is."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ExtensionError(f"{path} is where its socket belongs, but is not a socket; move it away")
    path.unlink(missing_ok=True)


def _candidates(repo_root: Path, name: str, environ: Mapping[str, str]) -> Iterator[Path]:
    digest = hashlib.sha256(f"{os.path.realpath(repo_root)}\0{name}".encode()).hexdigest()[:_DIGITS]
    for base in _bases(environ):
        if len(os.fsencode(base / digest / SOCKET)) <= LONGEST:
            yield base / digest


def _bases(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders in which prloom's may be, the best first."""
    runtime = environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_dir():
        first = Path(runtime) / "prloom"
    else:
        import platformdirs  # noqa: PLC0415 - not needed where the variable is set

        with warnings.catch_warnings():  # it warns of a system without such a folder, and names another
            warnings.simplefilter("ignore")
            first = platformdirs.user_runtime_path("prloom", ensure_exists=False)
    user = os.getuid()
    return (first, Path(tempfile.gettempdir()) / f"prloom-{user}", Path("/tmp") / f"prloom-{user}")  # noqa: S108 - made private, or refused


def _make_private(folder: Path) -> None:
    """Make a folder that only this user can enter; raises OSError where it is another's, a link, or open to others."""
    try:
        folder.mkdir(mode=_PRIVATE)
    except FileExistsError:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(1, "it is not a folder of this user", str(folder)) from None
        if found.st_mode & _OTHERS:
            folder.chmod(_PRIVATE)
