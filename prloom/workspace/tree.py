"""Look into a commit for what must not be checked out: prloom's own folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prloom.core.naming import printable
from prloom.errors import WorkspaceError
from prloom.workspace import git
from prloom.workspace.repository import Repository
from prloom.workspace.root import LOCAL_STATE

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = {"120000": "symbolic link", "160000": "submodule", "040000": "folder"}
# A file system that ignores case may ignore these too: HFS+ did, and git guards `.git` against them.
_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])


@dataclass(frozen=True)
class _Entry:
    mode: str
    sha: str
    name: str

    @property
    def kind(self) -> str:
        return _KINDS.get(self.mode, "file")


def committed_state(repository: Repository, sha: str) -> str | None:
    """Return what a commit has where prloom keeps its own files, such as "the symbolic link prloom/.local", or None.

    What a branch commits there would be read as prloom's state, or lead its writing elsewhere. Ask again whenever the
    worktree's HEAD has moved.
    """
    folder, local = LOCAL_STATE.split("/")
    for top in _entries(repository, sha):
        if not _is_like(top.name, folder):
            continue
        if top.kind != "folder":
            return f"the {top.kind} {printable(top.name)}"
        for below in _entries(repository, top.sha):
            if _is_like(below.name, local):
                return f"the {below.kind} {printable(top.name)}/{printable(below.name)}"
    return None


def _entries(repository: Repository, tree: str) -> Iterator[_Entry]:
    if not re.fullmatch("[0-9a-f]{40,64}", tree):
        raise WorkspaceError(f"{printable(tree)} is not the id of a commit")
    answer = git.run(["ls-tree", "-z", "--full-tree", tree, "--"], cwd=repository.root)
    for line in filter(None, answer.out.split("\0")):
        about, _, name = line.partition("\t")
        mode, _, sha = about.split(" ")
        yield _Entry(mode, sha, name)


def _is_like(name: str, ours: str) -> bool:
    return name.translate(_IGNORED).casefold() == ours
