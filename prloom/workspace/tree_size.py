"""Count the files of a tree without listing them: a few folders that name one another may stand for any number."""

from __future__ import annotations

from collections.abc import Iterator

from prloom.errors import WorkspaceError
from prloom.workspace import git
from prloom.workspace.repository import Repository

_FOLDER = b"40000"
_DEEPEST = 200  # folders within one another; a path of no system is as long


def require_at_most(repo: Repository, tree: str, most: int) -> None:
    """Raise WorkspaceError where a tree has more files than `most`, or folders within one another without end.

    Each folder is read once, however often it is named.
    """
    folders = _folders(repo, tree)
    counted: dict[str, int] = {}
    depth: dict[str, int] = {}
    for name in _deepest_first(folders, tree):
        files, below = folders[name]
        counted[name] = files + sum(counted[each] for each in below)
        depth[name] = 1 + max((depth[each] for each in below), default=0)
        if counted[name] > most:
            raise WorkspaceError(f"it has more than {most} files")
        if depth[name] > _DEEPEST:
            raise WorkspaceError(f"it has more than {_DEEPEST} folders within one another")


def _folders(repo: Repository, tree: str) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return each folder of a tree by its id: how many files are in it, and the ids of the folders in it."""
    found: dict[str, tuple[int, tuple[str, ...]]] = {}
    wanted = [tree]
    for _ in range(_DEEPEST):
        for name, content in _contents(repo, wanted):
            found[name] = _read(content, len(name) // 2)
        wanted = list({each for name in wanted for each in found[name][1] if each not in found})
        if not wanted:
            return found
    raise WorkspaceError(f"it has more than {_DEEPEST} folders within one another")


def _contents(repo: Repository, names: list[str]) -> Iterator[tuple[str, bytes]]:
    asked = "".join(f"{name}\n" for name in names).encode()
    answer = git.run(["cat-file", "--batch"], cwd=repo.root, stdin=asked, limit=git.LONG_LIMIT).content
    at = 0
    while at < len(answer):
        end = answer.index(b"\n", at)
        name, kind, size = answer[at:end].decode().split()
        if kind != "tree":
            raise WorkspaceError(f"{name[:12]} is named as a folder and is a {kind}")
        yield name, answer[end + 1 : end + 1 + int(size)]
        at = end + 1 + int(size) + 1


def _read(content: bytes, id_length: int) -> tuple[int, tuple[str, ...]]:
    """Return how many files are in a folder, and the ids of the folders in it: see "tree" in git's manuals."""
    files, below, at = 0, [], 0
    while at < len(content):
        end = content.index(b"\0", at)
        mode = content[at:end].partition(b" ")[0]
        child = content[end + 1 : end + 1 + id_length].hex()
        if mode.lstrip(b"0") == _FOLDER:
            below.append(child)
        else:
            files += 1
        at = end + 1 + id_length
    return files, tuple(below)


def _deepest_first(folders: dict[str, tuple[int, tuple[str, ...]]], top: str) -> Iterator[str]:
    """Yield each folder after all those in it."""
    done: set[str] = set()
    waiting = [top]
    while waiting:
        name = waiting[-1]
        left = dict.fromkeys(each for each in folders[name][1] if each not in done)
        if left:
            waiting += left
            continue
        waiting.pop()
        if name not in done:
            done.add(name)
            yield name
