"""Match paths against patterns as `.gitignore` has them, with two readings that people expect and git does not share.

`node_modules/**` matches the folder at any depth, as `node_modules/` does; git anchors it to the root, because it has a
slash. A pattern that begins with a slash is anchored, and so is one that names a folder below another.

A file or link in the place of a folder that a pattern names matches too: `.github` matches `.github/workflows/**`,
since a link there decides what is below it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Final

from pathspec import GitIgnoreSpec

# A file system that ignores case may ignore these too: HFS+ did, and git guards `.git` against them.
_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
_BELOW = "/**"
_WITHIN: Final = "/\x01"
"""Stands for whatever is in a folder, so that a pattern that ends so matches the folder, and nothing further down."""

_WILDCARD = re.compile(r"[*?\[\\]")
_NOT_SHORT = re.compile(r"[ .+,;=\[\]]")
_STEM, _HASHED_STEM, _EXTENSION = 6, 2, 3


def folded(path: str) -> str:
    """Return what a path is on a file system that ignores case, how a character is composed, and what Windows does.

    Windows drops dots and spaces at the end of a name, and what follows a colon names a stream of the same file.
    """
    return "/".join(_folded_name(each) for each in _plain(path).split("/"))


def _folded_name(name: str) -> str:
    return name.partition(":")[0].rstrip(" .") or name


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(_IGNORED)).casefold()


def for_git(pattern: str) -> str:
    """Return a pattern as git has to be given it, to be read as it is here."""
    name = pattern.removeprefix("!")
    if name.endswith(_BELOW) and "/" not in name.removesuffix(_BELOW):
        return f"{pattern.removesuffix(name)}**/{name}"
    return pattern


class PathPatterns:
    """Patterns, of which the last that matches a path decides, however a file system lets the path be spelled."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)

    def find(self, path: str) -> str | None:
        """Return the pattern that a path matches; None where it matches none, or an exception (`!…`) decides."""
        plain = folded(path)
        found = _compiled(self._patterns, short="~" in plain)
        return found.find(plain)


class _Compiled:
    """Patterns that are ready to be matched; with `short`, also by the short names that Windows gives to long ones."""

    def __init__(self, patterns: tuple[str, ...], *, short: bool) -> None:
        plain = [(each, for_git(_plain(each))) for each in patterns]
        paths = [(each, line) for each, lines in plain for line in _spelled(lines, short=short)]
        folders = [
            (each, line)
            for each, pattern in plain
            for above in _folders(pattern)
            for line in _spelled(above, short=short)
        ]
        self._names = [each for each, _ in paths], [each for each, _ in (*folders, *paths)]
        self._spec = GitIgnoreSpec.from_lines(line for _, line in paths)
        self._folders = GitIgnoreSpec.from_lines(line for _, line in (*folders, *paths))

    def find(self, path: str) -> str | None:
        """Return the pattern that the path matches, or that names a folder in its place."""
        found = self._spec.check_file(path)
        names = self._names[0]
        if found.include is None:
            found = self._folders.check_file(f"{path}{_WITHIN}")
            names = self._names[1]
        if found.include and found.index is not None:
            return names[found.index]
        return None


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...], *, short: bool) -> _Compiled:
    return _Compiled(patterns, short=short)


def _folders(pattern: str) -> Iterator[str]:
    """Yield a pattern for each folder that a pattern names above what it matches."""
    if pattern.startswith("!"):
        return
    names = pattern.strip("/").split("/")
    for count in range(1, len(names)):
        if names[count - 1] != "**":
            yield f"/{'/'.join(names[:count])}{_WITHIN}"


def _spelled(pattern: str, *, short: bool) -> Iterator[str]:
    """Yield a pattern, and with `short` each pattern that has the short name of a folder or file for a long one."""
    if not short or pattern.startswith("!"):
        yield pattern
        return
    for names in product(*((each, *_short_names(each)) for each in pattern.split("/"))):
        yield "/".join(names)


def _short_names(name: str) -> Iterator[str]:
    """Yield patterns for the names in 8.3 form that Windows makes for a long name: `GITHUB~1`, or `GI1A2B~1`.

    The rules are those of RtlGenerate8dot3Name. A name with a wildcard has them if it begins with enough characters.
    """
    literal = _WILDCARD.split(name)[0]
    stem, dot, extension = literal.lstrip(".").rpartition(".")
    if not dot:
        stem, extension = extension, ""
    stem, extension = _NOT_SHORT.sub("", stem), extension[:_EXTENSION]
    end = f".{extension}" if extension else ""
    if literal != name:
        if len(stem) < _STEM:
            return
        end = "*"
    if len(stem) >= _HASHED_STEM:
        yield f"{stem[:_STEM]}~[0-9]{end}"
        yield f"{stem[:_HASHED_STEM]}{'[0-9a-f]' * 4}~[0-9]{end}"
