"""Run a program in a sandbox of bubblewrap: it sees the system read-only, its own folder, and what it needs to sign in.

See bwrap(1). Everything is decided from values; whether bubblewrap works is for `sandbox_check` to find out. What is
mounted later lies on top, so folders are hidden first, and what the run needs below them is shown again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

PROGRAM: Final = "bwrap"

_PRIVATE: Final = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - they are replaced by empty ones
_REPLACED: Final = ("/dev", "/proc")
_KERNEL: Final = ("/proc/sys", "/proc/sysrq-trigger")
"""What root could write there even without privileges."""
_RESOLVER: Final = Path("/etc/resolv.conf")
_EMPTY, _READ, _WRITE = "--tmpfs", "--ro-bind-try", "--bind-try"
_NAMESPACES: Final = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")


class Sandbox(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a run sees beside the system; all paths are absolute.

    `hidden` folders are empty but for what the others name below them; so is `home`, in which a run may write, and all
    of that is gone with it. What is in `read` can be read, what is in `write` be written too; a path that does not
    exist is left out. `network` is whether there is one.
    """

    home: str = ""
    hidden: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool = True


class HomeFile(msgspec.Struct, frozen=True):
    """What an agent program needs below HOME: `read`, or `write` for what it keeps there; a folder ends with a `/`."""

    path: str
    access: Literal["read", "write"] = "read"


def argv(sandbox: Sandbox, bwrap: str, command: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
    """Return the command line that runs a command in the sandbox, in the folder `cwd`."""
    found = [bwrap, *_NAMESPACES, "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if not sandbox.network:
        found.append("--unshare-net")
    found += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path in _KERNEL:
        found += ["--ro-bind-try", path, path]
    mounts = _mounts(sandbox)
    for path in sorted(mounts, key=_depth):
        found += _mount(path, mounts[path])
    for each in sandbox.hidden:
        found += ["--remount-ro", os.path.realpath(each)]
    return (*found, "--setenv", "TMPDIR", "/tmp", "--chdir", str(cwd), "--", *command)  # noqa: S108 - its own


def own_files() -> tuple[str, ...]:
    """Return what prloom's own MCP server needs in a sandbox: this Python, its packages, and prloom."""
    package = Path(__file__).resolve().parents[1]
    places = (sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parent.parent), str(package))
    return tuple(dict.fromkeys(each for each in places if each != "/usr"))


def program_files(program: str, search_path: str, home: str) -> tuple[str, ...]:
    """Return the folders below HOME that an agent's program, and those on PATH, are installed in."""
    folders = [Path(each) for each in search_path.split(os.pathsep) if each]
    wanted = [*folders, *_installation(Path(program))]
    return tuple(dict.fromkeys(str(each) for each in wanted if each.is_relative_to(home) and each != Path(home)))


def named_files(command: Iterable[str]) -> tuple[str, ...]:
    """Return the files that a command line names by absolute paths, such as a program in the operator's checkout."""
    return tuple(word for word in command if word.startswith("/") and os.path.isfile(word))  # noqa: PTH113 - any text


def home_folder(environ: Mapping[str, str]) -> Path:
    """Return the HOME of an environment; where it has none, a folder that does not exist."""
    return Path(environ.get("HOME") or "/nonexistent")


def home_files(files: Iterable[HomeFile], environ: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths that a program may read, and those that it may write, below the HOME of its environment."""
    home = home_folder(environ)
    found: dict[str, list[str]] = {"read": [], "write": []}
    for each in files:
        found[each.access].append(str(home / each.path))
    return tuple(found["read"]), tuple(found["write"])


def _resolver() -> tuple[str, ...]:
    """Return the file that says how names are resolved, where that is a link into a folder that is hidden."""
    real = os.path.realpath(_RESOLVER)
    if any(Path(real).is_relative_to(each) for each in _PRIVATE):
        return (real,)
    return ()


def _mounts(sandbox: Sandbox) -> dict[str, str]:
    """Return what is mounted at which path, beside the system: what a folder above shows already is left out."""
    own_home = (sandbox.home,) if sandbox.home else ()
    mounts = {os.path.realpath(each): _EMPTY for each in (*_PRIVATE, *own_home, *sandbox.hidden)}
    wanted = {_mount_point(each): _READ for each in (*_resolver(), *sandbox.read)}
    wanted |= {_mount_point(each): _WRITE for each in sandbox.write}
    for at in sorted(wanted, key=_depth):
        place = at
        if not _is_hidden(at, mounts):
            place = os.path.realpath(at)  # nothing can be mounted on a link that is there
        if wanted[at] == _WRITE or _is_hidden(place, mounts):
            mounts[place] = wanted[at]
    return mounts


def _is_hidden(path: str, mounts: Mapping[str, str]) -> bool:
    """Return whether the nearest mount at a path, or above it, is an empty folder."""
    above = (path, *map(str, Path(path).parents))
    nearest = next((each for each in above if each in mounts or each in _REPLACED), "/")
    return nearest in _REPLACED or mounts.get(nearest) == _EMPTY


def _depth(path: str) -> tuple[int, str]:
    """Return what sorts a folder before what is in it."""
    return len(Path(path).parts), path


def _mount_point(path: str) -> str:
    """Return where a path is mounted: links in the folders above it are followed."""
    folder, name = os.path.split(path.rstrip("/"))
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118 - it may be a link itself


def _mount(path: str, option: str) -> tuple[str, ...]:
    if option == _EMPTY:
        return (option, path)
    return (option, os.path.realpath(path), path)


def _installation(program: Path) -> tuple[Path, ...]:
    """Return the folder of a program's real file, or that of the packages that it is one of (`node_modules`)."""
    real = program.resolve()
    parts = real.parts
    if "node_modules" in parts:
        top = Path(*parts[: parts.index("node_modules") + 1])
        return (top, real.parent)
    return (real.parent,)
