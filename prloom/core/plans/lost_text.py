"""Decide whether the text of a plan was lost: nothing is left of it, and the log knows TODOs that have not ended.

A text without TODOs says that a person took them out. A file that is missing or empty says nothing, so no TODO of it
has ended, and nothing is done for the plan until the text is back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `prloom status` derives the status of each plan
    from prloom.model.state import DispatchState


def awaited(state: DispatchState) -> frozenset[str]:
    """Return the TODOs that the log knows and that were neither done nor dropped, whatever the text lists."""
    return frozenset(state.todos.keys() - state.done_todos.keys())


def problem(plan_id: str, state: DispatchState) -> str:
    """Return what is wrong with a plan whose text was lost, and how it goes on."""
    from prloom.core.text.shown_text import to_run  # noqa: PLC0415 - hardly any plan has lost its text

    left = len(awaited(state))
    todos = "1 TODO of it has"
    if left != 1:
        todos = f"{left} TODOs of it have"
    return (
        f"plan.md is missing or empty, and {todos} not ended; restore the file, or write it anew with "
        f"{to_run('edit', plan_id)}; until then nothing is done for the plan"
    )
