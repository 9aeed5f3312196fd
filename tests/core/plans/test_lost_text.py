from __future__ import annotations

import pytest

from prloom.core.plans import lost_text
from prloom.model.state import DispatchState
from prloom.model.work import DoneTodo


def state(*ids: str) -> DispatchState:
    return DispatchState(todos=dict.fromkeys((*ids, "t-done"), ()), done_todos={"t-done": DoneTodo()})


def test_a_text_is_awaited_for_the_todos_that_have_not_ended() -> None:
    assert lost_text.awaited(state("t-1", "t-2")) == {"t-1", "t-2"}
    assert lost_text.awaited(state()) == frozenset()


@pytest.mark.parametrize(
    ("ids", "said"), [(("t-1",), "1 TODO of it has not ended"), (("t-1", "t-2"), "2 TODOs of it have not ended")]
)
def test_a_lost_text_is_told_of_with_the_command_that_writes_it_anew(ids: tuple[str, ...], said: str) -> None:
    assert lost_text.problem("pr-7", state(*ids)) == (
        f"plan.md is missing or empty, and {said}; restore the file, or write it anew with `prloom edit pr-7`; until "
        "then nothing is done for the plan"
    )
