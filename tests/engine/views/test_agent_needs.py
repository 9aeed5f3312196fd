"""An agent program that a person has to see to is listed once, for all plans that wait for it."""

from __future__ import annotations

from datetime import timedelta

from operator_scene import NOW, OperatorScene

from prloom.core.waits.agent_wait import AgentWait
from prloom.core.work import work_failures
from prloom.core.work.work_steps import WorkContext, WorkRules
from prloom.engine.views import dashboard
from prloom.model.run import UnusableAgent, UnusableCause
from prloom.model.state import DispatchState
from prloom.model.work import TodoWork


def waiting(cause: UnusableCause, plan_id: str) -> DispatchState:
    agent = UnusableAgent(agent="claude", cause=cause, remedy="run `claude auth login`")
    wait = AgentWait("claude is not signed in: 401", NOW + timedelta(minutes=1), known=False, unusable=agent)
    parts = work_failures.limited(WorkContext(plan_id, WorkRules(), NOW), TodoWork(id="t-1", title="Do it"), wait)
    assert parts["work"] is not None
    return DispatchState(work=parts["work"].work)


def test_a_program_that_is_not_signed_in_needs_a_person_once_for_all_plans(scene: OperatorScene):
    for plan_id in ("pr-7", "pr-8"):
        scene.plan(plan_id, "# Plan\n\n## TODO\n\n- [ ] Do it <!-- prloom:todo t-1 -->\n", waiting("sign_in", plan_id))

    shown = dashboard.read(scene.where, NOW)

    (need,) = [each for each in shown.needs if each.kind == "agent"]
    assert need.text == "claude is not signed in: 401; 2 plans wait for it"
    assert need.remedy == (
        "run `claude auth login`; prloom tries again by itself, or at once with `prloom retry --agent claude`"
    )
    assert shown.waiting == ()


def test_a_usage_limit_is_a_wait_that_ends_by_itself(scene: OperatorScene):
    scene.plan("pr-7", "# Plan\n\n## TODO\n\n- [ ] Do it <!-- prloom:todo t-1 -->\n", waiting("usage_limit", "pr-7"))

    shown = dashboard.read(scene.where, NOW)

    assert [each.kind for each in shown.waiting] == ["todo"]
    assert [each for each in shown.needs if each.kind == "agent"] == []
