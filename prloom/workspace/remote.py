"""Fetch a plan's branch from the remote, and push to it what prloom has committed: never over what others pushed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from prloom.core.text.naming import is_branch_name, printable
from prloom.core.work import push_results
from prloom.core.work.push_results import Failure
from prloom.errors import WorkspaceError
from prloom.workspace import checkout, fetching, git, ref_names, repository, rewritten
from prloom.workspace.git import GitResult
from prloom.workspace.repository import FETCH_LIMIT, Repository

ORIGIN = "origin"
NOTED = "refs/prloom/remote/"
"""Refs of this repository under which prloom notes what the remote had, by the branch."""

_ANY_CODE = range(-255, 256)


@dataclass(frozen=True)
class Fetched:
    """What the remote has of a branch: its tip, or None where it has none.

    `before` is what it had when prloom last pushed to it or brought it in, or else when it was last fetched.
    """

    sha: str | None
    before: str | None

    @property
    def is_deleted(self) -> bool:
        """Whether the remote had the branch and has it no more."""
        return self.sha is None and self.before is not None


@dataclass(frozen=True)
class Pushed:
    """The remote's branch is at this commit."""

    sha: str


@dataclass(frozen=True)
class Rejected:
    """The push or the fetch failed, and nothing was changed as far as is known."""

    failure: Failure


@dataclass(frozen=True)
class NoRemote:
    """The repository has no remote of that name: there is nothing to fetch from or push to."""


@dataclass(frozen=True)
class RemoteAddresses:
    """The addresses of one remote, as the configuration has them; `push_urls` where it has any of its own."""

    urls: tuple[str, ...]
    push_urls: tuple[str, ...]


def has(repo: Repository, remote: str = ORIGIN) -> bool:
    """Whether the repository has a remote of this name."""
    return bool(addresses(repo).get(remote))


def addresses(repo: Repository) -> dict[str, RemoteAddresses]:
    """Return the addresses of every remote, by its name."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for key, value in git.configuration(repo.root):
        name, _, kind = key.removeprefix("remote.").rpartition(".")
        if not key.startswith("remote.") or kind not in {"url", "pushurl"}:
            continue
        kinds = found.setdefault(name, {"url": (), "pushurl": ()})
        kinds[kind] = (*kinds[kind], value)
    return {name: RemoteAddresses(kinds["url"], kinds["pushurl"]) for name, kinds in found.items()}


def fetch(repo: Repository, branch: str, *, remote: str = ORIGIN) -> Fetched | Rejected | NoRemote:
    """Fetch a branch from the remote, whatever became of it there; raises WorkspaceError for a bad name.

    What a remote no longer has stays as it was last fetched, so that the next call says again that it was deleted.
    """
    if not is_branch_name(branch):
        raise WorkspaceError(f"'{printable(branch)}' is not a valid name for a branch")
    if not has(repo, remote):
        return NoRemote()
    before = noted(repo, branch) or repository.remote_sha(repo, branch, remote)
    spec = f"+refs/heads/{branch}:refs/remotes/{remote}/{branch}"
    argv = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options", remote, spec]
    ended = _run(repo, argv)
    if isinstance(ended, GitResult) and ended.code and ref_names.remove_stale(repo.root, branch, remote, ended.err):
        ended = _run(repo, argv)
    if isinstance(ended, Rejected):
        return ended
    if ended.code == 0:
        return Fetched(repository.remote_sha(repo, branch, remote), before)
    if push_results.is_missing(ended.err):
        return Fetched(None, before)
    return Rejected(push_results.read("", ended.err))


def push(
    repo: Repository, branch: str, sha: str, expected: str | None, *, remote: str = ORIGIN
) -> Pushed | Rejected | NoRemote:
    """Push a commit to the remote's branch if that is at `expected` (None: if it does not exist).

    That it is there already is no failure, so a push whose outcome is unknown can be repeated. A commit that does not
    build on `expected` is pushed only where a requested rebase has rewritten that. Raises WorkspaceError.
    """
    if not is_branch_name(branch):
        raise WorkspaceError(f"'{printable(branch)}' is not a valid name for a branch")
    if not has(repo, remote):
        return NoRemote()
    if expected is not None and not may_replace(repo, branch, expected, sha):
        raise WorkspaceError(
            f"commit {sha[:10]} does not build on {expected[:10]}, where branch {printable(branch)} of {remote} is; "
            "it was not pushed, because that would remove commits"
        )
    lease = f"--force-with-lease=refs/heads/{branch}:{expected or ''}"
    options = ["--porcelain", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--no-mirror", lease]
    ended = _run(repo, ["push", *options, "--end-of-options", remote, f"{sha}:refs/heads/{branch}"])
    if isinstance(ended, Rejected):
        return ended
    if ended.code == 0:
        note(repo, branch, sha)
        rewritten.forget(repo, branch)
        return Pushed(sha)
    return Rejected(push_results.read(ended.out, ended.err))


def note(repo: Repository, branch: str, sha: str) -> None:
    """Note that the remote's branch was at a commit that the local branch has, or has given up.

    What was noted of a branch beside which git cannot have this one is out of date.
    """
    if noted(repo, branch) == sha:
        return
    argv = ["update-ref", f"{NOTED}{branch}", sha]
    try:
        git.run(argv, cwd=repo.root)
    except WorkspaceError as error:
        if push_results.name_conflict(str(error)) is None:
            raise
        ref_names.remove(repo.root, branch, NOTED)
        git.run(argv, cwd=repo.root)


def forget(repo: Repository, branch: str) -> None:
    """Forget what was noted of the remote's branch; nothing is no error."""
    git.run(["update-ref", "-d", f"{NOTED}{branch}"], cwd=repo.root)


def noted(repo: Repository, branch: str) -> str | None:
    """Return what was noted last; None if nothing was. By it, a commit that was removed is told from a new one."""
    return checkout.ref(repo.git_dir, f"{NOTED}{branch}")


def is_ancestor(repo: Repository, older: str, newer: str) -> bool:
    """Whether a commit builds on another, or is it; False too where the repository has not got the older one."""
    if older == newer:
        return True
    with suppress(_NoAncestorError):
        return _proven(repo, older, newer)
    return False


class _NoAncestorError(Exception):
    """A commit does not build on another, as far as the repository's objects say now."""


@lru_cache(maxsize=1_000)
def _proven(repo: Repository, older: str, newer: str) -> bool:
    """Return that a commit builds on another, which never changes; raise _NoAncestorError, which is not remembered."""
    argv = ["merge-base", "--is-ancestor", older, newer]
    if git.run(argv, cwd=repo.root, codes=(0, 1, 128)).code:
        raise _NoAncestorError
    return True


def may_replace(repo: Repository, branch: str, expected: str, sha: str) -> bool:
    """Whether nothing is lost where a commit takes the place of what the remote has.

    It builds on that; or a requested rebase has taken all of that, and the commit builds on what came of it.
    """
    if is_ancestor(repo, expected, sha):
        return True
    found = rewritten.read(repo, branch)
    return found is not None and is_ancestor(repo, expected, found.old) and is_ancestor(repo, found.new, sha)


def _run(repo: Repository, argv: list[str]) -> GitResult | Rejected:
    """Run a command that talks to the remote; one that takes too long is a failure like any other."""
    try:
        if argv[0] == "fetch":
            return fetching.run(argv, cwd=repo.root, git_dir=repo.git_dir, codes=_ANY_CODE, limit=FETCH_LIMIT)
        return git.run(argv, cwd=repo.root, codes=_ANY_CODE, limit=FETCH_LIMIT)
    except WorkspaceError as error:
        return Rejected(Failure("unreachable", str(error)))
