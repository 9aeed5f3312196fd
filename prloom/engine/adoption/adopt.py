"""Begin to look after a branch or a pull request: a worktree of its own, a plan, and a file for feedback."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from prloom.config.models import Config
from prloom.core.events import issued
from prloom.core.plans import plan_file
from prloom.core.text import naming
from prloom.core.text.shown_text import to_run
from prloom.engine.bus import adopted, plans
from prloom.engine.bus.event_store import EventStore
from prloom.engine.bus.issued import IssuedPosts
from prloom.engine.bus.plan_files import PlanFile
from prloom.errors import PrloomError, StorageError, UnsafePathError
from prloom.model.plan import Adopted, Plan
from prloom.model.record import Timestamp
from prloom.storage import paths, repair
from prloom.storage.document import LABEL
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import made_branches, repository, root, worktree
from prloom.workspace.repository import Repository

REVIEW = """# Feedback

Write one `- [ ] …` for each item, under `## ready`. What is under other headings is yours.
You may add `file:` and `line:` below it, indented. prloom takes each item once and answers below it.

## ready

"""


def prepare(repo: Repository) -> None:
    """Keep all that prloom writes out of git, for every worktree of the repository, and in this checkout."""
    root.claim(repository.main_checkout(repo))
    repository.exclude(repo, repo.root.joinpath(*paths.LOCAL))
    with SafeDir.make(repo.root, *paths.LOCAL) as local:
        _keep_from_git_clean(repo, repo.root, local)


def adopt_branch(
    repo: Repository,
    config: Config,
    branch: str,
    *,
    plan_id: str | None,
    preset: str | None,
    work: bool = True,
    now: datetime,
) -> Plan:
    """Look after a branch that has no forge, and return its plan; see `adopt`."""
    chosen = plan_id or default_id(plans.locate(repo.root, config.worktrees_dir), branch, branch)
    created = Timestamp.of(now)
    plan = Plan(id=chosen, branch=branch, title=branch, preset=preset, work=work, created_at=created)
    return adopt(repo, config, plan)


def default_id(where: RepositoryPaths, of: str | int, branch: str) -> str:
    """Return the id of the plan for a branch or the number of a pull request: that of its lost plan, or a free one."""
    missing = adopted.lost(where)
    former = next((each.plan.id for each in missing if each.plan.branch == branch), None)
    if former is not None:
        return former
    present = {plan_id: plan.branch for plan_id in plans.ids(where) if (plan := _other(where, plan_id)) is not None}
    ids = {each.plan.id for each in missing} | {plan_id for plan_id, other in present.items() if other != branch}
    return naming.plan_id(of, ids)


def adopt(repo: Repository, config: Config, plan: Plan, *, body: str = "", text: str | None = None) -> Plan:
    """Look after the plan's branch, which is here or was fetched, and return the plan.

    `text` is that of `plan.md` where it was written before; else one is made, with `body` quoted in it.
    `state.json` is written last: a plan is adopted when it is there, and an adoption that was cut short is simply done
    again. Raises PrloomError where the branch is looked after already, or its worktree cannot be made.
    """
    config.for_preset(plan.preset)
    where = plans.locate(repo.root, config.worktrees_dir)
    _refuse_twice(where, plan.branch, naming.check_plan_id(plan.id))
    replaced = _lost(where, plan)
    prepare(repo)
    path = where.worktree(plan.id)
    plan = replace(plan, made_branch=plan.base is None and made_branches.is_to_be_made(repo, plan.branch))
    worktree.create(repo, path, plan.branch)
    with SafeDir.make(path, *paths.LOCAL) as local:
        # A branch's own .gitignore may let this folder in again, and beats .git/info/exclude; nothing beats this one.
        _write(local, ".gitignore", "*\n")
        if text is None:
            _write(local, paths.PLAN_TEXT, plan_file.new_plan(plan.title, body, plan.branch, plan.pr))
        else:
            local.replace(paths.PLAN_TEXT, text.encode("utf-8", "replace"))
        _write(local, paths.REVIEW, REVIEW)
        with local.make_sub(paths.BUS) as bus:
            plan = replace(plan, activates=not bus.exists(paths.DECISIONS))
        _keep_from_git_clean(repo, path, local)
        with SafeDir.make(repo.root, *paths.LOCAL) as top:
            _restore_todos(top, local, plan)
            adopted.remember(top, Adopted(plan=plan, worktree=str(path)))
            plans.save(local, plan)
            worktree.note_plan(repo, path, adopted.plan_note(plan))
            for former in replaced:
                adopted.forget(top, former)
    return plan


def _restore_todos(top: SafeDir, local: SafeDir, plan: Plan) -> None:
    """Write the TODOs that were open when the plan's files were lost: the comments that asked for them were answered.

    A plan that has a decision log still has what it had; it is left alone.
    """

    def clock() -> datetime:
        if plan.created_at is None:
            return datetime.now(UTC)
        return plan.created_at

    kept = IssuedPosts(top, plan, clock)
    found = kept.open_todos()
    with local.make_sub(paths.BUS) as bus:
        if not found or bus.exists(paths.DECISIONS):
            return
        event_store = EventStore.open(bus, clock, (PlanFile(local), kept))
        asked = issued.rebase_requested(None, (), found)
        event_store.commit("todo", "prloom", todos=found, rebase_requested=asked, note="they were open before")
        event_store.save()


def _keep_from_git_clean(repo: Repository, path: Path, local: SafeDir) -> None:
    """Keep `git clean -fdx` from removing prloom's folder below a checkout: git leaves alone what holds a repository.

    Where git does not ignore the folder, because the branch says so, `git add -A` would fail at that repository; it
    is taken back there.
    """
    with local.make_sub(paths.CLEAN_BARRIER) as inner:
        for name in ("objects", "refs"):
            inner.make_sub(name).close()
        repair.tidy(inner)
        _write(inner, "HEAD", "ref: refs/heads/nothing\n")
        if repository.is_visible(repo, path, paths.LOCAL):
            inner.remove("HEAD")


def _lost(where: RepositoryPaths, plan: Plan) -> tuple[str, ...]:
    """Return the ids under which the branch was looked after by plans that are lost; this adoption replaces them."""
    found = adopted.lost(where)
    for each in found:
        if each.plan.id == plan.id and each.plan.branch != plan.branch:
            raise PrloomError(
                f"plan {plan.id} is lost; its branch was {naming.printable(each.plan.branch)}; "
                f"give it up with `prloom forget {plan.id}`, or choose another --plan"
            )
    return tuple(each.plan.id for each in found if each.plan.branch == plan.branch and each.plan.id != plan.id)


def _write(local: SafeDir, name: str, text: str) -> None:
    """Write a file that is not there yet; what somebody wrote is left alone."""
    if not local.exists(name):
        local.replace(name, text.encode("utf-8", "replace"))


def _refuse_twice(where: RepositoryPaths, branch: str, chosen: str) -> None:
    for plan_id in plans.ids(where):
        if plan_id == chosen:
            plan = _present(where, plan_id)
        else:
            plan = _other(where, plan_id)
        if plan is not None and plan.branch == branch:
            shows = f"{to_run('status', plan.id)} shows it"
            raise PrloomError(f"branch {naming.printable(branch)} already belongs to plan {plan.id}; {shows}")
        if plan is not None and plan_id == chosen:
            raise PrloomError(
                f"plan {chosen} already exists, for branch {naming.printable(plan.branch)}; choose another --plan"
            )


def _other(where: RepositoryPaths, plan_id: str) -> Plan | None:
    """Return another plan; one that cannot be read is no reason against this one."""
    try:
        local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
        return None if local is None else plans.load(local)
    except StorageError:
        return None


def _present(where: RepositoryPaths, plan_id: str) -> Plan | None:
    """Return the plan of this id; a `state.json` that cannot be used is set aside, so that a new one can be written."""
    local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
    if local is None:
        return None
    try:
        return plans.load(local)
    except UnsafePathError:
        raise
    except StorageError:
        repair.quarantine(local, paths.PLAN_STATE, LABEL)
        return None
