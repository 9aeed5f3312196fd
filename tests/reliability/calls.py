"""Stand between a program and the system: every change to a file below one folder is told before it is made.

It stands beneath prloom's own door to the disk, at Python's calls of the system, so that nothing gets past it. Install
it before prloom is imported.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

CALLS = ("open", "write", "fdatasync", "fsync", "rename", "link", "unlink", "mkdir", "truncate", "utime")
"""What changes a file, by the name of the system's call."""

REQUEST = "GitHub request"

PROTOCOLS = {
    "init": r"/prloom\.toml|/\.prloom\.toml\.|/\.git/",
    "control request": r"/control\.json|/\.control\.json",
    "rotation": r"-\d{6}\.|/\.(events|decisions|actions)\.jsonl\.",
    "append a batch": r"/events\.jsonl",
    "decision": r"/(decisions|actions)\.jsonl",
    "projection": r"/\.?dispatcher\.json",
    "plugin state": r"/plugin-state(-global)?(/|$)",
    "receipt": r"/\.?bridge\.\w+\.actions\.json",
    "cursor": r"/\.?bridge\.\w+\.json",
    "run folder": r"/(runs|run-log)(/|$)",
    "plan and status": r"",
}
"""The write protocols, by the names of their files; the first that fits."""


class Call(NamedTuple):
    """A change that is about to be made; a folder's flush belongs to the protocol of what was changed in it last."""

    name: str
    path: str
    protocol: str


@cache
def protocol(path: str) -> str:
    """Return the write protocol that a file belongs to."""
    return next(name for name, pattern in PROTOCOLS.items() if re.search(pattern, path))


class Layer:
    """What is told of every change below a folder. This one counts."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root) + "/"
        self.made: list[Call] = []
        self._last: dict[str, str] = {}

    def about_to(self, name: str, path: str) -> Call | None:
        """Note a change; None where it is none of ours."""
        if not path.startswith(self.root) or path == f"{self.root}remote":
            return None
        inside = path[len(self.root) - 1 :]
        folder, _, _ = inside.rpartition("/")
        kind = self._last.get(inside) if name == "fsync" else None
        kind = kind or protocol(inside)
        self._last[folder] = kind
        return self.meet(Call(name, path, kind))

    def meet(self, call: Call) -> Call:
        """Note a call that is about to be made."""
        self.made.append(call)
        return call

    def write(self, fd: int, block: Any, path: str, go: Callable[..., int]) -> int:
        """Write once."""
        self.about_to("write", path)
        return go(fd, block)

    def change(self, name: str, paths: tuple[str, ...], go: Callable[[], Any]) -> Any:
        """Make a change; it is about the last of the paths, unless a temporary file says more."""
        self.about_to(name, paths[0] if "/." in paths[0][-40:] and paths[0].endswith(".tmp") else paths[-1])
        return go()


_layer: Layer | None = None


def put(layer: Layer | None) -> None:
    """Let a layer be told from now on, or none."""
    global _layer  # noqa: PLW0603 - the calls that stand in for the system's have no other way to know
    _layer = layer


def layer() -> Layer | None:
    """Return the layer that is told now."""
    return _layer


def tell(call: Call) -> None:
    """Tell of something that is about to be done, and that is no change of a file."""
    if _layer is not None:
        _layer.meet(call)


def request(name: str, url: str) -> None:
    """Tell of a request that is about to be sent, or of an answer that is about to be read."""
    tell(Call(name, url, REQUEST))


def _of(fd: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - as often as a file is written: no Path is made for it
    except OSError:
        import fcntl  # noqa: PLC0415 - macOS tells in another way

        return fcntl.fcntl(fd, 50, b"\0" * 1024).rstrip(b"\0").decode()  # F_GETPATH


def _path(name: Any, folder: int | None) -> str:
    if isinstance(name, int):
        return _of(name)
    text = os.fspath(name)
    text = text.decode() if isinstance(text, bytes) else text
    if text.startswith("/"):
        return text
    return f"{Path.cwd() if folder is None else _of(folder)}/{text}"


def install() -> None:
    """Stand before the system's calls, for good."""
    _stand_before_open()
    _stand_before_write()
    _stand_before_files()
    for name, places in (
        ("fsync", 1),
        ("fdatasync", 1),
        ("unlink", 1),
        ("remove", 1),
        ("mkdir", 1),
        ("ftruncate", 1),
        ("utime", 1),
        ("rename", 2),
        ("replace", 2),
        ("link", 2),
    ):
        if hasattr(os, name):
            _stand_before(name, places)


def _stand_before(name: str, places: int) -> None:
    real = getattr(os, name)
    told = {"remove": "unlink", "replace": "rename", "ftruncate": "truncate"}.get(name, name)

    def call(*args: Any, **more: Any) -> Any:
        layer = _layer
        if layer is None:
            return real(*args, **more)
        folders = (more.get("src_dir_fd"), more.get("dst_dir_fd")) if places > 1 else (more.get("dir_fd"),)
        paths = tuple(_path(each, folder) for each, folder in zip(args[:places], folders, strict=True))
        return layer.change(told, paths, lambda: real(*args, **more))

    setattr(os, name, call)


def _stand_before_open() -> None:
    real = os.open

    def call(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        layer = _layer
        if layer is None or not flags & os.O_CREAT:
            return real(path, flags, mode, dir_fd=dir_fd)
        return int(layer.change("open", (_path(path, dir_fd),), lambda: real(path, flags, mode, dir_fd=dir_fd)))

    os.open = call


def _stand_before_write() -> None:
    real = os.write

    def call(fd: int, block: Any, /) -> int:
        layer = _layer
        return real(fd, block) if layer is None else layer.write(fd, block, _of(fd), real)

    os.write = call


class Raw(io.RawIOBase):
    """What stands below a file that is written through a buffer: its writes are calls like all others."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def write(self, block: Any, /) -> int:
        return os.write(self._fd, block)

    def close(self) -> None:
        if not self.closed:
            super().close()
            os.close(self._fd)


def _stand_before_files() -> None:
    real = os.fdopen

    def call(fd: int, mode: str = "r", *args: Any, **more: Any) -> Any:
        return io.BufferedWriter(Raw(fd)) if mode == "wb" else real(fd, mode, *args, **more)

    os.fdopen = call
