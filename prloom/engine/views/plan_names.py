"""Find the plan that somebody named: by its id, its branch, or the number of its pull request."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches

from prloom.core.naming import shown
from prloom.engine.bus import adopted, plans
from prloom.engine.views import lost
from prloom.errors import PrloomError
from prloom.model.plan import Adopted, Plan
from prloom.storage import paths
from prloom.storage.paths import RepositoryPaths
from prloom.storage.safe_dir import SafeDir

NO_PLANS = "no plans yet; adopt one with `prloom adopt --branch BRANCH`"
_LISTED = 8


def find(where: RepositoryPaths, named: str) -> str:
    """Return the id of the plan; an id comes before a number, and a number before a branch.

    Raises PrloomError where there is none, with the nearest name or how a lost plan is recovered, or where there are
    several.
    """
    ids = plans.ids(where)
    if named in ids:
        return named
    known = tuple(found for plan_id in ids if (found := _read(where, plan_id)) is not None)
    matching = matches(named, known)
    if len(matching) == 1:
        return matching[0].id
    if matching:
        names = ", ".join(plan.id for plan in matching)
        raise PrloomError(f"{shown(named)} is the name of several plans; give the id of one: {names}")
    if f"pr-{named.removeprefix('#')}" in ids:
        return f"pr-{named.removeprefix('#')}"
    missing = find_lost(where, named)
    if missing is not None:
        raise PrloomError(
            f"plan {missing.plan.id} is lost: see `prloom status`, or adopt it again with `{lost.recovery(missing)}`"
        )
    raise PrloomError(_miss(named, ids, known))


def find_lost(where: RepositoryPaths, named: str) -> Adopted | None:
    """Return the lost plan of that name; None if there is none, or several."""
    found = adopted.lost(where)
    chosen = matches(named, [each.plan for each in found])
    of_that_name = [each for each in found if each.plan.id == named] or [each for each in found if each.plan in chosen]
    if len(of_that_name) == 1:
        return of_that_name[0]
    return None


def matches(named: str, known: tuple[Plan, ...] | list[Plan]) -> list[Plan]:
    """Return the plans whose pull request has that number, else those whose branch has that name."""
    digits = named.removeprefix("#")
    number = None
    if digits.isascii() and digits.isdecimal():
        number = int(digits)
    by_number = [plan for plan in known if number is not None and plan.pr == number]
    return by_number or [plan for plan in known if plan.branch == named]


def near(named: str, known: tuple[Plan, ...], ids: tuple[str, ...]) -> str | None:
    """Return the id that a mistyped or shortened name may have meant."""
    names = {**{plan.branch: plan.id for plan in known}, **{plan_id: plan_id for plan_id in ids}}
    wanted = named.lower()
    longer = sorted((name for name in names if wanted and wanted in name.lower()), key=len)
    close = longer or get_close_matches(wanted, names, n=1)
    if close:
        return names[close[0]]
    return None


def _miss(named: str, ids: tuple[str, ...], known: tuple[Plan, ...]) -> str:
    if not ids:
        return f"no plan {shown(named)}: there are {NO_PLANS}"
    meant = near(named, known, ids)
    if meant is not None:
        return f"no plan {shown(named)}; did you mean {meant}?"
    some = ", ".join(ids if len(ids) <= _LISTED else [*ids[:_LISTED], f"and {len(ids) - _LISTED} more"])
    return f"no plan {shown(named)}; the plans are {some}"


def _read(where: RepositoryPaths, plan_id: str) -> Plan | None:
    """Return a plan; one that cannot be read is known by its id only."""
    with suppress(PrloomError):
        local = SafeDir.open(where.worktree(plan_id), *paths.LOCAL)
        if local is not None:
            with local:
                return plans.load(local)
    return None
