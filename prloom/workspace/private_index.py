"""Use git with an index of prloom's own, so that the worktree's stays as it is and what it says is not relied on."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from prloom.core.text.path_patterns import for_git
from prloom.errors import WorkspaceError
from prloom.model.own_folder import OWN_FOLDER
from prloom.workspace import git
from prloom.workspace.checkout import Checkout

_PREFIX = "prloom-index-"
_ABANDONED = 3600.0  # seconds


class PrivateIndex:
    """An index beside that of a worktree, and the commands of git that use it.

    `files` are those of the tree that was read last, with their modes and ids.
    """

    def __init__(self, worktree: Checkout, file: Path) -> None:
        self.worktree = worktree
        self.file = file
        self.files: dict[str, tuple[int, str]] = {}
        self._variables = MappingProxyType({"GIT_INDEX_FILE": str(file)})
        self._drivers = git.drivers_off(worktree.path, worktree.git_dir)

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", codes: Sequence[int] = (0,)) -> git.GitResult:
        """Run a git command in the worktree; raises WorkspaceError."""
        return git.run(
            argv,
            cwd=self.worktree.path,
            git_dir=self.worktree.git_dir,
            variables=self._variables,
            drivers=self._drivers,
            codes=codes,
            stdin=stdin,
            limit=git.LONG_LIMIT,
        )

    def read(self, tree: str) -> frozenset[str]:
        """Read a tree, and return the paths that a sparse checkout leaves out of the worktree.

        What the worktree's index knows of its files is kept, so that those which were not touched need not be read; but
        not the flags by which git would not look at them.
        """
        try:
            self.begin_with_own()
            self.run(["read-tree", "--reset", tree])
        except (OSError, WorkspaceError):  # there is none, or an agent has left it broken
            self.file.unlink(missing_ok=True)
            self.run(["read-tree", tree])
        flags = self._listed(["-v"])
        skipped = frozenset(path for flag, path in flags if flag in "Ss")
        assumed = [path for flag, path in flags if flag.islower()]
        self.update(["--no-assume-unchanged"], assumed)
        self.update(["--no-skip-worktree"], sorted(skipped))
        return skipped

    def begin_with_own(self) -> None:
        """Begin with the worktree's own index, and what that knows of the files; raises OSError where there is none."""
        shutil.copy2(self.worktree.git_dir / "index", self.file)  # git compares its time with those of the files

    def _listed(self, options: Sequence[str]) -> list[tuple[str, str]]:
        """Return the flag and the path of each entry; `files` has what is in the index."""
        self.files.clear()
        found = []
        for entry in filter(None, self.run(["ls-files", "-z", "--stage", *options]).out.split("\0")):
            about, _, path = entry[2:].partition("\t")
            mode, sha, _ = about.split()
            found.append((entry[:1], path))
            self.files[path] = (int(mode, 8), sha)
        return found

    def read_afresh(self, tree: str) -> None:
        """Read a tree, and have git read all files to know which of them match."""
        self.run(["read-tree", tree])
        self.run(["update-index", "-q", "--refresh"], codes=(0, 1))

    def compare(self, *, junk: Sequence[str]) -> tuple[frozenset[str], tuple[str, ...]]:
        """Return the paths of the index that differ in the worktree, and those that are new there.

        New are those that git does not ignore, but for junk and prloom's own files; a repository within the worktree is
        one path that ends with a slash.
        """
        skipped = [f"--exclude={for_git(each)}" for each in junk]
        asked = ["ls-files", "-z", "-t", "--modified", "--others", "--exclude-standard", *skipped]
        found = [(entry[:1], entry[2:]) for entry in self.run(asked).out.split("\0") if entry]
        new = tuple(path for flag, path in found if flag == "?" and not _is_own(path))
        return frozenset(path for flag, path in found if flag != "?"), new

    def update(self, options: Sequence[str], paths: Sequence[str]) -> None:
        """Run `git update-index` with some paths."""
        if paths:
            given = b"".join(os.fsencode(path) + b"\0" for path in paths)
            self.run(["update-index", *options, "-z", "--stdin"], stdin=given)

    def entries(self) -> Mapping[str, tuple[str, str]]:
        """Return the mode and the id of what the index has at each path."""
        answer = self.run(["ls-files", "-z", "--stage"]).out
        found = {}
        for line in filter(None, answer.split("\0")):
            about, _, path = line.partition("\t")
            mode, sha, _ = about.split()
            found[path] = (mode, sha)
        return found

    def write_tree(self) -> str:
        """Write the index as a tree, and return its id."""
        return self.run(["write-tree"]).out.strip()


def _is_own(path: str) -> bool:
    return path == OWN_FOLDER or path.startswith(f"{OWN_FOLDER}/")


@contextmanager
def private_index(worktree: Checkout) -> Iterator[PrivateIndex]:
    """Yield an empty index for a worktree; it is gone afterwards."""
    for left in worktree.git_dir.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:  # by a process that was killed
                shutil.rmtree(left)
    with TemporaryDirectory(prefix=_PREFIX, dir=worktree.git_dir) as folder:
        yield PrivateIndex(worktree, Path(folder) / "index")
