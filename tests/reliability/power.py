"""A disk that forgets, when the power is cut, what was not flushed: contents whole or in part, and names one by one.

A file's content is certain once the file was flushed, a name once its folder was. Of all else any part may be there:
each chain of changes to the same names up to any point, each content as it was, as it is, torn, or as zeros.
"""

from __future__ import annotations

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

SEEDS = 4
"""Ways in which the power is cut: nothing unflushed is left; all names but no content is; and two by chance."""


class Op(NamedTuple):
    """A change of names that is not flushed yet; `kept` is what lost its name by it."""

    name: str
    paths: tuple[str, ...]
    kept: str | None


class PowerLoss(Layer):
    """Cuts the power before the n-th change (from 1)."""

    def __init__(self, root: str, at: int, seed: int) -> None:
        super().__init__(root)
        self.at = at
        self.hit: Call | None = None
        self._seed = seed
        self._chance = random.Random(f"{at} {seed}")
        self._side = Path(side(root))
        self._side.mkdir()
        self._names: dict[str, list[Op]] = {}
        self._flushed: dict[int, bytes] = {}
        """What is certain of the contents that are not flushed, by inode."""

    def about_to(self, name: str, path: str) -> Call | None:
        call = super().about_to(name, path)
        if call is not None and len(self.made) == self.at:
            self.hit = call
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
        with _quietly(self):
            os.link(path, kept)
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


class _quietly:  # noqa: N801 - it reads as a statement
    """Work on files without being told of it."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer

    def __enter__(self) -> None:
        calls.put(None)

    def __exit__(self, *_: object) -> None:
        calls.put(self._layer)


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
