"""Find the plan that was named by its id, branch or pull request."""

from __future__ import annotations

from contextlib import suppress
from shlex import quote

from prloom.core.text.naming import printable
from prloom.engine.bus import adopted, inbox, plans
from prloom.engine.bus.inbox import PlanDraft
from prloom.engine.views import dashboard_words, lost_plans
from prloom.errors import PrloomError
from prloom.model.plan import Adopted, Plan
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

_LISTED = 8


def find(where: RepositoryPaths, named: str) -> str:
    """Return the id of the plan; an id comes before a number, and a number before a branch.

    Raises PrloomError where there is none, with the nearest name, how a lost plan is recovered or a draft is queued, or
    where there are several.
    """
    ids = plans.ids(where)
    if named in ids:
        return named
    known = tuple(found for plan_id in ids if (found := _load(where, plan_id)) is not None)
    matching = matches(named, known)
    if len(matching) == 1:
        return matching[0].id
    if matching:
        names = ", ".join(plan.id for plan in matching)
        raise PrloomError(f"{printable(named)} is the name of several plans; give the id of one: {names}")
    if f"pr-{named.removeprefix('#')}" in ids:
        return f"pr-{named.removeprefix('#')}"
    missing = find_lost(where, named)
    if missing is not None:
        again = lost_plans.recovery(missing)
        raise PrloomError(f"plan {missing.plan.id} is lost: see `prloom status`, or adopt it again with `{again}`")
    drafts = inbox.every(where)
    draft = next((each for each in drafts if each.id == named), None)
    if draft is not None:
        raise PrloomError(not_begun(draft))
    raise PrloomError(_miss(named, ids, known, tuple(each.id for each in drafts)))


def not_begun(draft: PlanDraft) -> str:
    """Return the error about a plan on which nothing was done yet, with the command that begins it."""
    name = printable(draft.id)
    if draft.queued:
        return f"{name} is queued, and nothing was done on it yet; `prloom start` runs the dispatcher"
    return f"{name} is a draft, and nothing was done on it yet; `prloom queue {quote(draft.id)}` starts the work"


def draft_ids(where: RepositoryPaths) -> tuple[str, ...]:
    """Return the ids of the drafts."""
    drafts = SafeDir.open(where.root, *paths.LOCAL, paths.INBOX)
    if drafts is None:
        return ()
    with drafts:
        return inbox.ids(drafts)


def find_lost(where: RepositoryPaths, named: str) -> Adopted | None:
    """Return the lost plan of that name; None if there is none, or several."""
    found = adopted.lost(where)
    chosen = matches(named, [each.plan for each in found])
    of_that_name = [each for each in found if each.plan.id == named] or [each for each in found if each.plan in chosen]
    if len(of_that_name) == 1:
        return of_that_name[0]
    return None


def matches(named: str, known: tuple[Plan, ...] | list[Plan]) -> list[Plan]:
    """Return the plans whose pull request has that number or URL, else those whose branch has that name."""
    if named.startswith(("https://", "http://")):
        return [plan for plan in known if plan.url is not None and _is_at(named, plan.url)]
    digits = named.removeprefix("#")
    number = None
    if digits.isascii() and digits.isdecimal():
        number = int(digits)
    by_number = [plan for plan in known if number is not None and plan.pr == number]
    return by_number or [plan for plan in known if plan.branch == named]


def _is_at(named: str, url: str) -> bool:
    """Whether an address is that of a pull request, or of something on its page."""
    return named == url or named.startswith((f"{url.rstrip('/')}/", f"{url}#", f"{url}?"))


def near(named: str, known: tuple[Plan, ...], ids: tuple[str, ...]) -> str | None:
    """Return the id that a mistyped or shortened name may have meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake costs it

    names = {**{plan.branch: plan.id for plan in known}, **{plan_id: plan_id for plan_id in ids}}
    wanted = named.lower()
    longer = sorted((name for name in names if wanted and wanted in name.lower()), key=len)
    close = longer or get_close_matches(wanted, names, n=1)
    if close:
        return names[close[0]]
    return None


def _miss(named: str, ids: tuple[str, ...], known: tuple[Plan, ...], drafts: tuple[str, ...]) -> str:
    missing = f"no plan {printable(named)}"
    meant = near(named, known, (*ids, *drafts))
    if meant is not None:
        return f"{missing}; did you mean {printable(meant)}?"
    there = []
    if ids:
        there.append(f"the plans are {_some(ids)}")
    if drafts:
        there.append(f"the drafts are {_some(drafts)}")
    if there:
        return f"{missing}; {', and '.join(there)}"
    return f"{missing}: there are {dashboard_words.NO_PLANS}"


def _some(ids: tuple[str, ...]) -> str:
    """Return a list of ids, of which the first few are named."""
    named = [printable(each) for each in ids[:_LISTED]]
    if len(ids) > _LISTED:
        named.append(f"{len(ids) - _LISTED} more")
    return ", ".join(named)


def _load(where: RepositoryPaths, plan_id: str) -> Plan | None:
    """Return a plan; one that cannot be read is known by its id only."""
    with suppress(PrloomError):
        local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
        if local is not None:
            with local:
                return plans.load(local)
    return None
