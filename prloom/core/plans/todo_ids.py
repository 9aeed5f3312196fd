"""Make the ids of TODOs: of those that people write into a plan, and of those that prloom makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from hashlib import sha256

from prloom.core.delivery import outbox
from prloom.core.plans.plan_file import TodoItem

_DIGITS = 12


def of_cause(cause: str, owner: str, ordinal: int = 0) -> str:
    """Return the id of the ordinal-th TODO that an owner makes of a cause, such as an event; the same each time."""
    return "t-" + outbox.action_id(cause, owner, ordinal).removeprefix("a-")[:_DIGITS]


def by_title() -> Callable[[int, str], str]:
    """Return what gives each TODO of one plan an id, by its title and how many of that title there were before.

    A copy of the plan that an editor saves without the ids gets the same ones again.
    """
    counts: Counter[str] = Counter()

    def new_id(_number: int, title: str) -> str:
        counts[title] += 1
        digest = sha256(f"{counts[title]} {title}".encode("utf-8", "surrogatepass")).hexdigest()
        return f"t-{digest[:_DIGITS]}"

    return new_id


def not_meant(done: Collection[str], todos: Iterable[TodoItem], before: Collection[str] | None) -> frozenset[str]:
    """Return the ids of TODOs that are done and cannot be meant by those without an id.

    Where the plan was read `before`, a person took out what was not in it; where it was not, a plan in which some TODOs
    have an id is no copy that an editor saved without them.
    """
    present = {todo.id for todo in todos if todo.id}
    if before is not None:
        return frozenset(done) - frozenset(before)
    if present:
        return frozenset(done) - present
    return frozenset()
