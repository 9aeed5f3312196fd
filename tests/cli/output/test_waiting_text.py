"""How much waits in a repository and in its plans, as `prloom status` says it."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from operator_scene import NOW, OperatorScene

from prloom.cli.output import waiting_text
from prloom.engine.views import status
from prloom.model.state import DispatchState


@pytest.mark.parametrize(("count", "told"), [(1, "1 reply to send"), (2, "2 replies to send")])
def test_replies_that_wait_to_be_sent_are_counted_in_their_plan_and_in_the_summary(
    tmp_path: Path, count: int, told: str
) -> None:
    scene = OperatorScene(tmp_path)
    drafts = {f"a-{number}": scene.action(f"a-{number}", draft=True) for number in range(count)}
    scene.plan("pr-1", "", DispatchState(queue=drafts))

    found = status.read(scene.where, NOW)

    assert click.unstyle(waiting_text.totals(found)) == f"1 plan: {told}."
    assert click.unstyle(waiting_text.counts(found.plans[0])) == told
