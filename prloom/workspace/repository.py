"""Find the repository that prloom was started in, read what it says of its branches, and fetch pull requests."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from prloom import flock
from prloom.core.text.naming import is_branch_name, printable
from prloom.errors import WorkspaceError
from prloom.workspace import checkout, fetching, git, ref_names, root
from prloom.workspace.checkout import Checkout

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_USUAL_BASES = ("main", "master", "trunk", "develop")
_TEMPORARY = ".tmp"
_SPECIAL_IN_EXCLUDE = "\\*?["

FETCH_LIMIT = timedelta(minutes=10)
"""How long a fetch may take."""


@dataclass(frozen=True)
class Repository:
    """The checkout that prloom works for, and the git directory that all worktrees share."""

    root: Path
    git_dir: Path


def find(cwd: Path) -> Repository:
    """Return the repository around a folder, with the checkout that prloom works for; see `root.find`."""
    found = root.find(cwd)
    return Repository(found.path, found.common)


def main_checkout(repository: Repository) -> Checkout:
    """Return the checkout that prloom works for."""
    found = checkout.at(repository.root)
    if found is None:
        raise WorkspaceError(f"{printable(str(repository.root))} is no longer a git repository")
    return found


def branch_sha(repository: Repository, branch: str) -> str | None:
    """Return the full SHA of a local branch's commit; None if there is no such branch."""
    if is_branch_name(branch):
        return checkout.ref(repository.git_dir, f"refs/heads/{branch}")
    return None


def remote_sha(repository: Repository, branch: str, remote: str = "origin") -> str | None:
    """Return the full SHA of a branch as it was last fetched from a remote; None if it was not. Nothing is fetched."""
    if is_branch_name(branch):
        return checkout.ref(repository.git_dir, f"refs/remotes/{remote}/{branch}")
    return None


def has_commits(repository: Repository) -> bool:
    """Whether there is a commit on any branch, local or fetched: a repository that `git init` made has none."""
    asked = ["for-each-ref", "--count=1", "--format=%(refname)", "refs/heads", "refs/remotes"]
    return bool(git.run(asked, cwd=repository.root).out)


def without_commits(root: Path) -> str:
    """Return what to say of a repository without a commit: no branch can begin there."""
    return f"{printable(str(root))} has no commit yet; make a first commit with `git commit`"


def current_branch(repository: Repository) -> str | None:
    """Return the branch that is checked out; None if none is."""
    return checkout.branch(main_checkout(repository))


def default_branch(repository: Repository) -> str:
    """Return the branch that pull requests go to: what origin says, else one of the usual names, else the current."""
    prefix = "refs/remotes/origin/"
    said = git.run(["symbolic-ref", "--quiet", f"{prefix}HEAD"], cwd=repository.root, codes=(0, 1)).out.strip()
    for name in (said.removeprefix(prefix), *_USUAL_BASES):
        if name and (branch_sha(repository, name) or remote_sha(repository, name)):
            return name
    current = current_branch(repository)
    if current is None:
        raise WorkspaceError(
            f'no base branch was found in {printable(str(repository.root))}; name it in prloom.toml: base_branch = "…"',
        )
    return current


def origin_url(repository: Repository) -> str | None:
    """Return where origin is, rewritten as the configuration says; None if there is no origin."""
    answer = git.run(["remote", "get-url", "origin"], cwd=repository.root, codes=(0, 2))
    return answer.out.strip() or None


def origin_address(repository: Repository) -> str | None:
    """Return where origin is, so that it means the same in any folder: a relative path is one from the checkout."""
    url = origin_url(repository)
    if url is None or ":" in url.partition("/")[0]:  # a URL, or a path on a host as scp writes it
        return url
    return os.fspath((repository.root / url).resolve())


def fetch_pull_request(repo: Repository, *, branch: str, ref: str | None, number: int, fork: bool) -> str:
    """Fetch a pull request's head from origin, and return the name of the branch to look after.

    A branch of origin's own keeps its name. The head of a fork is at origin only under a ref of the forge's, `ref`, and
    becomes the branch `pr/<number>`, which is for reading: nothing can be pushed there. Raises WorkspaceError.
    """
    if fork:
        name, source = f"pr/{number}", ref
    else:
        name, source = branch, f"refs/heads/{branch}"
    if not is_branch_name(name) or source is None or not is_branch_name(source):
        raise WorkspaceError(
            f"the head of #{number}, {printable(branch)}, cannot be fetched: its name is not a valid name for a branch"
        )
    argv = ["fetch", "--quiet", "--no-tags", "--end-of-options", "origin", f"+{source}:refs/remotes/origin/{name}"]
    try:
        fetching.run(argv, cwd=repo.root, git_dir=repo.git_dir, limit=FETCH_LIMIT)
    except WorkspaceError as error:
        if not ref_names.remove_stale(repo.root, name, "origin", str(error)):
            raise
        fetching.run(argv, cwd=repo.root, git_dir=repo.git_dir, limit=FETCH_LIMIT)
    return name


def hooks_folder(repository: Repository) -> Path:
    """Return the folder of the operator's hooks; a relative `core.hooksPath` is one of the checkout."""
    configured = [value for key, value in git.configuration(repository.root) if key == "core.hookspath"]
    if configured:
        return repository.root / os.path.expanduser(configured[-1])  # noqa: PTH111 - as git does
    return repository.git_dir / "hooks"


def exclude(repository: Repository, path: Path) -> None:
    """Keep a folder below the root out of git in all worktrees, by a line in `info/exclude`; again does nothing."""
    if not path.is_relative_to(repository.root):
        return
    name = path.relative_to(repository.root).as_posix()
    if "\n" in name:
        raise WorkspaceError(
            f"{printable(str(path))} cannot be excluded from git: its name has a line break; choose another"
        )
    line = "/" + "".join(f"\\{each}" if each in _SPECIAL_IN_EXCLUDE else each for each in name) + "/"
    file = repository.git_dir / "info" / "exclude"
    try:
        file.parent.mkdir(exist_ok=True)
        _add_line(file.resolve(), os.fsencode(line))
    except OSError as error:
        raise WorkspaceError(f"{printable(str(path))} cannot be excluded from git: {printable(str(error))}") from error


def is_visible(repository: Repository, worktree: Path, parts: Sequence[str]) -> bool:
    """Whether git sees a folder below a checkout of the repository, so that `git add -A` would take it."""
    asked = ["ls-files", "--others", "--exclude-standard", "--directory", "--", "/".join(parts)]
    if worktree == repository.root:
        own = None
    else:
        own = checkout.registered(repository.git_dir, worktree)
    # Nothing is compared with what is there, so no driver is run.
    return bool(git.run(asked, cwd=worktree, git_dir=own.git_dir if own else None, drivers=()).out)


def _add_line(file: Path, line: bytes) -> None:
    """Add a line to a file that is always whole: half of ours would exclude what people want to keep."""
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flock.wait_and_lock(folder)
        for left in file.parent.glob(f".{file.name}.*{_TEMPORARY}"):  # nobody alive writes it while we have the lock
            left.unlink()
        text = b""
        if file.exists():
            text = file.read_bytes()
        if line not in text.splitlines():
            begun = b""
            if text and not text.endswith(b"\n"):
                begun = b"\n"
            _replace(file, text + begun + line + b"\n")
            os.fsync(folder)
    finally:
        os.close(folder)


def _replace(file: Path, content: bytes) -> None:
    temporary = file.with_name(f".{file.name}.{os.getpid()}{_TEMPORARY}")
    mode = 0o666
    if file.exists():
        mode = file.stat().st_mode & 0o777
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(fd)
        temporary.replace(file)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
