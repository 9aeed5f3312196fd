"""Match paths against patterns as `.gitignore` has them, with one reading that people expect and git does not share.

`node_modules/**` matches the folder at any depth, as `node_modules/` does; git anchors it to the root, because it has a
slash. A pattern that begins with a slash is anchored, and so is one that names a folder below another.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from pathspec import GitIgnoreSpec

# A file system that ignores case may ignore these too: HFS+ did, and git guards `.git` against them.
_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
_BELOW = "/**"


def folded(path: str) -> str:
    """Return what a path is on a file system that ignores case and how a character is composed."""
    return unicodedata.normalize("NFKC", path.translate(_IGNORED)).casefold()


def for_git(pattern: str) -> str:
    """Return a pattern as git has to be given it, to be read as it is here."""
    name = pattern.removeprefix("!")
    if name.endswith(_BELOW) and "/" not in name.removesuffix(_BELOW):
        return f"{pattern.removesuffix(name)}**/{name}"
    return pattern


class PathPatterns:
    """Patterns, of which the last that matches a path decides, whatever its case."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._spec = _compiled(tuple(for_git(folded(each)) for each in patterns))

    def find(self, path: str) -> str | None:
        """Return the pattern that a path matches; None where it matches none, or an exception (`!…`) decides."""
        found = self._spec.check_file(folded(path))
        if found.include and found.index is not None:
            return self._patterns[found.index]
        return None


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(patterns)
