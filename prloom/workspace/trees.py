"""Read trees and the differences between them, as git's objects have them and nothing in a worktree can change.

Git would heed the attributes in a worktree, with which a change could pass for binary and be shown to nobody: it is
run in an empty folder instead.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from prloom.workspace import git
from prloom.workspace.repository import Repository

LINK, SUBMODULE = 0o120000, 0o160000
_STATUS: Mapping[str, Literal["added", "modified", "deleted"]] = {"A": "added", "D": "deleted"}
_NO_RENAMES = ("--no-renames", "--submodule=short", "--no-color")


@dataclass(frozen=True)
class TreeFile:
    """A file, a symbolic link or a submodule of a tree, with its whole path."""

    path: str
    mode: int
    sha: str


@dataclass(frozen=True)
class TreeChange:
    """A path that differs between two trees, with the mode (0 where it was deleted) and size that it has now."""

    path: str
    status: Literal["added", "modified", "deleted"]
    before: int
    mode: int
    size: int


def files(repo: Repository, tree: str) -> tuple[TreeFile, ...]:
    """Return all files of a commit or a tree; raises WorkspaceError."""
    answer = git.run(["ls-tree", "-r", "-z", "--full-tree", tree], cwd=repo.root, limit=git.LONG_LIMIT)
    found = []
    for line in filter(None, answer.out.split("\0")):
        about, _, path = line.partition("\t")
        mode, _, sha = about.split()
        found.append(TreeFile(path, int(mode, 8), sha))
    return tuple(found)


@dataclass(frozen=True)
class TreeDifference:
    """What differs between two trees: the paths by name, a renamed file being two of them, and the lines in all.

    `lines` is how many are added and removed; what is binary has none. `ids` are the objects at the paths that differ.
    """

    changes: tuple[TreeChange, ...]
    lines: int
    ids: Mapping[str, str]


def difference(repo: Repository, before: str, after: str) -> TreeDifference:
    """Return what differs between two commits or trees."""
    entries, rest = _raw_entries(_diff_tree(repo, ["--raw", "--numstat", "-z", "--no-abbrev"], before, after))
    counts = [line.split(b"\t", 2)[:2] for line in rest.split(b"\0") if line.count(b"\t") > 1]
    sizes = _sizes(repo, [each.sha for each in entries if each.mode not in {0, SUBMODULE}])
    changes = tuple(
        TreeChange(each.path, _STATUS.get(each.letter, "modified"), each.before, each.mode, sizes.get(each.sha, 0))
        for each in entries
    )
    lines = sum(int(number) for pair in counts for number in pair if number.isdigit())
    return TreeDifference(changes, lines, {each.path: each.sha for each in entries})


def changed(repo: Repository, before: str, after: str) -> tuple[TreeChange, ...]:
    """Return the paths that differ between two commits or trees, by name; a renamed file is two of them."""
    return difference(repo, before, after).changes


def link_targets(repo: Repository, tree: str) -> Mapping[str, str]:
    """Return the target of each symbolic link of a commit or a tree, by its path."""
    return targets(repo, {each.path: each.sha for each in files(repo, tree) if each.mode == LINK})


def targets(repo: Repository, links: Mapping[str, str]) -> Mapping[str, str]:
    """Return the target of each symbolic link, given its object, by its path."""
    contents = _contents(repo, list(links.values()))
    return {path: os.fsdecode(contents[sha]) for path, sha in links.items()}


def texts(repo: Repository, tree: str, paths: Collection[str]) -> Mapping[str, bytes]:
    """Return the contents of those of the paths that are files of a commit or a tree."""
    wanted = [each for each in files(repo, tree) if each.path in paths and each.mode not in {LINK, SUBMODULE}]
    contents = _contents(repo, [each.sha for each in wanted])
    return {each.path: contents[each.sha] for each in wanted}


def diff_text(repo: Repository, before: str, after: str, *, limit_bytes: int) -> str:
    """Return the differences between two commits or trees as git shows them, cut after so many bytes, which it says."""
    shown = _diff_tree(repo, ["--patch"], before, after)
    text = shown[:limit_bytes].decode("utf-8", "replace")
    if len(shown) > limit_bytes:
        return f"{text}\n… {len(shown) - limit_bytes} more bytes are not shown\n"
    return text


def added_texts(repo: Repository, before: str, after: str) -> Mapping[str, str]:
    """Return the lines that are added to each path between two commits or trees, also those of binary files."""
    options = ["--raw", "-z", "--no-abbrev", "--patch", "--text", "--unified=0"]
    entries, shown = _raw_entries(_diff_tree(repo, options, before, after))
    # What changes from a file to a link or the reverse is shown as two: the one removed, the other added.
    paths = [each.path for each in entries for _ in range(2 if each.letter == "T" else 1)]
    added: dict[str, list[bytes]] = {}
    names = iter(paths)
    current: list[bytes] = []
    in_lines = False
    for line in shown.split(b"\n"):
        if line.startswith(b"diff --git "):
            current = added.setdefault(next(names, ""), [])
            in_lines = False
        elif line.startswith(b"@@"):
            in_lines = True
        elif in_lines and line.startswith(b"+"):
            current.append(line[1:])
    return {path: b"\n".join(lines).decode("utf-8", "replace") for path, lines in added.items()}


class _Entry(NamedTuple):
    """One difference as git's raw form has it: its letter, the modes before and after, the object after, the path."""

    letter: str
    before: int
    mode: int
    sha: str
    path: str


def _raw_entries(shown: bytes) -> tuple[tuple[_Entry, ...], bytes]:
    """Return the differences with which an output begins in raw form, and the rest of it."""
    found = []
    while shown.startswith(b":"):
        about, path, shown = (*shown.split(b"\0", 2), b"")[:3]
        old, new, _, sha, letter = about.decode().lstrip(":").split()
        found.append(_Entry(letter[0], int(old, 8), int(new, 8), sha, os.fsdecode(path)))
    return tuple(found), shown.removeprefix(b"\0")


def _diff_tree(repo: Repository, options: Sequence[str], before: str, after: str) -> bytes:
    argv = ["diff-tree", "-r", *options, *_NO_RENAMES, f"{before}^{{tree}}", f"{after}^{{tree}}", "--"]
    with TemporaryDirectory(prefix="prloom-diff-") as empty:
        return git.run(
            argv,
            cwd=Path(empty),
            git_dir=repo.git_dir,
            variables={"GIT_INDEX_FILE": f"{empty}/index"},
            limit=git.LONG_LIMIT,
        ).content


def _sizes(repo: Repository, shas: Sequence[str]) -> dict[str, int]:
    if not shas:
        return {}
    answer = git.run(["cat-file", "--batch-check"], cwd=repo.root, stdin="".join(f"{sha}\n" for sha in shas).encode())
    found = [line.split() for line in answer.out.splitlines()]
    return {sha: int(size) for sha, _, size in found}


def _contents(repo: Repository, shas: Sequence[str]) -> dict[str, bytes]:
    if not shas:
        return {}
    asked = "".join(f"{sha}\n" for sha in dict.fromkeys(shas)).encode()
    answer = git.run(["cat-file", "--batch"], cwd=repo.root, stdin=asked).content
    found = {}
    while answer:
        head, _, rest = answer.partition(b"\n")
        sha, _, size = head.split()
        found[sha.decode()] = rest[: int(size)]
        answer = rest[int(size) + 1 :]
    return found
