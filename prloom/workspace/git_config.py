"""Remember what git's configuration says, until one of the files that it comes from changes.

Which files those are, git says itself (`--show-origin`). A conditional include may depend on more than files, so a
configuration that has one is never remembered. See "FILES" and "Conditional includes" in git-config(1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

LIST = ("config", "--null", "--show-origin", "--list")
"""The command whose answer `parsed` understands."""

_FILE = "file:"
_CONDITIONAL = "includeif."
_MOST = 200
ConfigEntries = tuple[tuple[str, str], ...]
"""Keys with their values, in the order in which git reads them."""
_Stamp = tuple[int, int, int] | None


def parsed(answer: str) -> tuple[ConfigEntries, tuple[str, ...]]:
    """Return the entries of an answer, but for prloom's own on the command line, and the files that they come from."""
    parts = answer.split("\0")
    entries: list[tuple[str, str]] = []
    files: dict[str, None] = {}
    for origin, entry in zip(parts[::2], parts[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if origin.startswith(_FILE):
            entries.append((key, value))
            files[origin.removeprefix(_FILE)] = None
    return tuple(entries), tuple(files)


class RememberedConfig:
    """What git said of the configuration of some folders, each with the stamps of its files."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], tuple[Mapping[str, _Stamp], ConfigEntries]] = {}

    def read(
        self, cwd: Path, git_dir: Path | None, environ: Mapping[str, str], query: Callable[[], str]
    ) -> ConfigEntries:
        """Return the entries for a folder; `query` returns git's answer where it is not known, or has changed."""
        names = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
        key = (str(cwd), str(git_dir), *(environ.get(name, "") for name in names))
        kept = self._kept.get(key)
        if kept is not None and all(_stamp(file) == stamp for file, stamp in kept[0].items()):
            return kept[1]
        usual = _usual_files(cwd, git_dir, environ)
        before = {file: _stamp(file) for file in usual}
        entries, files = parsed(query())
        stamps = {**{str(cwd / file): _stamp(str(cwd / file)) for file in files}, **before}
        self._kept.pop(key, None)
        if not any(name.lower().startswith(_CONDITIONAL) for name, _ in entries):
            self._kept[key] = (stamps, entries)
            while len(self._kept) > _MOST:
                del self._kept[next(iter(self._kept))]
        return entries


def _usual_files(cwd: Path, git_dir: Path | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that git looks for, also those that are not there yet."""
    home = environ.get("HOME", "")
    user = environ.get("GIT_CONFIG_GLOBAL")
    own_config = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    found = [f"{home}/.gitconfig", f"{own_config}/git/config"]
    if user:
        found = [user]
    found.append(environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig")
    own = git_dir or cwd / ".git"
    found += [str(own / name) for name in ("config", "config.worktree", "commondir")]
    if git_dir is None:
        found.append(str(own))
    return tuple(found)


def _stamp(file: str) -> _Stamp:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)
