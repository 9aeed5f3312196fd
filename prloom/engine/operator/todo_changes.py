"""Change a TODO of a plan or a draft: in its text, or by a request where the dispatcher has to decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prloom.core.commands.requests import RequestVerb
from prloom.core.plans import plan_file
from prloom.core.plans.plan_reader import TodoState
from prloom.core.text.shown_text import clean, to_run
from prloom.core.work import work_requests
from prloom.engine.operator import emit, plan_texts, submission
from prloom.engine.operator.plan_texts import ListedTodo, NamedPlan
from prloom.errors import PrloomError
from prloom.storage.paths import RepositoryPaths

_STATES: Mapping[str, TodoState] = {"done": "done", "block": "blocked", "open": "open", "drop": "dropped"}
_REQUESTS: Mapping[str, RequestVerb] = {"open": "todo_open", "go": "todo_go"}
"""What the dispatcher decides, for it knows which TODOs were done."""

DONE: Mapping[str, str] = {
    "done": "Done",
    "block": "Blocked",
    "open": "Opened",
    "drop": "Dropped",
    "go": "Allowed",
}
"""The changes there are, each in the past tense."""


def change(where: RepositoryPaths, plan: NamedPlan, action: str, todo: str | None, *, reason: str | None = None) -> str:
    """Change a TODO, given by its id or the beginning of it, and return what was done, as a sentence.

    `action` is a key of DONE. `go` without a TODO allows all that are open. Raises PrloomError.
    """
    items = plan_texts.listed(where, plan)
    if action == "go" and todo is None:
        chosen = [item.id for item in items if item.state == "open"]
    else:
        named = find(items, plan.id, todo or "")
        if action == "go" and named.state != "open":
            raise PrloomError(
                f"the TODO {named.id} of plan {plan.id} is {named.state}, so it does not wait to begin; "
                f"{to_run('todo', plan.id, 'open', named.id)} requests it again"
            )
        chosen = [named.id]
    if action == "go" and not plan.is_draft and not emit.plan(where, plan.id).work:
        text = (
            f"prloom may not commit to the branch of {plan.id}, so it lists TODOs only, and none of them waits to begin"
        )
        raise PrloomError(f"{text}; to have it work there, forget the plan and adopt it again with --work")
    request = _REQUESTS.get(action)
    if action == "open" and _is_open(where, plan, find(items, plan.id, todo or "")):
        return submission.Submission("todo_open", tuple(chosen), None, needless=True).message(DONE[action])
    if request is not None and not plan.is_draft:
        return submission.submit(where, request, chosen, plan=plan.id).message(DONE[action])
    if action == "go":
        raise PrloomError(f"{plan.id} is a draft, and nothing works on it; hand it over with `prloom queue {plan.id}`")
    item = find(items, plan.id, todo or "")

    def edit(text: str) -> str:
        text = plan_file.set_state(text, item.id, _STATES[action])
        if reason is not None:
            text = plan_file.set_reason(text, item.id, reason)
        return text

    plan_texts.change(where, plan, edit)
    return f"{DONE[action]}: {clean(item.title).removesuffix('.')}."


def _is_open(where: RepositoryPaths, plan: NamedPlan, item: ListedTodo) -> bool:
    """Whether a TODO is open as far as its box, its plan's log and the work on it tell."""
    if item.state != "open":
        return False
    return plan.is_draft or not work_requests.may_open(plan_texts.state(where, plan), item.id)


def find(items: Sequence[ListedTodo], plan_id: str, todo: str) -> ListedTodo:
    """Return the TODO with this id, or with the only one that begins so; raises PrloomError."""
    exact = [item for item in items if item.id == todo]
    found = exact or [item for item in items if item.id.startswith(todo)]
    if len(found) == 1:
        return found[0]
    shown = clean(todo)
    if found:
        names = ", ".join(item.id for item in found)
        raise PrloomError(f"several TODOs of plan {plan_id} begin with {shown}: {names}; write more of the id")
    raise PrloomError(f"plan {plan_id} has no TODO {shown}; `prloom todo {plan_id}` lists them")
