"""Make a plan of a queued draft: a branch, a worktree, and its files; then the draft leaves the inbox."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from prloom.config.models import Config
from prloom.core.plans import front_matter, plan_file, todo_ids
from prloom.core.plans.front_matter import PlanBranches
from prloom.core.plans.plan_file import PlanTodo
from prloom.core.text import bounds, naming, text_merge
from prloom.engine.adoption import adopt
from prloom.engine.bus import inbox, plans
from prloom.engine.bus.inbox import PlanDraft
from prloom.engine.bus.plan_files import PlanFile
from prloom.errors import PrloomError
from prloom.model import record
from prloom.model.plan import Activation, Plan
from prloom.model.record import Timestamp
from prloom.storage import paths
from prloom.storage.document import Document
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import branches, repository
from prloom.workspace.repository import Repository

log = logging.getLogger(__name__)


def activate(repo: Repository, config: Config, draft: PlanDraft, now: datetime) -> Plan:
    """Make a plan of a draft and return it; done again after a crash at any point, it goes on where that was.

    What is to be made is noted first, then come the branch, the worktree with the plan's files, `state.json`, and last
    the draft leaves the inbox. The branch begins from the base as origin has it now. Raises OriginUnreadableError where
    that is not known, and PrloomError where the draft cannot be used, or something is in the way.
    """
    where = plans.locate(repo.root, config.worktrees_dir)
    with SafeDir.make(repo.root, *paths.LOCAL) as local, local.make_sub(paths.ACTIVATIONS) as notes:
        begun = _begun(notes, draft.id)
        plan = _present(where, draft.id)
        if plan is None:
            wanted = front_matter.plan_branches(draft.front, draft.id, config.base_branch)
            config.for_preset(draft.front.preset)
            begun = _begin(repo, draft, wanted, begun, now)
            with inbox.folder(local) as drafts:
                inbox.begin(
                    drafts, draft.id, lambda: Document(notes, paths.activation(draft.id)).save(record.to_wire(begun))
                )
            if repository.branch_sha(repo, begun.branch) is None:
                branches.create(repo, begun.branch, begun.sha)
            plan = _make(repo, config, draft, begun)
        elif begun is None or begun.branch != plan.branch:
            raise PrloomError(
                f"plan {draft.id} already exists, for branch {naming.printable(plan.branch)}; "
                f"give the draft another name, or remove it"
            )
        with inbox.folder(local) as drafts:
            inbox.move_out(drafts, draft.id, partial(_bring_over, where, begun, drafts))
        notes.remove(paths.activation(draft.id))
    return plan


def _bring_over(where: RepositoryPaths, begun: Activation, drafts: SafeDir, draft: PlanDraft) -> None:
    """Bring over to the plan what was changed in its draft since that was read.

    Where the plan was changed at the same lines, the new TODOs are, and the draft's text is kept beside the inbox's.
    """
    if begun.text is None or draft.text == begun.text:
        return
    before, now = _plan_text(begun.text), _plan_text(draft.text)

    def brought_over(text: str) -> str:
        merged = text_merge.merged(before, ours=now, theirs=text)
        if merged is not None:
            return merged
        kept = f"{draft.id}.edited"
        drafts.replace(kept, draft.text.encode("utf-8", "surrogateescape"))
        log.warning(
            "plan %s was changed at the same lines as its draft: the draft's TODOs are in the plan now, its text "
            "is in %s; bring over from there what you need",
            draft.id,
            drafts.where(kept),
        )
        found = (PlanTodo(todo.id or "", todo.title, todo.context) for todo in plan_file.todos(now))
        return plan_file.append_todos(text, found)

    with SafeDir.make(where.worktree(draft.id), *paths.LOCAL) as local:
        PlanFile(local).edit(brought_over)


def _plan_text(draft: str) -> str:
    """Return the text of a draft as that of its plan."""
    return plan_file.with_ids(front_matter.without_status(draft), todo_ids.by_title())


def forget_ended(local: SafeDir) -> None:
    """Take away the notes of drafts that have left the inbox, which a crash has left behind."""
    notes = local.sub(paths.ACTIVATIONS)
    if notes is None:
        return
    with notes, inbox.folder(local) as drafts:
        for name in notes.names():
            if not drafts.exists(paths.draft(name.removesuffix(paths.activation("")))):
                notes.remove(name)


def _begun(notes: SafeDir, plan_id: str) -> Activation | None:
    found = Document(notes, paths.activation(plan_id)).load().value
    if found is None:
        return None
    return record.from_wire(Activation, found)


def _present(where: RepositoryPaths, plan_id: str) -> Plan | None:
    """Return the plan of this id; one that cannot be read is an error."""
    local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
    if local is None:
        return None
    with local:
        if not local.exists(paths.PLAN_STATE):
            return None
        return plans.load(local)


def _begin(
    repo: Repository, draft: PlanDraft, wanted: PlanBranches, begun: Activation | None, now: datetime
) -> Activation:
    """Return what is to be made; a branch that was made for this draft before is its own, any other is in the way."""
    if begun is not None and begun.branch == wanted.branch:
        if repository.branch_sha(repo, wanted.branch) not in {None, begun.sha}:
            raise _taken(wanted.branch, "here")
        return replace(begun, base=wanted.base, text=draft.text)
    found = branches.obstacle(repo, wanted.branch)
    if found is not None and found.branch == wanted.branch:
        raise _taken(wanted.branch, found.where)
    if found is not None:
        raise PrloomError(
            f"git cannot have a branch {naming.printable(wanted.branch)} beside {naming.printable(found.branch)}, "
            f"which is {found.where}; give the draft another `branch:`"
        )
    sha = branches.fetch_base(repo, wanted.base)
    return Activation(branch=wanted.branch, base=wanted.base, sha=sha, text=draft.text, created_at=Timestamp.of(now))


def _taken(branch: str, where: str) -> PrloomError:
    shown = naming.printable(branch)
    return PrloomError(
        f"there is a branch {shown} {where} already; look after it with `prloom adopt --branch {shown}`, "
        f"or give the draft another `branch:`"
    )


def _make(repo: Repository, config: Config, draft: PlanDraft, begun: Activation) -> Plan:
    plan = Plan(
        id=draft.id,
        branch=begun.branch,
        base=begun.base,
        title=bounds.title(draft.title or draft.id),
        preset=draft.front.preset,
        created_at=begun.created_at,
    )
    return adopt.adopt(repo, config, plan, text=_plan_text(draft.text))
