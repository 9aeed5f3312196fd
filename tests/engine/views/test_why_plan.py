"""What holds a plan up, in one sentence, and what that sentence is made of."""

from __future__ import annotations

import pytest
from operator_scene import NOW, OperatorScene

from prloom.engine.views import why_plan
from prloom.model.state import DispatchState
from prloom.model.work import Block

DONE = "# Plan\n\n## TODO\n\n- [x] Do it <!-- prloom:todo t-1 -->\n"
OPEN = DONE.replace("[x]", "[ ]")


def reason(scene: OperatorScene, plan_id: str = "pr-7") -> str:
    found = why_plan.find(scene.where, plan_id, NOW)
    assert found is not None
    return found.reason


def test_a_block_holds_it_up_with_what_resolves_that(scene: OperatorScene):
    block = Block(reason="the worktree has changes", since=scene.ago(hours=1), way_on="prloom resume pr-7 --stash")
    scene.plan("pr-7", OPEN, DispatchState(block=block))

    assert reason(scene) == "it needs you: the worktree has changes; `prloom resume pr-7 --stash`"


@pytest.mark.parametrize(
    ("text", "fields", "said"),
    [
        (OPEN, {}, "it needs you: no dispatcher is running, and this waits for one: 1 TODO; `prloom start`"),
        (DONE, {}, "nothing: all its TODOs are done, and it waits for people to merge it"),
        (DONE, {"status": "merged"}, "nothing: it is merged"),
    ],
)
def test_without_a_block_its_state_says_what_it_waits_for(
    scene: OperatorScene, text: str, fields: dict[str, str], said: str
):
    scene.plan("pr-7", text, **fields)

    assert reason(scene) == said


def test_what_is_no_plan_has_no_answer(scene: OperatorScene):
    assert why_plan.find(scene.where, "nothing", NOW) is None
