"""`prloom rebase`, and `/prloom rebase` in a comment."""

from __future__ import annotations

from command_line import Prloom, Refusal
from stage import Stage, said


def test_a_rebase_that_the_operator_does_not_want_is_refused(stage: Stage, refused: Refusal) -> None:
    stage.configure('[work]\nrebase = "never"\n')
    stage.adopt()

    assert 'plan pr-7 is not rebased: `[work] rebase` is "never" in prloom.toml' in refused("rebase", "pr-7")
    assert not (stage.root / "prloom/.local/control.jsonl").exists()


def test_a_preset_decides_for_its_plans(stage: Stage, prloom: Prloom) -> None:
    stage.configure('[work]\nrebase = "never"\n[presets.open.work]\nrebase = "on_request"\n')
    stage.adopt(preset="open")

    assert prloom("rebase", "pr-7").code == 0


async def test_a_comment_that_requests_one_is_told_so(stage: Stage) -> None:
    stage.configure('[work]\nrebase = "never"\n')
    stage.adopt()

    await stage.poll(said("a", "/prloom rebase"))

    assert stage.bridge.said == ['prloom does not rebase this branch: the operator has set `[work] rebase = "never"`.']
    assert "rebaseTodo" not in stage.state() or stage.state()["rebaseTodo"] is None
