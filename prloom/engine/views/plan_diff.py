"""Show what was changed for a plan: its branch against the base, or what was done for one of its TODOs."""

from __future__ import annotations

from collections.abc import Iterator

from prloom.core.plans import plan_file
from prloom.core.text.naming import printable
from prloom.core.work import commit_message
from prloom.engine.bus import plans
from prloom.errors import PrloomError
from prloom.model.plan import Plan
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import backup_refs, commits, remote, repository, revisions, trees
from prloom.workspace.backup_refs import KeptTodo
from prloom.workspace.repository import Repository

LONGEST = 50_000_000
"""Bytes of a diff that are shown."""

_LISTED = 8


def of_plan(where: RepositoryPaths, plan_id: str, *, base_branch: str | None) -> str:
    """Return the difference between the plan's branch and the commit where it left its base; raises PrloomError.

    `base_branch` is that of the configuration; without one, the repository says what its base is.
    """
    repo = repository.find(where.root)
    plan = _plan(where, plan_id)
    tip = repository.branch_sha(repo, plan.branch)
    if tip is None:
        raise PrloomError(f"branch {printable(plan.branch)} of plan {plan_id} no longer exists")
    name = plan.merges_into or base_branch or repository.default_branch(repo)
    fork = _fork(repo, name, tip)
    if fork is None:
        advice = 'name it in prloom.toml: base_branch = "…"'
        if plan.merges_into is not None:
            advice = "fetch it: `git fetch origin`"
        raise PrloomError(f"the base {printable(name)} shares no commit with the branch, or is not here; {advice}")
    return trees.diff_text(repo, fork, tip, limit_bytes=LONGEST)


def of_todo(where: RepositoryPaths, plan_id: str, todo: str) -> str:
    """Return what the commits of a TODO change, the oldest first, or the change that was kept when it was parked.

    Raises PrloomError where there is no such TODO, or nothing was done for it yet.
    """
    repo = repository.find(where.root)
    plan = _plan(where, plan_id)
    found = [
        each for each in commits.walk(repo, plan.branch) if commit_message.is_of(each.message, plan=plan_id, todo=todo)
    ]
    if found:
        changes = [(each.parents[0], each.sha) for each in reversed(found) if each.parents]
        return "".join(trees.diff_text(repo, old, new, limit_bytes=LONGEST) for old, new in changes)
    saved = backup_refs.read(repo, KeptTodo(plan_id, todo))
    if saved is not None:
        return trees.diff_text(repo, saved.base, saved.tree, limit_bytes=LONGEST)
    raise PrloomError(_nothing(where, plan_id, todo))


def _plan(where: RepositoryPaths, plan_id: str) -> Plan:
    with _local(where, plan_id) as local:
        return plans.load(local)


def _local(where: RepositoryPaths, plan_id: str) -> SafeDir:
    local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
    if local is None:
        raise PrloomError(f"the files of plan {plan_id} are missing; see `prloom status`")
    return local


def _fork(repo: Repository, base: str, tip: str) -> str | None:
    """Return the latest commit that the branch shares with its base, here or as it was fetched from origin, if any."""
    ends = (repository.remote_sha(repo, base), repository.branch_sha(repo, base))
    best: str | None = None
    for end in filter(None, ends):
        shared = revisions.merge_base(repo.root, end, tip)
        if shared and (best is None or remote.is_ancestor(repo, best, shared)):
            best = shared
    return best


def _nothing(where: RepositoryPaths, plan_id: str, todo: str) -> str:
    ids = tuple(_todo_ids(where, plan_id))
    if todo in ids:
        return f"nothing was committed or kept for TODO {printable(todo)} of plan {plan_id} yet"
    known = ", ".join(printable(each) for each in ids[:_LISTED])
    hint = "it has none"
    if known:
        hint = f"it has {known}"
    if len(ids) > _LISTED:
        hint = f"{hint} and {len(ids) - _LISTED} more"
    return f"plan {plan_id} has no TODO {printable(todo)}; {hint}"


def _todo_ids(where: RepositoryPaths, plan_id: str) -> Iterator[str]:
    with _local(where, plan_id) as local:
        text = (local.read_bytes(paths.PLAN_TEXT) or b"").decode("utf-8", "replace")
    for item in plan_file.todos(text):
        if item.id is not None:
            yield item.id
