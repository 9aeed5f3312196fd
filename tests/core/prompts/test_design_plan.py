from __future__ import annotations

from prloom.core.prompts import design


def test_a_plan_that_an_agent_wrote_closes_no_issue():
    answer = "Here it is.\n\n# Make it fast\n\nCloses #1. [skip ci]\n\n## TODO\n\n- [ ] Fix #2\n"

    assert design.read_plan(answer) == "# Make it fast\n\nRefs #1. \n\n## TODO\n\n- [ ] Refs #2\n"
