"""Write, check and queue drafts."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from msgspec.structs import replace

from prloom.config.models import Config
from prloom.core.plans import front_matter, plan_file
from prloom.core.plans.front_matter import FrontMatter, PlanBranches, PlanSource
from prloom.core.text import markdown, naming
from prloom.engine.bus import adopted, inbox, plans
from prloom.engine.operator import plan_texts
from prloom.engine.views import plan_names
from prloom.errors import PrloomError
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir
from prloom.workspace import branches, repository

TEMPLATE = "# \n\n\n\n## TODO\n\n- [ ] \n"
"""What the editor shows for a new plan."""


class DraftOptions(NamedTuple):
    """What a command says of a new draft, beside its text; what is None is left to the text or to the default."""

    title: str | None = None
    plan_id: str | None = None
    branch: str | None = None
    base: str | None = None
    preset: str | None = None
    source: PlanSource | None = None
    queue: bool = False


class Created(NamedTuple):
    """A draft that was written: its id, whether the dispatcher may make it a plan, and whether it has a TODO."""

    id: str
    queued: bool
    has_work: bool


def create(where: RepositoryPaths, config: Config, text: str, options: DraftOptions) -> Created:
    """Write a new draft; raises PrloomError where it could not become a plan."""
    front = _front(text, options)
    title = options.title or plan_file.title(text)
    if not title.strip():
        raise PrloomError(inbox.NO_TITLE)
    if not plan_file.title(text).strip():
        bare = front_matter.split(text)[1] if front_matter.split(text)[0] else text
        text = f"# {markdown.heading_text(markdown.one_line(title))}\n\n{bare.lstrip()}"
    taken = {*plan_names.draft_ids(where), *plans.ids(where), *(each.plan.id for each in adopted.lost(where))}
    chosen = _id(options.plan_id, title, taken)
    wanted = _check(config, front, chosen)
    if front.status == "queued":
        branches.base_sha(repository.find(where.root), wanted.base)
    text = front_matter.write(front, text)
    with SafeDir.make(where.root, *paths.LOCAL) as local, inbox.folder(local) as drafts:
        inbox.add(drafts, chosen, text)
    return Created(chosen, queued=front.status == "queued", has_work=bool(plan_file.todos(text)))


def queue(where: RepositoryPaths, config: Config, plan_id: str) -> bool:
    """Hand a draft to the dispatcher, and return whether that is new; raises PrloomError where it can be no plan."""
    named = plan_texts.find(where, plan_id)
    if not named.is_draft:
        raise PrloomError(f"plan {named.id} is not a draft: it already has a branch; see `prloom status {named.id}`")
    problem = check(where, config, named.id)
    if problem is not None:
        raise PrloomError(problem)
    before = FrontMatter()

    def queued(text: str) -> str:
        nonlocal before
        before = front_matter.parse(text)
        return front_matter.with_status(text, "queued")

    with plan_texts.open_inbox(where) as drafts:
        if inbox.edit(drafts, named.id, queued) is None:
            raise PrloomError(f"there is no draft {naming.printable(named.id)} any more; see `prloom status`")
        inbox.unblock(drafts, named.id)
    return before.status != "queued"


def unqueue(where: RepositoryPaths, plan_id: str) -> None:
    """Take a queued plan back from the dispatcher; raises PrloomError where it is not queued, or no draft any more."""
    with plan_texts.open_inbox(where) as drafts, SafeDir.make(where.root, *paths.LOCAL) as local:

        def unqueued(text: str) -> str:
            if inbox.is_under_way(local, plan_id):
                raise PrloomError(
                    f"{naming.printable(plan_id)} is becoming a plan at this moment; pause it again when `prloom "
                    f"status` shows its worktree"
                )
            if front_matter.parse(text).status != "queued":
                raise PrloomError(f"{naming.printable(plan_id)} is a draft that is not queued; nothing works on it")
            return front_matter.with_status(text, "draft")

        if inbox.edit(drafts, plan_id, unqueued) is None:
            raise PrloomError(f"there is no draft {naming.printable(plan_id)} any more; see `prloom status`")


def block(where: RepositoryPaths, plan_id: str, reason: str) -> None:
    """Note why a draft is to be corrected before it is queued, for `prloom status`."""
    with plan_texts.open_inbox(where) as drafts:
        inbox.block(drafts, plan_id, reason)


def require_plan(config: Config, text: str, plan_id: str | None) -> None:
    """Raise PrloomError where a text could be no plan: without a title, too long, or with a wrong front matter."""
    front, title = front_matter.parse(text), plan_file.title(text)
    if not title.strip():
        raise PrloomError(inbox.NO_TITLE)
    if len(text.encode("utf-8", "surrogateescape")) > inbox.LONGEST:
        raise PrloomError(f"the plan has more than {inbox.LONGEST} bytes; shorten it")
    _check(config, front, plan_id or naming.plan_id_of_title(title, ()))


def check(where: RepositoryPaths, config: Config, plan_id: str) -> str | None:
    """Return why a draft could not become a plan, or None."""
    with SafeDir.make(where.root, *paths.LOCAL) as local, inbox.folder(local) as drafts:
        draft = inbox.read(drafts, plan_id)
        if draft is None:
            return f"there is no draft {naming.printable(plan_id)}; see `prloom status`"
        if draft.error is not None:
            return draft.error
        try:
            wanted = _check(config, draft.front, plan_id)
            branches.base_sha(repository.find(where.root), wanted.base)
        except PrloomError as error:
            return f"{drafts.where(paths.draft(plan_id))}: {error}"
    return None


def _front(text: str, options: DraftOptions) -> FrontMatter:
    """Return the front matter of a text, with what the command says in its place."""
    front = front_matter.parse(text)
    said = {key: value for key, value in options._asdict().items() if key in FrontMatter.__struct_fields__ and value}
    if options.queue:
        said["status"] = "queued"
    front = replace(front, **said)
    return front_matter.parse(front_matter.write(front, ""))  # checked as if a person had written it


def _id(wanted: str | None, title: str, taken: Collection[str]) -> str:
    if wanted is None:
        return naming.plan_id_of_title(title, taken)
    chosen = naming.check_plan_id(wanted)
    if chosen in taken:
        raise PrloomError(f"there is a plan {chosen} already; choose another --plan")
    return chosen


def _check(config: Config, front: FrontMatter, plan_id: str) -> PlanBranches:
    wanted = front_matter.plan_branches(front, plan_id, config.base_branch)
    config.for_preset(front.preset)
    return wanted
