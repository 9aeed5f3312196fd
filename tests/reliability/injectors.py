"""The three ways in which a story is broken: a crash at a call, a call that fails, and a power cut.

A disk forgets, when the power is cut, what was not flushed: contents whole or in part, and names one by one. A file's
content is certain once the file was flushed, a name once its folder was. Of all else any part may be there: each chain
of changes to the same names up to any point, each content as it was, as it is, torn, or as zeros.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import calls
from calls import Call, Layer

FAULTS = ("kill", "torn", "EIO", "ENOSPC", "short")
"""How a call may end: killed before it, or in the middle of a write; it fails; or half is written and no more."""


def faults_of(call: str) -> tuple[str, ...]:
    """Return the faults that a call can have."""
    if call in {"send", "receive"}:
        return ("kill", "EIO")
    return FAULTS if call == "write" else ("kill", "EIO", "ENOSPC")


def injector(root: str, at: int, fault: str) -> Layer:
    """Return the injector of a fault at the n-th call (from 1)."""
    if fault.startswith("cut"):
        return PowerCut(root, at, int(fault.removeprefix("cut ")))
    return (Crash if fault in {"kill", "torn"} else FailingCall)(root, at, fault)


class Crash(Layer):
    """Kills the process before its n-th call (from 1), or in the middle of it where it writes."""

    def __init__(self, root: str, at: int, fault: str) -> None:
        super().__init__(root)
        self._at = at
        self._torn = fault == "torn"

    def meet(self, call: Call) -> Call:
        super().meet(call)
        if len(self.made) == self._at:
            os.kill(os.getpid(), signal.SIGKILL)
        return call

    def write(self, fd: int, block: Any, path: str, go: Callable[..., int]) -> int:
        if self._torn and len(self.made) + 1 == self._at and path.startswith(self.root):
            go(fd, block[: len(block) // 2])
        return super().write(fd, block, path, go)


class FailingCall(Layer):
    """Lets the n-th call (from 1) fail, or a write be short and the next one fail; all others work."""

    def __init__(self, root: str, at: int, fault: str) -> None:
        super().__init__(root)
        self._at = at
        self._fault = fault
        self._full: int | None = None

    def meet(self, call: Call) -> Call:
        super().meet(call)
        if len(self.made) == self._at and self._fault != "short":
            raise _error(getattr(errno, self._fault))
        return call

    def write(self, fd: int, block: Any, path: str, go: Callable[..., int]) -> int:
        if self._full == fd:
            self._full = None
            raise _error(errno.ENOSPC)
        short = self._fault == "short" and len(self.made) + 1 == self._at and path.startswith(self.root)
        self.about_to("write", path)
        if not short:
            return go(fd, block)
        self._full = fd
        return go(fd, block[: len(block) // 2])


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


SEEDS = 4
"""Ways in which the power is cut: nothing unflushed is left; all names but no content is; and two by chance."""


class Op(NamedTuple):
    """A change of names that is not flushed yet; `kept` is what lost its name by it."""

    name: str
    paths: tuple[str, ...]
    kept: str | None


class PowerCut(Layer):
    """Cuts the power before the n-th call (from 1); what was not flushed is lost."""

    def __init__(self, root: str, at: int, seed: int) -> None:
        super().__init__(root)
        self.at = at
        self._seed = seed
        self._chance = random.Random(f"{at} {seed}")
        self._side = Path(side(root))
        self._side.mkdir()
        self._names: dict[str, list[Op]] = {}
        self._flushed: dict[int, bytes] = {}
        """What is certain of the contents that are not flushed, by inode."""

    def meet(self, call: Call) -> Call:
        super().meet(call)
        if len(self.made) == self.at:
            calls.put(None)
            self._cut()
            os.kill(os.getpid(), signal.SIGKILL)
        return call

    def write(self, fd: int, block: Any, path: str, go: Callable[..., int]) -> int:
        if self.about_to("write", path) is not None:
            self._dirty(path)
        return go(fd, block)

    def change(self, name: str, paths: tuple[str, ...], go: Callable[[], Any]) -> Any:
        if self.about_to(name, paths[-1]) is None:
            return go()
        there = os.path.lexists(paths[-1])
        kept = self._keep(paths[-1]) if name in {"rename", "unlink"} and there else None
        if name == "truncate":
            self._dirty(paths[-1])
        result = go()
        self._note(Op(name, paths, kept), there=there)
        return result

    def _note(self, op: Op, *, there: bool) -> None:
        path = op.paths[-1]
        folder, _, _ = path.rpartition("/")
        if op.name in {"fsync", "fdatasync"}:
            self._names.pop(path, None)
            if not Path(path).is_dir():
                self._flushed.pop(Path(path).stat().st_ino, None)
        elif op.name in {"rename", "unlink", "link", "mkdir"} or (op.name == "open" and not there):
            self._names.setdefault(folder, []).append(op)
            if op.name == "open":
                self._flushed[Path(path).stat().st_ino] = b""

    def _dirty(self, path: str) -> None:
        self._flushed.setdefault(Path(path).stat().st_ino, Path(path).read_bytes())

    def _keep(self, path: str) -> str:
        kept = str(self._side / str(len(self.made)))
        calls.put(None)
        os.link(path, kept)
        calls.put(self)
        return kept

    # ---- the cut

    def _cut(self) -> None:
        for ops in self._names.values():
            for chain in _chains(ops):
                keep = {0: 0, 1: len(chain)}.get(self._seed, self._chance.randint(0, len(chain)))
                for op in reversed(chain[keep:]):
                    with suppress(FileNotFoundError):
                        _undo(op)
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder, name)
                inode = path.stat().st_ino
                if inode in self._flushed:
                    path.write_bytes(self._left(self._flushed.pop(inode), path.read_bytes()))

    def _left(self, before: bytes, now: bytes) -> bytes:
        more = now[len(before) :] if now.startswith(before) else b""
        part = more[: self._chance.randint(0, len(more))]
        ways = (before, now, before + part, before + bytes(len(more)), before + part + bytes(len(more) - len(part)))
        return before if self._seed < 2 else self._chance.choice(ways)


def side(root: str) -> str:
    """Return the folder in which things are kept that lost their names."""
    return os.path.realpath(root) + ".kept"


def _chains(ops: list[Op]) -> Iterator[list[Op]]:
    """Yield the changes that share names, which reach the disk in their order; others need not wait for them."""
    chains: list[tuple[set[str], list[Op]]] = []
    for op in ops:
        mine = [chain for chain in chains if chain[0].intersection(op.paths)]
        joined = [each for _, chain in mine for each in chain]
        merged = ({*op.paths, *(name for names, _ in mine for name in names)}, [*sorted(joined, key=ops.index), op])
        chains = [chain for chain in chains if chain not in mine] + [merged]
    yield from (chain for _, chain in chains)


def _undo(op: Op) -> None:
    path = op.paths[-1]
    match op.name:
        case "mkdir":
            shutil.rmtree(path)
        case "open" | "link":
            Path(path).unlink()
        case "rename":
            Path(path).rename(op.paths[0])
    if op.kept is not None:
        os.link(op.kept, path)
