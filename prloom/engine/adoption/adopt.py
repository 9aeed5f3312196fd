"""Begin to look after a branch: a worktree of its own, a plan, and a place for feedback."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from prloom.config import peek
from prloom.config.models import Config
from prloom.core import naming, plan_file
from prloom.engine.bus import plans
from prloom.errors import PrloomError, StorageError, UnsafePathError
from prloom.model.plan import Plan
from prloom.model.record import iso
from prloom.storage import asides, paths
from prloom.storage.document import LABEL
from prloom.storage.folder import Folder
from prloom.storage.paths import RepositoryPaths
from prloom.workspace import repository, root, worktree
from prloom.workspace.repository import Repository

REVIEW = """# Feedback

Write one `- [ ] …` for each item, here or anywhere in this file; `file:` and `line:` may stand indented below.
prloom takes each item once and answers beneath it.

## ready

"""


def locate(root: Path, config: Config) -> RepositoryPaths:
    """Return where the files of the repository are that has its main checkout at root."""
    return RepositoryPaths(root, peek.under(root, config.worktrees_dir))


def prepare(repo: Repository) -> None:
    """Keep all that prloom writes out of git, for every worktree of the repository, and in this checkout."""
    root.claim(repository.main_checkout(repo))
    repository.exclude(repo, repo.root.joinpath(*paths.LOCAL))


def adopt_branch(
    repo: Repository, config: Config, branch: str, *, plan_id: str | None, preset: str | None, now: datetime
) -> Plan:
    """Look after a branch that has no forge, and return its plan; see `adopt`."""
    plan = Plan(id=plan_id or naming.plan_id(branch), branch=branch, title=branch, preset=preset, created_at=iso(now))
    return adopt(repo, config, plan, body="")


def adopt(repo: Repository, config: Config, plan: Plan, *, body: str) -> Plan:
    """Look after the plan's branch, which is here or was fetched, and return the plan.

    `state.json` is written last: a plan is adopted when it is there, and an adoption that was cut short is simply done
    again. Raises PrloomError where the branch is looked after already, or its worktree cannot be made.
    """
    config.for_preset(plan.preset)
    where = locate(repo.root, config)
    _refuse_twice(where, plan.branch, naming.check_plan_id(plan.id))
    prepare(repo)
    path = where.worktree(plan.id)
    worktree.create(repo, path, plan.branch)
    with Folder.make(path, *paths.LOCAL) as local:
        # A branch's own .gitignore may let this folder in again, and beats .git/info/exclude; nothing beats this one.
        _write(local, ".gitignore", "*\n")
        _write(local, paths.PLAN_TEXT, plan_file.new_plan(plan.title, body, plan.branch, plan.pr))
        _write(local, paths.REVIEW, REVIEW)
        local.make_sub(paths.BUS).close()
        plans.save(local, plan)
    return plan


def _write(local: Folder, name: str, text: str) -> None:
    """Write a file that is not there yet; what somebody wrote is left alone."""
    if not local.exists(name):
        local.replace(name, text.encode("utf-8", "replace"))


def _refuse_twice(where: RepositoryPaths, branch: str, chosen: str) -> None:
    for plan_id in plans.ids(where):
        plan = _present(where, plan_id) if plan_id == chosen else _other(where, plan_id)
        if plan is not None and plan.branch == branch:
            raise PrloomError(f"branch {naming.shown(branch)} is looked after already, as plan {plan.id}")
        if plan is not None and plan_id == chosen:
            raise PrloomError(
                f"plan {chosen} exists already, for branch {naming.shown(plan.branch)}; take another --plan"
            )


def _other(where: RepositoryPaths, plan_id: str) -> Plan | None:
    """Return another plan; one that cannot be read is no reason against this one."""
    try:
        local = Folder.open(where.worktree(plan_id), *paths.LOCAL)
        return None if local is None else plans.load(local)
    except StorageError:
        return None


def _present(where: RepositoryPaths, plan_id: str) -> Plan | None:
    """Return the plan of this id; a `state.json` that cannot be used is set aside, so that a new one can be written."""
    local = Folder.open(where.worktree(plan_id), *paths.LOCAL)
    if local is None:
        return None
    try:
        return plans.load(local)
    except UnsafePathError:
        raise
    except StorageError:
        asides.move(local, paths.PLAN_STATE, LABEL)
        return None
