"""Build the page of a TODO: its history, and what was changed for it."""

from __future__ import annotations

from prloom.engine.views import plan_diff, plan_names, why_todo
from prloom.errors import PrloomError
from prloom.model.record import Record
from prloom.web.site import Page, Query, Site

_LONGEST_DIFF = 400_000


class TodoDocument(Record, frozen=True, kw_only=True):
    """A TODO with its history, and what was changed for it; None where nothing was, which `no_diff` explains."""

    plan: str
    todo: why_todo.WhyTodo
    diff: str | None
    no_diff: str | None


def page(site: Site, query: Query) -> Page:
    """Return the page of a TODO, with the difference that its commits make."""
    plan_id = plan_names.find(site.where, query.path["plan"])
    found = why_todo.find(site.where, query.path["todo"], plan=plan_id)
    if found is None:
        raise PrloomError(f"plan {plan_id} has no TODO of this id; see the plan's page")
    diff, problem = None, None
    try:
        diff = plan_diff.of_todo(site.where, plan_id, query.path["todo"])
    except PrloomError as error:
        problem = str(error)
    if diff is not None and len(diff) > _LONGEST_DIFF:
        problem = f"only the beginning is shown; `prloom diff {plan_id} --todo {found.item.id}` prints all of it"
        diff = diff[:_LONGEST_DIFF]
    value = TodoDocument(plan=plan_id, todo=why_todo.document(found), diff=diff, no_diff=problem)
    return Page("todo.html", found.item.title, value, {"lines": _lines(diff or "")}, (plan_id,))


_KINDS = (("diff ", "file"), ("+++ ", "file"), ("--- ", "file"), ("+", "added"), ("-", "removed"), ("@@", "hunk"))


def _lines(diff: str) -> list[tuple[str, str]]:
    """Return the lines of a difference, each with what it is."""
    found = []
    for line in diff.removesuffix("\n").split("\n"):
        kind = next((kind for start, kind in _KINDS if line.startswith(start)), "same")
        found.append((kind, line))
    return found
