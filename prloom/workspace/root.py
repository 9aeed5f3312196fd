"""Find the checkout that prloom works for: one for each repository, from whichever of its worktrees.

Git's own files say where that is (gitrepository-layout(5), git-config(1) on `core.bare` and `core.worktree`). They do
not where the repository is bare, or its git directory is apart from its files and not named `.git`: there prloom notes
the checkout in which it was used first. A plan's worktree is never the answer: its files are the pull request's.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from prloom import flock
from prloom.errors import WorkspaceError
from prloom.model.own_folder import BUS, DISPATCHER_LOCK, OWN_FOLDER, PLAN_STATE
from prloom.workspace import checkout

if TYPE_CHECKING:
    from prloom.workspace.checkout import Checkout

_PLAN_STATE = f"{OWN_FOLDER}/{PLAN_STATE}"
_PLAN_MARK = "prloom-plan"  # in the git directory of a plan's worktree
_NOTE = "prloom-checkout"  # in the git directory that all worktrees share
_STATE = (BUS, DISPATCHER_LOCK)  # what prloom has below OWN_FOLDER of the checkout that it works for
_NOT_BARE = re.compile(rb"^[ \t]*bare[ \t]*=[ \t]*false[ \t]*$", re.MULTILINE)
_KEYS = r"^(core\.(bare|worktree)|extensions\.worktreeconfig)$"


class _Core(Struct, frozen=True):
    """What the configuration says of a repository's main checkout."""

    bare: bool = False
    worktree: Path | None = None


def find(cwd: Path) -> Checkout:
    """Return the checkout that prloom works for, from any folder of the repository or of a plan's worktree.

    Raises WorkspaceError outside a repository, in a bare one, where only a plan's worktree could be found, and where
    the checkout's path is not valid UTF-8.
    """
    here = cwd.resolve()
    around = checkout.enclosing(here)
    if not around:
        raise WorkspaceError(_why_none(here))
    # The outermost counts: a repository within a plan's worktree, such as a submodule, is the pull request's too.
    start = next((each for each in reversed(around) if is_plans(each) or _is_prlooms(each, here)), around[0])
    _check_owner(start)
    found = _of_repository(start)
    if is_plans(found):
        raise WorkspaceError(
            f"{_shown(found.path)} is the worktree of a plan, and git does not say to which checkout it belongs; "
            "run prloom in the checkout that you work in"
        )
    if found != start:
        _check_owner(found)
    _check_path(found)
    return found


def is_plans(place: Checkout) -> bool:
    """Whether a checkout is the worktree of a plan."""
    return (place.linked and (place.git_dir / _PLAN_MARK).exists()) or is_adopted(place.path)


def is_adopted(path: Path) -> bool:
    """Whether a plan's state is in a worktree."""
    return (path / _PLAN_STATE).exists()


def mark_as_plans(worktree: Checkout, note: str = "") -> None:
    """Note in git's own folder for a worktree that it is a plan's, and of which; raises WorkspaceError."""
    mark = worktree.git_dir / _PLAN_MARK
    try:
        mark.write_text(f"The worktree of one of prloom's plans.\n{note}", "utf-8", "replace")
    except OSError as error:
        raise WorkspaceError(f"{_shown(mark)} cannot be written: {error.strerror}") from error


def note_of_plan(worktree: Checkout) -> str | None:
    """Return what is noted of the plan whose worktree it is; None if it is not marked as a plan's."""
    text = checkout.read(worktree.git_dir / _PLAN_MARK)
    if text is None:
        return None
    return text.partition("\n")[2]


def claim(found: Checkout) -> None:
    """Note that prloom works for this checkout, where git does not say which one that is.

    Raises WorkspaceError where another one was noted meanwhile.
    """
    if _by_git(found.common, _core(found.common)) is not None:
        return
    opened = os.open(found.common, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flock.wait_and_lock(opened)
        noted = _noted(found.common)
        if noted is None:
            _write(found.common / _NOTE, os.fsencode(found.path) + b"\n")
            os.fsync(opened)
        elif noted.path != found.path:
            raise WorkspaceError(f"prloom works in {_shown(noted.path)} for this repository; run it again")
    except OSError as error:
        raise WorkspaceError(f"{_shown(found.common / _NOTE)} cannot be written: {error.strerror}") from error
    finally:
        os.close(opened)


def _is_prlooms(place: Checkout, here: Path) -> bool:
    """Whether the folder is below what prloom writes in the checkout, where the worktrees of plans are by default."""
    return here.is_relative_to(place.path / OWN_FOLDER)


def _of_repository(start: Checkout) -> Checkout:
    """Return the checkout that prloom works for in the repository to which this one belongs."""
    core = _core(start.common)
    if core.bare and not start.linked:
        raise WorkspaceError(f"{_shown(start.path)} is a bare repository; run prloom in a checkout of it")
    if not start.linked and core.worktree in {None, start.path}:
        return start
    known = _by_git(start.common, core)
    if known is not None:
        main = checkout.at(known)
        if main is None or main.linked or main.common != start.common:
            raise WorkspaceError(
                f"the main checkout of this repository should be in {_shown(known)}, but is not there; restore it, "
                f"or change `core.worktree` in {_shown(start.common / 'config')}"
            )
        return main
    noted = _noted(start.common) or _used_before(start.common)
    if noted is None and not core.bare:
        raise WorkspaceError(
            f"git does not say where the main checkout of {_shown(start.common)} is; run `prloom init` there first"
        )
    return noted or start


def _by_git(common: Path, core: _Core) -> Path | None:
    """Return where the main checkout is as far as git's own files say; None where they do not, or there is none."""
    if core.bare:
        return None
    if core.worktree is not None:
        return core.worktree
    if common.name == ".git":
        return common.parent
    return None


def _noted(common: Path) -> Checkout | None:
    """Return the checkout that prloom has noted, if it is still one of this repository."""
    text = checkout.read(common / _NOTE)
    found = None
    if text:
        found = checkout.at(Path(text))
    if found is not None and found.common == common and not is_plans(found):
        return found
    return None


def _used_before(common: Path) -> Checkout | None:
    """Return the one worktree in which an earlier version, which noted nothing, has left its files."""
    used = [
        found
        for each in checkout.linked(common)
        if (found := checkout.at(each.path)) is not None
        and found.common == common
        and not is_plans(found)
        and any((found.path / OWN_FOLDER / name).exists() for name in _STATE)
    ]
    if len(used) == 1:
        return used[0]
    return None


def _core(common: Path) -> _Core:
    """Return what the configuration says of the main checkout; git is asked only where a quick look is not enough."""
    file = common / "config"
    try:
        text = file.read_bytes().lower()
    except OSError:
        return _Core()
    if b"worktree" not in text and text.count(b"bare") == len(_NOT_BARE.findall(text)):
        return _Core()
    said = _configured(file)
    if _is_true(said.get("extensions.worktreeconfig", "false")):
        said |= _configured(common / "config.worktree")
    place = said.get("core.worktree")
    return _Core(
        bare=_is_true(said.get("core.bare", "false")),
        worktree=None if place is None else (common / place).resolve(),
    )


def _configured(file: Path) -> dict[str, str]:
    """Return what one file of git's configuration says of the main checkout; git follows no includes for it either."""
    from prloom.workspace import git  # noqa: PLC0415 -- see _core

    if not file.exists():
        return {}
    asked = ["config", "--file", str(file), "--null", "--get-regexp", _KEYS]
    settings = [entry.partition("\n") for entry in git.run(asked, cwd=Path("/"), codes=(0, 1)).out.split("\0") if entry]
    return {key: value if equals else "true" for key, equals, value in settings}


def _is_true(value: str) -> bool:
    return value.lower() in {"true", "yes", "on"} or (value.isdecimal() and int(value) != 0)


def _check_owner(place: Checkout) -> None:
    """Have git decide whether a repository of another user may be used (`safe.directory`)."""
    own = os.geteuid()
    if any(os.lstat(each).st_uid != own for each in (place.path, place.path / ".git", place.git_dir)):
        from prloom.workspace import git  # noqa: PLC0415 -- see _core

        git.run(["rev-parse", "--git-dir"], cwd=place.path)


def _check_path(place: Checkout) -> None:
    """Raise WorkspaceError where the path cannot be written as JSON, as it is for runs and plugins."""
    try:
        str(place.path).encode()
    except UnicodeEncodeError:
        raise WorkspaceError(f"{_shown(place.path)} is not valid UTF-8; rename that folder and try again") from None


def _write(file: Path, content: bytes) -> None:
    """Write a file whole; the caller has the lock of its folder."""
    temporary = file.with_name(f".{file.name}.tmp")
    with temporary.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    temporary.replace(file)


def _why_none(here: Path) -> str:
    for each in (here, *here.parents):
        if checkout.is_git_dir(each):
            return f"{_shown(each)} is a bare repository; run prloom in a checkout of it"
    return f"no git repository at {_shown(here)} or above; go into one, or name it with `prloom -C PATH`"


def _shown(path: Path) -> str:
    from prloom.core.text.naming import printable  # noqa: PLC0415 -- only an error needs it

    return printable(str(path))
