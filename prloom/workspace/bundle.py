"""Carry one commit from another machine as a git bundle: make it there, and look at it here before any of it is used.

The form is described in gitformat-bundle(5). A bundle is external data: of what it may hold, only one commit on a named
parent is taken, and git checks each object as it does what is pushed to a server (`index-pack --strict`). Nothing is
read by its paths before it is known how much that is, since a few folders that name one another stand for any number.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from prloom.core.text.naming import commit_id, printable
from prloom.core.work import run_policy
from prloom.errors import WorkspaceError
from prloom.workspace import checkout, git, revisions, tree_size, trees
from prloom.workspace.git_errors import GitSystemError
from prloom.workspace.repository import Repository

REFS = "refs/prloom/runs"
"""Where a run's commit is kept: here once its bundle was taken, and at the remote for a run that needs it."""

MOST_BYTES = 32 << 20
"""The size of the largest bundle."""

MOST_CHANGED = 64 << 20
"""How many bytes the files that a bundle changes may have in all."""

MOST_PATHS = 1_000_000
"""How many files a bundle's commit may have."""

_LIMIT = timedelta(minutes=2)
_MEMORY = {"GIT_ALLOC_LIMIT": "512m"}  # a delta of a few bytes may say that it stands for many gigabytes
_STREAMED = (("core.bigFileThreshold", "8m"), ("pack.threads", "1"))  # what is larger is not held in memory
_SIGNATURES = {b"# v2 git bundle\n": frozenset({""}), b"# v3 git bundle\n": frozenset({"@object-format=sha256"})}
_LONGEST_HEADER = 4096


class BundleError(WorkspaceError):
    """A bundle that is not what was asked for, or is not safe to use; nothing of it is."""


@dataclass(frozen=True)
class Received:
    """The commit of a bundle, which is in the repository now, and its tree."""

    commit: str
    tree: str


def ref(run: str) -> str:
    """Return the ref under which a run's commit is kept; raises WorkspaceError for what is no id of a run."""
    if not run_policy.may_be_run_id(run):
        raise WorkspaceError(f"{printable(run)} is not the id of a run")
    return f"{REFS}/{run}"


def create(repo: Repository, *, run: str, parent: str, commit: str, most_bytes: int = MOST_BYTES) -> bytes:
    """Return a bundle that holds one commit, on a parent that the receiver has; raises BundleError if it is too big."""
    name = ref(run)
    git.run(["update-ref", name, commit], cwd=repo.root)
    try:
        asked = ["bundle", "create", "--quiet", "-", name, f"^{parent}"]
        content = git.run(asked, cwd=repo.root, limit=git.LONG_LIMIT).content
    finally:
        drop(repo, run)
    if len(content) > most_bytes:
        raise BundleError(f"the change is a bundle of {len(content)} bytes, over the limit of {most_bytes}")
    return content


def receive(
    repo: Repository,
    content: bytes,
    *,
    run: str,
    parent: str,
    most_bytes: int = MOST_BYTES,
    most_paths: int = MOST_PATHS,
) -> Received:
    """Take the one commit of a bundle into the repository, under `refs/prloom/runs/<run>`, and return it.

    Raises BundleError where it holds anything else than one commit on `parent`, where git finds an object that is
    broken or harmful, and where it is too big in any way; GitSystemError where the system keeps git from telling,
    so that nothing is known of it. No file is written but those of git's objects.
    """
    name = ref(run)
    if len(content) > most_bytes:
        raise BundleError(f"the bundle of run {run} has {len(content)} bytes, over the limit of {most_bytes}")
    commit, pack = _read(content, run=run, parent=parent)
    try:
        _verify(repo, content)
        _index(repo, pack, most_bytes)
        found = _commit(repo, commit, run=run, parent=parent)
        tree_size.require_at_most(repo, found.tree, most_paths)
        _require_readable(repo, parent, found.tree, run)
    except (BundleError, GitSystemError):
        raise
    except OSError as error:
        said = f"the bundle of run {run} cannot be looked at: {error.strerror} ({error.filename})"
        raise GitSystemError(said) from error
    except WorkspaceError as error:
        raise BundleError(f"the bundle of run {run} is refused: {error}") from error
    git.run(["update-ref", name, commit], cwd=repo.root)
    return found


def find(repo: Repository, run: str) -> Received | None:
    """Return the commit of a run whose bundle was taken before; None if there is none."""
    sha = checkout.ref(repo.git_dir, ref(run))
    if sha is None:
        return None
    return Received(sha, revisions.tree_of(repo.root, sha))


def drop(repo: Repository, run: str) -> None:
    """Forget the commit of a run; none is no error."""
    git.run(["update-ref", "-d", ref(run)], cwd=repo.root)


def _read(content: bytes, *, run: str, parent: str) -> tuple[str, bytes]:
    """Return the id of the one commit that a bundle names, and its pack; raises BundleError."""
    head, blank, _ = content[:_LONGEST_HEADER].partition(b"\n\n")
    signature, newline, rest = head.partition(b"\n")
    known = _SIGNATURES.get(signature + newline)
    if known is None or not blank:
        raise BundleError(f"the bundle of run {run} is not a git bundle with one commit")
    lines = rest.decode("utf-8", "replace").split("\n")
    capabilities = [line for line in lines if line.startswith("@")]
    needed = [line[1:].partition(" ")[0] for line in lines if line.startswith("-")]
    refs = [line for line in lines if not line.startswith(("@", "-"))]
    if not known.issuperset(capabilities or [""]):
        raise BundleError(f"the bundle of run {run} asks for {printable(capabilities[0])}, which is not allowed")
    if needed != [parent]:
        raise BundleError(f"the bundle of run {run} does not build on commit {parent[:12]} alone")
    if len(refs) != 1:
        raise BundleError(f"the bundle of run {run} holds {len(refs)} refs, and only {ref(run)} is allowed")
    commit, _, name = refs[0].partition(" ")
    if name != ref(run) or commit_id(commit) is None:
        raise BundleError(f"the bundle of run {run} holds {printable(name)}, and only {ref(run)} is allowed")
    return commit, content[len(head) + len(blank) :]


def _verify(repo: Repository, content: bytes) -> None:
    with TemporaryDirectory(prefix="prloom-bundle-") as folder:
        file = Path(folder) / "bundle"
        file.write_bytes(content)
        git.run(["bundle", "verify", "--quiet", str(file)], cwd=repo.root, limit=_LIMIT)


def _index(repo: Repository, pack: bytes, most_bytes: int) -> None:
    """Add the objects of a pack to the repository, if none of them is broken and none leads to what is not there."""
    git.run(
        ["index-pack", "--stdin", "--fix-thin", "--strict", f"--max-input-size={most_bytes}"],
        cwd=repo.root,
        stdin=pack,
        variables=_MEMORY,
        settings=_STREAMED,
        limit=_LIMIT,
    )


def _commit(repo: Repository, commit: str, *, run: str, parent: str) -> Received:
    kind = git.run(["cat-file", "-t", commit], cwd=repo.root).out.strip()
    if kind != "commit":
        raise BundleError(f"the bundle of run {run} leads to no commit")
    tree, *parents = git.run(["rev-parse", f"{commit}^{{tree}}", f"{commit}^@"], cwd=repo.root).out.split()
    if parents != [parent]:
        raise BundleError(f"the bundle of run {run} is not one commit on {parent[:12]}")
    return Received(commit, tree)


def _require_readable(repo: Repository, parent: str, tree: str, run: str) -> None:
    """Raise BundleError where the changed files are so large that they must not be looked into."""
    size = sum(each.size for each in trees.changed(repo, parent, tree))
    if size > MOST_CHANGED:
        raise BundleError(f"run {run} changes files of {size} bytes in all, over the limit of {MOST_CHANGED}")
