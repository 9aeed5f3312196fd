"""Follow symbolic links among the paths of a tree, as a file system would, without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prloom.core.text.path_patterns import folded

_MOST = 40
"""How many links a path may lead through; it is Linux's own bound, after which opening the path fails."""

_GIT = frozenset((".git", "git~1"))


@dataclass(frozen=True)
class LinkPath:
    """Where a link leads: out of the tree, or to `end` in it, and which links it passes, itself included."""

    leaves: bool
    end: str
    passed: frozenset[str]


def follow(path: str, links: Mapping[str, str]) -> LinkPath:
    """Return where the link at `path` leads; `links` has the target of each link of the tree.

    An absolute target leaves the tree, wherever the tree is; so does one that goes through `..` above its top, or into
    `.git`. A loop stays: it cannot be opened.
    """
    passed: list[str] = []
    position: list[str] = []
    ahead = path.split("/")[::-1]
    while ahead and len(passed) <= _MOST:
        part = ahead.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            if not position:
                return LinkPath(leaves=True, end="", passed=frozenset(passed))
            position.pop()
            continue
        position.append(part)
        here = "/".join(position)
        target = links.get(here)
        if target is not None:
            passed.append(here)
            position.pop()
            ahead += target.split("/")[::-1]
        if folded(part) in _GIT or (target or "").startswith("/"):
            return LinkPath(leaves=True, end="", passed=frozenset(passed))
    return LinkPath(leaves=False, end="/".join(position), passed=frozenset(passed))
