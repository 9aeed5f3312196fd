"""Write the plan of an `upsert_plan` action as a draft, in place of the one that its source had before."""

from __future__ import annotations

from typing import get_args

from msgspec.structs import replace

from prloom.core.plans import front_matter, plan_file
from prloom.core.plans.front_matter import FrontMatter, PlanSource
from prloom.core.text import markdown, naming
from prloom.engine.bus import inbox, plans
from prloom.errors import PrloomError
from prloom.model.action import UpsertPlan
from prloom.model.kinds import PlanDraftStatus
from prloom.storage import locks, paths, repair
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

_KIND = "plan"
_REPLACED = "replaced"


def write(where: RepositoryPaths, payload: UpsertPlan) -> str:
    """Write the draft, and return its id; a draft that is to be `hidden` is neither shown nor made a plan.

    What `metadata` has as `id`, or else the title, tells the plans of one source apart. The text of an earlier draft
    is kept beside it. Raises PrloomError where the plan cannot be used, or is at work already.
    """
    front, source = _front(payload), _source(payload)
    text = front_matter.write(front, _titled(payload))
    _refuse_at_work(where, source)
    with SafeDir.make(where.root, *paths.LOCAL) as local, inbox.folder(local) as drafts, locks.locked(drafts):
        shown = {each: paths.draft(each) for each in inbox.ids(drafts)}
        hidden = {each: f".{paths.draft(each)}" for each in _hidden_ids(drafts)}
        known = [each for each in (*shown, *hidden) if _source_of(drafts, (shown | hidden)[each]) == source]
        taken = {*shown, *hidden, *plans.ids(where)}
        plan_id = known[0] if known else naming.plan_id_of_title(payload.title, taken)
        name = f".{paths.draft(plan_id)}" if payload.hidden else paths.draft(plan_id)
        content = inbox.content(drafts, name, text)
        for former in (paths.draft(plan_id), f".{paths.draft(plan_id)}"):
            _keep(drafts, former, content)
            if former != name:
                drafts.remove(former)
        drafts.replace(name, content)
    return plan_id


def _front(payload: UpsertPlan) -> FrontMatter:
    front = replace(front_matter.parse(payload.plan_markdown), source=_source(payload))
    status = payload.status
    if status is None:
        return front
    allowed: dict[str, PlanDraftStatus] = {each: each for each in get_args(PlanDraftStatus)}
    if status not in allowed:
        raise PrloomError(f"a plan cannot have the status {status!r}; its action has to say {' or '.join(allowed)}")
    return replace(front, status=allowed[status])


def _source(payload: UpsertPlan) -> PlanSource:
    own = payload.metadata.get("id")
    if not isinstance(own, str | int) or not str(own).strip():
        own = payload.title
    if not payload.source.strip() or not payload.title.strip():
        raise PrloomError("a plan needs a source and a title; its action has an empty one")
    system = naming.printable(markdown.one_line(payload.source))
    return PlanSource(system, _KIND, naming.printable(markdown.one_line(str(own))))


def _titled(payload: UpsertPlan) -> str:
    text = payload.plan_markdown.encode("utf-8", "replace").decode("utf-8")
    if plan_file.title(text).strip():
        return text
    block, rest = front_matter.split(text)
    if not block:
        rest = text
    return f"{block}# {markdown.heading_text(markdown.one_line(payload.title))}\n\n{rest.lstrip()}"


def _refuse_at_work(where: RepositoryPaths, source: PlanSource) -> None:
    """Raise PrloomError where a plan of this source has a branch already: people and agents work on its text."""
    for plan_id in plans.ids(where):
        local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
        if local is not None:
            with local:
                found = _source_of(local, paths.PLAN_TEXT)
            if found == source:
                raise PrloomError(
                    f"plan {plan_id} was made from {source.system} {source.id} and is at work; "
                    f"change it with `prloom edit {plan_id}`"
                )


def _source_of(folder: SafeDir, name: str) -> PlanSource | None:
    try:
        content = folder.read_bytes(name, limit=inbox.LONGEST) or b""
        return front_matter.parse(content.decode("utf-8", "replace")).source
    except PrloomError:
        return None


def _hidden_ids(drafts: SafeDir) -> list[str]:
    ending = paths.draft("")
    return [name[1:].removesuffix(ending) for name in drafts.names() if name[0] == "." and name.endswith(ending)]


def _keep(drafts: SafeDir, name: str, content: bytes) -> None:
    """Keep the text of an earlier draft that is about to be replaced: a person may have written in it."""
    before = drafts.read_bytes(name)
    if before is not None and before != content:
        repair.quarantine_copy(drafts, name, _REPLACED, [before])
