"""A worktree that a person has opened is theirs."""

from __future__ import annotations

from stage import Stage, said

from prloom.storage import plan_session


async def test_an_agent_triages_nothing_in_a_worktree_that_a_person_has_opened(stage: Stage):
    stage.adopt()
    with plan_session.reserved(stage.root, "pr-7", "shell", stage.clock()):
        await stage.take_in(said("a"))
        meanwhile = stage.open()["a"]["state"]

    await stage.tick()

    assert meanwhile == "pending"
    assert stage.fate("a")[-1] == "triaged"
